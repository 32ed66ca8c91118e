// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/linux_boot/kernel_elf.hpp"

namespace previrt {

// Lists the sites of a loaded kernel. Checks its records as a whole against its file; bad ones stop the
// guest.
void list_kernel_sites(const KernelElf& elf);

// Rewrites all listed sites in the kernel's memory.
void rewrite_kernel_sites(const KernelElf& elf);

} // namespace previrt
