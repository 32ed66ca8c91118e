// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/interface.hpp"

#include <cstdint>

extern "C" {
#include <xen/grant_table.h>
}

// Pages that another domain may read or write, as long as this one lives.
namespace previrt::xen {

enum class Grant : std::uint8_t { to_read, to_write };

void start_grants(domid_t to);
// So many pages. The first's reference: the others follow it.
grant_ref_t grant_pages(const std::uint8_t* first, unsigned count, Grant grant);

} // namespace previrt::xen
