// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

namespace previrt {

// What CPUID tells a guest in privileged mode: what KVM can do, but for what this machine does not have.
void set_features(const Descriptor& kvm, const Descriptor& processor);

} // namespace previrt
