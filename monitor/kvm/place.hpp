// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/place.hpp"

namespace previrt {

// The host's KVM, without QEMU. Throws InputError.
PreparedRun prepare_kvm(const RunOptions& options);

PlaceFinding probe_kvm();

} // namespace previrt
