/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Code that the kernel compiles for a program, and rules that it follows for one.
 */
#include "feature.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { runs = 1000, entries = 4, start = 7 };

static long bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

#define INSTRUCTION(operation, destination, source, offset, immediate) \
	{ .code = (operation), .dst_reg = (destination), .src_reg = (source), .off = (offset), .imm = (immediate) }

/* A program that counts its runs in a map, and gives the length of the packet. The compiler for BPF is on. */
void bpf_programs(void)
{
	union bpf_attr attributes = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = entries };
	uint32_t key = 2;
	uint64_t value = start;
	char packet[64] = { 0 }, log[4096] = "", enabled = 0;
	const int setting = open("/proc/sys/net/core/bpf_jit_enable", O_RDONLY);

	require(setting >= 0 && read(setting, &enabled, 1) == 1 && enabled == '1');
	const int map = (int)bpf(BPF_MAP_CREATE, &attributes);
	require(map >= 0);
	attributes = (union bpf_attr){ .map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)&value };
	require(bpf(BPF_MAP_UPDATE_ELEM, &attributes) == 0);

	const struct bpf_insn program[] = {
		INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0),
		INSTRUCTION(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, (int32_t)key),
		INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		INSTRUCTION(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSTRUCTION(0, 0, 0, 0, 0),
		INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSTRUCTION(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0),
		INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1),
		INSTRUCTION(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD),
		INSTRUCTION(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_6, offsetof(struct __sk_buff, len), 0),
		INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	attributes = (union bpf_attr){
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = sizeof program / sizeof *program,
		.insns = (uintptr_t)program,
		.license = (uintptr_t) "GPL",
		.log_level = 1,
		.log_size = sizeof log,
		.log_buf = (uintptr_t)log,
	};
	const int loaded = (int)bpf(BPF_PROG_LOAD, &attributes);
	if (loaded < 0)
		puts(log);
	require(loaded >= 0);

	attributes = (union bpf_attr){ 0 };
	attributes.test.prog_fd = (uint32_t)loaded;
	attributes.test.data_in = (uintptr_t)packet;
	attributes.test.data_size_in = sizeof packet;
	attributes.test.repeat = runs;
	/* The kernel takes the frame's header off before it runs a filter. */
	require(bpf(BPF_PROG_TEST_RUN, &attributes) == 0 && attributes.test.retval == sizeof packet - 14);

	attributes = (union bpf_attr){ .map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)&value };
	require(bpf(BPF_MAP_LOOKUP_ELEM, &attributes) == 0 && value == start + runs);

	/* And on real packets. */
	int pair[2];
	require(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	require(setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_BPF, &loaded, sizeof loaded) == 0);
	require(write(pair[0], packet, 5) == 5 && read(pair[1], packet, sizeof packet) == 5);
	require(bpf(BPF_MAP_LOOKUP_ELEM, &attributes) == 0 && value == start + runs + 1);
}

void system_call_filters(void)
{
	struct sock_filter refuse_getppid[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = 4, .filter = refuse_getppid };

	require(getppid() > 0);
	require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
	require(syscall(SYS_getppid) == -1 && errno == EXDEV);
	require(getpid() > 0);
	const int child = fork();
	if (child == 0)
		_exit(!(syscall(SYS_getppid) == -1 && errno == EXDEV));
	require_child(child);
}

void landlock_rules(void)
{
	const struct landlock_ruleset_attr handled = { .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE };
	const int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
	char path[] = "/tmp/landlock-XXXXXX";
	const int file = mkstemp(path);

	require(ruleset >= 0 && file >= 0);
	require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	require(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0);
	require(open(path, O_WRONLY) == -1 && errno == EACCES);
	require(open(path, O_RDONLY) >= 0 && write(file, "x", 1) == 1);
	require(unlink(path) == 0);
}
