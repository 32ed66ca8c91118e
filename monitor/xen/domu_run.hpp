// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/disk/choice.hpp"
#include "monitor/network/choice.hpp"
#include "monitor/qemu/machine.hpp"
#include "monitor/xen/console.hpp"
#include "monitor/xen/dom0.hpp"
#include "toolchain/pack/xen_domain.hpp"

#include <vector>

namespace previrt {

// A domain that Debian's dom0 starts, on a machine under Xen for it alone.
struct DomainBesideDom0 {
    XenDomain domain;              // its files are in dom0
    std::vector<Dom0File> files;   // in dom0's /guest
    NetworkChoice network;         // of the machine's own card
    std::vector<DiskChoice> disks; // the machine's, which dom0 hands on
};

// The domain's disks, for xl: dom0's, in the same order.
std::vector<std::string> xl_disks(const std::vector<DiskChoice>& disks);

// Runs until the domain has ended. Throws InputError. `console` is one with a dom0.
MachineEnd run_beside_dom0(const RunOptions& options, const DomainBesideDom0& beside, XenConsole& console);

// A domain that has shut down stays, so that dom0 can report the reason.
constexpr const char* kept_at_end = "preserve";

} // namespace previrt
