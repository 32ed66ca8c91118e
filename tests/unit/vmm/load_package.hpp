// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/linux_boot/guest_start.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// As a back-end's main does, `now` after its clock began. Why the VMM stopped, or nothing.
inline std::optional<std::string> load_package(std::span<const std::uint8_t> package, std::uint64_t now = 0) {
    static std::vector<std::uint8_t> code(16 * trampoline_bytes);
    static std::vector<std::uint64_t> trampoline_sites(16);
    fake::start(std::uint64_t{2} << 20U, 80);
    fake::host.now = now;
    for (Treatment& treatment : fake::treatments) {
        treatment = {.way = Way::call, .target = fake::general_entry};
    }
    fake::treatments[static_cast<std::uint8_t>(SiteKind::cli)].way = Way::in_line;
    fake::treatments[static_cast<std::uint8_t>(SiteKind::iret)].way = Way::jump;
    start_trampolines({.code = code.data(),
                       .address = 0xffffffffffe10000,
                       .count = trampoline_sites.size(),
                       .sites = trampoline_sites.data()});
    try {
        load_guest(package);
    } catch (const fake::Stop& stop) {
        return stop.what();
    }
    return {};
}

} // namespace previrt
