// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

namespace previrt {

// Sets the CPUID of a guest in privileged mode: KVM's features without those that this machine lacks.
void set_features(const Descriptor& kvm, const Descriptor& processor);

} // namespace previrt
