// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/sites/module_sites.hpp"

#include <cstdint>

namespace previrt {

constexpr std::uint64_t most_copied_bytes = std::uint64_t{1} << 16U;

// Code that the guest's kernel has copied. Virtual addresses of the guest.
struct CodeCopy {
    std::uint64_t to;
    std::uint64_t from;
    std::uint64_t bytes;
};

// The copy may run: forgets what was known of its place, and rewrites its sites there. In a refused copy, no
// site is known, and some may be rewritten.
Refusal take_copied_sites(const CodeCopy& copy);
// The copy is to be read: puts the guest's own instructions into it.
void show_own_instructions(const CodeCopy& copy);

} // namespace previrt
