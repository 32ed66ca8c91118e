// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

namespace previrt {

// Sets the CPUID of a guest in privileged mode: KVM's features without those that this machine lacks.
void set_features(const Descriptor& kvm, const Descriptor& processor);
// The same for one of several processors, which have local APICs.
void set_features_of_several(const Descriptor& kvm, const Descriptor& processor, unsigned number);

// Of a processor.
void switch_local_apic_off(const Descriptor& processor);

} // namespace previrt
