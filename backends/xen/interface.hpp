// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Included before any of Xen's public headers: selects the version of their structures.
#define __XEN_INTERFACE_VERSION__ 0x00040e00

#include <cstddef>
#include <cstdint>

extern "C" {
#include <xen/xen.h>
}
