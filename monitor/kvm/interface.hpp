// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// <linux/kvm.h>, for C++. In C++ an empty struct has a size, so that the arrays at the end of its structures
// would have other offsets than in C, and the requests, which contain the structures' sizes, would differ.
// Linux 6.5 mended this.
#include <linux/stddef.h>
#undef __DECLARE_FLEX_ARRAY
#define __DECLARE_FLEX_ARRAY(TYPE, NAME) TYPE NAME[0]
#include <linux/kvm.h>

static_assert(sizeof(kvm_msrs) == 8 && sizeof(kvm_cpuid2) == 8);
