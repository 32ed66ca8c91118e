// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstdint>

namespace previrt {

// The way a host's KVM runs level 0 of a guest.
enum class KvmMode : std::uint8_t {
    interpreted, // instruction by instruction, in software; level 3 on the processor
    native,      // on the processor, which can virtualize
};

// Tries it: a virtual machine counts at level 0. Throws InputError.
KvmMode find_kvm_mode(const Descriptor& kvm);

} // namespace previrt
