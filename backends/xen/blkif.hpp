// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/front_ring.hpp"
#include "backends/xen/interface.hpp"
#include "backends/xen/layout.hpp"

extern "C" {
#include <xen/io/blkif.h>
#include <xen/io/protocols.h>
}

// The ring of a block device between domains (xen/io/blkif.h).
namespace previrt::xen {

using BlockPage = SharedRing<blkif_request, blkif_response, 32>;

// Of all numbers in requests, and of the size in xenstore. Linux's back-end counts in these whatever
// `sector-size` says, and so does the interface since Xen 4.20.
constexpr std::uint32_t sector_bytes = 512;

static_assert(sizeof(blkif_request) == 112 && sizeof(blkif_response) == 16);
static_assert(offsetof(blkif_request, id) == 8 && offsetof(blkif_request, sector_number) == 16);
static_assert(offsetof(blkif_request, seg) == 24 && sizeof(blkif_request_segment) == 8);
static_assert(sizeof(blkif_request_discard) <= sizeof(blkif_request));
static_assert(offsetof(blkif_request_discard, id) == 8 && offsetof(blkif_request_discard, nr_sectors) == 24);
static_assert(offsetof(blkif_response, status) == 10);
static_assert(BlockPage::size == __CONST_RING_SIZE(blkif, page_size));
static_assert(offsetof(BlockPage, req_event) == offsetof(blkif_sring, req_event));
static_assert(offsetof(BlockPage, rsp_prod) == offsetof(blkif_sring, rsp_prod));
static_assert(offsetof(BlockPage, rsp_event) == offsetof(blkif_sring, rsp_event));
static_assert(offsetof(BlockPage, slots) == offsetof(blkif_sring, ring));
static_assert(sizeof(BlockPage) <= page_size);

} // namespace previrt::xen
