// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/place.hpp"

namespace previrt {

// KVM of a Linux on a PC under QEMU, which emulates a processor that virtualizes.
RunStatus run_nested_kvm(const RunOptions& options);
PlaceFinding probe_nested_kvm();

} // namespace previrt
