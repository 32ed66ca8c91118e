// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/elf_image.hpp"

namespace previrt {

// Whether the image says by a note (XEN_ELFNOTE_PHYS32_ENTRY) how it is entered without a boot image around
// it: what QEMU's -kernel starts.
bool has_pvh_note(const ElfImage& image);

} // namespace previrt
