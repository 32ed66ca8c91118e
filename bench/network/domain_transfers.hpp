// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/network/transfers.hpp"
#include "monitor/xen/domu_run.hpp"

#include <vector>

namespace previrt {

// What dom0 needs for bench/guest/dom0-net.sh.
std::vector<Dom0File> dom0_network_files();
// net.sh's words for it.
constexpr const char* dom0_network_words = "net_meter=5202";

// One run of a domain that has bench/guest/net.sh, with so many transfers, which dom0 answers. Processors are
// used by both, `cpu`, and by the domain alone, `guest`. Throws InputError.
std::vector<NetworkTransfer> measure_domain(RunOptions options, const DomainBesideDom0& beside,
                                            std::size_t transfers);

} // namespace previrt
