// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// <linux/kvm.h>, for C++. An empty struct has a size there, so that the arrays at the end of its structures
// would lie elsewhere than in C, and the requests that have the structures' sizes in them be others:
// Linux 6.5 mended it.
#include <linux/stddef.h>
#undef __DECLARE_FLEX_ARRAY
#define __DECLARE_FLEX_ARRAY(TYPE, NAME) TYPE NAME[0]
#include <linux/kvm.h>

static_assert(sizeof(kvm_msrs) == 8 && sizeof(kvm_cpuid2) == 8);
