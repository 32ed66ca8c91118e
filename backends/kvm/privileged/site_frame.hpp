// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/site_list.hpp"

#include <cstdint>

namespace previrt::kvm_privileged {

enum SiteForm : std::uint8_t { form_width = 3, form_out = 4, form_immediate = 8, form_register = 16 };

// As entry.S pushes it.
struct SiteFrame {
    std::uint64_t general[16]; // RSP is not restored
    std::uint64_t form;
    std::uint64_t rflags;
    std::uint64_t return_to;
    std::uint64_t site_end; // of the call in the site
};
static_assert(sizeof(SiteFrame) == 20 * sizeof(std::uint64_t));

// The site whose call ends there.
const KnownSite& site_called(std::uint64_t call_end, Shape shape);

// mmio_read, mmio_write: of a device register, or of RAM.
void access_register(SiteFrame& frame);

} // namespace previrt::kvm_privileged
