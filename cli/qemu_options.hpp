// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

namespace previrt {

// A port of a virtio console, and the stream of this machine's behind it.
struct QemuPort {
    std::string name; // empty: it is the console
    std::string file; // that the guest's bytes are written to; empty: standard input and output
};

// A command line of QEMU, as the programs give it that test kernels: docs/qemu-options.md has its options.
struct QemuCommand {
    std::string answer;           // to be printed instead of a run: the version, or a list; empty: none
    std::vector<std::string> run; // the words behind `previrt`
    std::vector<QemuPort> ports;
    std::string console; // a file for the guest's console, which then has no input; empty: the
                         // console is standard input and output
};

// Throws InputError for an option, and for a value, whose effect previrt does not have.
QemuCommand translate_qemu_options(std::span<const std::string> words);

} // namespace previrt
