// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/front_ring.hpp"
#include "backends/xen/interface.hpp"
#include "backends/xen/layout.hpp"

extern "C" {
#include <xen/io/netif.h>
}

// The rings of a network device between domains (xen/io/netif.h).
namespace previrt::xen {

using TransmitPage = SharedRing<netif_tx_request, netif_tx_response>;
using ReceivePage = SharedRing<netif_rx_request, netif_rx_response>;

static_assert(sizeof(netif_tx_request) == 12 && sizeof(netif_tx_response) == 4);
static_assert(offsetof(netif_tx_request, offset) == 4 && offsetof(netif_tx_request, flags) == 6);
static_assert(offsetof(netif_tx_request, id) == 8 && offsetof(netif_tx_request, size) == 10);
static_assert(sizeof(netif_extra_info) == 8); // it fits a slot of either ring
static_assert(offsetof(netif_extra_info, flags) == 1 && offsetof(netif_extra_info, u.gso.size) == 2);
static_assert(offsetof(netif_extra_info, u.gso.type) == 4 && offsetof(netif_extra_info, u.gso.features) == 6);
static_assert(sizeof(netif_rx_request) == 8 && sizeof(netif_rx_response) == 8);
static_assert(offsetof(netif_rx_request, gref) == 4 && offsetof(netif_rx_response, status) == 6);
static_assert(TransmitPage::size == __CONST_RING_SIZE(netif_tx, page_size));
static_assert(ReceivePage::size == __CONST_RING_SIZE(netif_rx, page_size));
static_assert(offsetof(TransmitPage, req_event) == offsetof(netif_tx_sring, req_event));
static_assert(offsetof(TransmitPage, rsp_prod) == offsetof(netif_tx_sring, rsp_prod));
static_assert(offsetof(TransmitPage, rsp_event) == offsetof(netif_tx_sring, rsp_event));
static_assert(offsetof(TransmitPage, slots) == offsetof(netif_tx_sring, ring));
static_assert(offsetof(ReceivePage, slots) == offsetof(netif_rx_sring, ring));
static_assert(sizeof(TransmitPage) <= page_size && sizeof(ReceivePage) <= page_size);

} // namespace previrt::xen
