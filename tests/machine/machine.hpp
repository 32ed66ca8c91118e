// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

// The only grounds to skip a test: what this machine has, found before the test runs and without any code of
// previrt's. A fault of previrt's must not look like a machine that lacks something.
namespace previrt::machine {

// Empty where the machine meets a need, else the reason why it does not. A need is one of
// - process, bare, kvm, kvm-nested, xen, xen-domu: a place of `previrt run --on`, also with -isolate behind
// - kvm-interpreted: a KVM that interprets level 0
// - kernel:DIRECTORY: there is a kernel that build-linux left there
// - kernels:GROUP: ./check --kernels asks for the kernels of this group, default or all
// - perf-events: Linux counts the processor time of our programs
// - ptrace: Linux lets us trace a child and stop it by a debug register
// - root, program:NAME, processors:NUMBER
// - pypi:PACKAGE==VERSION: Python's package index gives the package, or has given it before: it is installed
//   into the directory `pypi/PACKAGE==VERSION` of the cache
// - can:COMMAND: the shell runs this command with success
std::string what_lacks(const std::string& need);

enum class KvmKind : std::uint8_t { interpreted, hardware };
// Whether the host's KVM has a processor that virtualizes, or interprets level 0.
KvmKind kind_of_kvm();

} // namespace previrt::machine
