/* SPDX-License-Identifier: BSD-2-Clause */
/* What executed_blocks.c uses of QEMU's interface for plugins (docs/devel/tcg-plugins), which Debian has no header for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;

enum { plugin_interface = 1 };
enum { plugin_add_64_bits = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t plugin,
                                           void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int operation, void* operand,
                                              uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb* block);
