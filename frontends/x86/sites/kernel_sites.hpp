// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/linux_boot/kernel_elf.hpp"

namespace previrt {

// Makes the sites of a kernel known that was loaded. Its records are checked as a whole against its file; bad
// ones stop the guest.
void list_kernel_sites(const KernelElf& elf);

// Of those that are known, all in the kernel's memory as it is now.
void rewrite_kernel_sites(const KernelElf& elf);

} // namespace previrt
