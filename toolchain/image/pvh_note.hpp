// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/elf_image.hpp"

namespace previrt {

// Whether a note of the image (XEN_ELFNOTE_PHYS32_ENTRY) gives an entry that needs no boot image: QEMU's
// -kernel starts such a file.
bool has_pvh_note(const ElfImage& image);

} // namespace previrt
