// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/interface.hpp"

#include <cstdint>

extern "C" {
#include <xen/grant_table.h>
}

// Grants that let another domain read or write pages, as long as this domain lives.
namespace previrt::xen {

enum class Grant : std::uint8_t { to_read, to_write };

// Returns the first page's reference; those of the others follow it.
grant_ref_t grant_pages(domid_t to, const std::uint8_t* first, unsigned count, Grant grant);

} // namespace previrt::xen
