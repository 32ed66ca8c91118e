// SPDX-License-Identifier: BSD-2-Clause
// A plugin of QEMU's: counts the instructions executed at each address. It counts in out=FILE itself, so that
// nothing is lost however QEMU ends. The file has pairs of 64-bit numbers: first the number of further pairs
// and 0, then the address and the instructions of each translated block. A block that an exception leaves
// counts as a whole.
#include "qemu_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((visibility("default"))) int qemu_plugin_version = plugin_interface;

struct pair {
    uint64_t first;
    uint64_t second;
};

enum { most_pairs = 1 << 28 }; // of a sparse file

static struct pair* pairs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void block_translated(qemu_plugin_id_t plugin, struct qemu_plugin_tb* translation) {
    (void)plugin;
    pthread_mutex_lock(&lock);
    if (pairs[0].first + 1 == most_pairs) {
        fputs("executed_blocks: too many translations\n", stderr);
        exit(1);
    }
    struct pair* const block = &pairs[++pairs[0].first];
    pthread_mutex_unlock(&lock);
    block->first = qemu_plugin_tb_vaddr(translation);
    qemu_plugin_register_vcpu_tb_exec_inline(translation, plugin_add_64_bits, &block->second,
                                             qemu_plugin_tb_n_insns(translation));
}

static struct pair* map_file(const char* name) {
    const size_t bytes = sizeof(struct pair) * most_pairs;
    const int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) {
        return NULL;
    }
    void* const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t plugin, const struct qemu_info* info,
                                                               int count, char** arguments) {
    (void)info;
    static const char out[] = "out=";
    if (count != 1 || strncmp(arguments[0], out, strlen(out)) != 0) {
        fputs("executed_blocks: wants out=FILE\n", stderr);
        return 1;
    }
    const char* const name = arguments[0] + strlen(out);
    pairs = map_file(name);
    if (pairs == NULL) {
        fprintf(stderr, "executed_blocks: %s: %s\n", name, strerror(errno));
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, block_translated);
    return 0;
}
