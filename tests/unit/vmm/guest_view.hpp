// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <span>
#include <string>

namespace previrt {

// What the guest's own tables say, by the manual, with CR0.WP and EFER.NXE of the Vcpu: the tests' oracle.
struct GuestView {
    bool allowed;
    std::uint32_t error_code;
    std::uint64_t physical;
    std::array<std::uint64_t, root_level> places;
    unsigned used_count;
    bool accessed; // all used entries have it
    bool dirty;    // the last has it

    // Guest-physical addresses of the entries on the way.
    [[nodiscard]] std::span<const std::uint64_t> used() const { return std::span(places).first(used_count); }
};
GuestView guest_view(std::uint64_t address, Access access);
GuestView guest_view_from(std::uint64_t root, std::uint64_t address, Access access);
// The guest gets a fault if its tables forbid the access, with the error code for it, and only then.
testing::AssertionResult agrees(const GuestView& view, const ShadowFault& fault);
std::string text_of(std::uint64_t address, Access access);

std::uint64_t& guest_entry(std::uint64_t physical);

// Of the Vcpu, with EFER.NXE.
void enter_long_mode(bool write_protect = true);

} // namespace previrt
