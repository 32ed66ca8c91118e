// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Before any of Xen's public headers: which of their forms they take.
#define __XEN_INTERFACE_VERSION__ 0x00040e00

#include <cstddef>
#include <cstdint>

extern "C" {
#include <xen/xen.h>
}
