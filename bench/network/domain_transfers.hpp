// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/network/transfers.hpp"
#include "monitor/xen/domu_run.hpp"

#include <vector>

namespace previrt {

// The files of dom0 for bench/guest/dom0-net.sh.
std::vector<Dom0File> dom0_network_files();
// Settings of net.sh for it.
constexpr const char* dom0_network_words = "net_meter=5202";

// One run of a domain with bench/guest/net.sh and this many transfers; dom0 is the peer. Processor time is
// that of both, `cpu`, and of the domain alone, `guest`. Throws InputError.
std::vector<NetworkTransfer> measure_domain(RunOptions options, const DomainBesideDom0& beside,
                                            std::size_t transfers);

} // namespace previrt
