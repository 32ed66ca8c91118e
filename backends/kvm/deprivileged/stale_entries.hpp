// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The translations that a processor may have cached from entries that have changed since. It caches no
// entry whose accessed bit it has not set, so most of a kernel's invalidations need no work. Each processor
// has its own list.
namespace previrt::kvm {

constexpr backend::TableNumber no_table = ~backend::TableNumber{0};

// An entry has changed.
void note_change(backend::TableNumber table, unsigned index, std::uint64_t old);
// The present processor has forgotten all translations.
void forget_changes();
// Whether the processor may have cached an old translation of `address` by this root. The caller then
// invalidates it.
bool take_change(backend::TableNumber root, std::uint64_t address);
// Whether the processor may have cached only the present value of the entry.
bool is_unchanged(backend::TableNumber table, unsigned index);

} // namespace previrt::kvm
