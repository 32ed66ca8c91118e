// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/layout.hpp"
#include "monitor/kvm/mode.hpp"
#include "monitor/kvm/processor.hpp"
#include "monitor/kvm/stats.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace previrt {

// The output of --verbose about a virtual machine.

std::string describe(KvmMode mode);

void describe_layout(std::ostream& output, const KvmLayout& layout, UserMode user_mode);

// The reasons and number of the processor's exits, and KVM's own counts.
void describe_exits(std::ostream& output, const KvmExits& exits, const std::vector<KvmStat>& stats);

} // namespace previrt
