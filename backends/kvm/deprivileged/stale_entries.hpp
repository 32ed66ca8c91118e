// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// What the processor may remember of entries as they were before they changed. It remembers none whose
// accessed bit it has not set, so that most of what a kernel invalidates needs nothing.
namespace previrt::kvm {

// An entry is about to change.
void note_change(backend::TableNumber table, unsigned index, std::uint64_t old);
// Everything is forgotten, but what changes from now on.
void forget_changes();
// Whether what is remembered of `address`, by this root, may be old. It is said to be forgotten from now on.
bool take_change(backend::TableNumber root, std::uint64_t address);

} // namespace previrt::kvm
