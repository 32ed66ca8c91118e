// SPDX-License-Identifier: BSD-2-Clause
// disk check|read-only|full|shorter|acknowledge DEVICE
// check: writes and reads all of the disk in several ways, and leaves in each block of 4 KiB its number, in text.
// read-only: finds these blocks on a disk that takes no writes.
// full, shorter: the host has no space for all of the disk, or takes the end of the file away when this asks for it.
// acknowledge: writes block after block, and says of each when it is on stable storage, until it is killed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { block_bytes = 4096, most_bytes = 1 << 20 };

static uint64_t device_bytes;
static char *memory; // most_bytes, and as many again for what is expected
static char *expected;
static uint64_t state = 1;

static uint64_t random_number(void) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static bool say(const char *what, bool is_right) {
	printf("disk: %s: %s\n", what, is_right ? "right" : "WRONG");
	return is_right;
}

static void number_blocks(char *place, uint64_t offset, size_t bytes) {
	for (size_t done = 0; done < bytes; done += 16) {
		char text[24];
		snprintf(text, sizeof text, "block %09u\n", (unsigned)((offset + done) / block_bytes));
		memcpy(place + done, text, 16);
	}
}

// In pieces of random sizes, of whole blocks. `action` moves one of them.
static bool for_all(bool (*action)(int file, uint64_t offset, size_t bytes), int file) {
	for (uint64_t offset = 0; offset < device_bytes;) {
		uint64_t bytes = (1 + (random_number() % (most_bytes / block_bytes))) * block_bytes;
		bytes = bytes < device_bytes - offset ? bytes : device_bytes - offset;
		if (!action(file, offset, (size_t)bytes)) {
			return false;
		}
		offset += bytes;
	}
	return true;
}

static bool write_numbers(int file, uint64_t offset, size_t bytes) {
	number_blocks(memory, offset, bytes);
	return pwrite(file, memory, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool reads_numbers(int file, uint64_t offset, size_t bytes) {
	number_blocks(expected, offset, bytes);
	return pread(file, memory, bytes, (off_t)offset) == (ssize_t)bytes && memcmp(memory, expected, bytes) == 0;
}

static bool write_other(int file, uint64_t offset, size_t bytes) {
	memset(memory, (int)(offset / block_bytes), bytes);
	return pwrite(file, memory, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool reads_zeros(int file, uint64_t offset, size_t bytes) {
	memset(expected, 0, bytes);
	return pread(file, memory, bytes, (off_t)offset) == (ssize_t)bytes && memcmp(memory, expected, bytes) == 0;
}

// Whole blocks somewhere in the disk, with O_DIRECT: each reaches the disk as it is.
static bool direct_writes(int direct) {
	const uint64_t blocks = device_bytes / block_bytes;
	for (uint64_t i = 0; i < (blocks < 2000 ? blocks / 4 : 500); ++i) {
		const size_t bytes = (size_t)(1 + (random_number() % (most_bytes / block_bytes))) * block_bytes;
		const uint64_t offset = random_number() % ((device_bytes - bytes) / block_bytes) * block_bytes;
		number_blocks(memory, offset, bytes);
		if (pwrite(direct, memory, bytes, (off_t)offset) != (ssize_t)bytes || !reads_numbers(direct, offset, bytes)) {
			return false;
		}
	}
	return true;
}

static bool clears(int direct, unsigned long request) {
	const uint64_t range[2] = {most_bytes, most_bytes};
	return for_all(write_other, direct) && ioctl(direct, request, range) == 0 &&
		   reads_zeros(direct, range[0], (size_t)range[1]) && ioctl(direct, request, range) == 0;
}

static int check(int buffered, int direct) {
	bool right = say("the other bytes are written", for_all(write_other, direct));
	right = say("buffered writes", for_all(write_numbers, buffered) && fsync(buffered) == 0) && right;
	ioctl(buffered, BLKFLSBUF, 0);
	right = say("what was written is read", for_all(reads_numbers, direct)) && right;
	right = say("direct writes of all sizes", direct_writes(direct)) && right;
	right = say("zeros", clears(direct, BLKZEROOUT)) && right;
	right = say("discards", clears(direct, BLKDISCARD)) && right;
	right = say("the last writes", for_all(write_numbers, buffered) && fsync(buffered) == 0) && right;
	return right ? 0 : 1;
}

static int read_only(const char *path, int direct) {
	int is_read_only = 0;
	ioctl(direct, BLKROGET, &is_read_only);
	printf("disk: Linux %s that it is read-only\n", is_read_only == 1 ? "knows" : "does not know");
	const int writable = open(path, O_RDWR | O_CLOEXEC | O_DIRECT);
	bool right = say("it takes no writes", writable < 0 || pwrite(writable, memory, block_bytes, 0) < 0);
	right = say("all is there", for_all(reads_numbers, direct)) && right;
	return right ? 0 : 1;
}

static int full(int direct) {
	const bool is_written = for_all(write_numbers, direct);
	const int error = errno;
	printf("disk: %s\n", is_written ? "all was written" : strerror(error));
	bool right = say("the host's lack of space is an error", !is_written && (error == ENOSPC || error == EIO || error == ENODATA));
	right = say("what was written before is there", reads_numbers(direct, 0, block_bytes)) && right;
	return right ? 0 : 1;
}

static int shorter(int direct) {
	bool right = say("all is there", for_all(write_numbers, direct));
	puts("disk: take the end away");
	char line[16];
	right = fgets(line, sizeof line, stdin) != NULL && right;
	const uint64_t last = device_bytes - block_bytes;
	/* Linux's name for a medium that cannot be read. */
	const bool is_error = pread(direct, memory, block_bytes, (off_t)last) < 0 && errno == ENODATA;
	right = say("what the host has no more is an error", is_error) && right;
	right = say("the rest is there", reads_numbers(direct, 0, block_bytes)) && right;
	return right ? 0 : 1;
}

static int acknowledge(const char *path) {
	const int file = open(path, O_RDWR | O_CLOEXEC | O_DSYNC);
	for (uint64_t offset = 0; offset < device_bytes; offset += block_bytes) {
		number_blocks(memory, offset, block_bytes);
		const bool by_flush = offset / block_bytes % 2 != 0;
		if (pwrite(file, memory, block_bytes, (off_t)offset) != block_bytes || (by_flush && fsync(file) != 0)) {
			perror("disk: acknowledge");
			return 1;
		}
		printf("disk: acknowledged %u\n", (unsigned)(offset / block_bytes));
	}
	return 1; // the test wants to kill it before
}

int main(int count, char **arguments) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	const char *what = count == 3 ? arguments[1] : "";
	const char *path = count == 3 ? arguments[2] : "";
	const bool is_read = strcmp(what, "read-only") == 0;
	const int rights = is_read ? O_RDONLY : O_RDWR;
	const int buffered = open(path, rights | O_CLOEXEC);
	const int direct = open(path, rights | O_CLOEXEC | O_DIRECT);
	memory = aligned_alloc(block_bytes, most_bytes);
	expected = aligned_alloc(block_bytes, most_bytes);
	if (buffered < 0 || direct < 0 || ioctl(direct, BLKGETSIZE64, &device_bytes) != 0 || memory == NULL || expected == NULL) {
		perror("disk: the device");
		return 1;
	}
	printf("disk: %llu bytes\n", (unsigned long long)device_bytes);
	if (strcmp(what, "check") == 0) {
		return check(buffered, direct);
	}
	if (is_read) {
		return read_only(path, direct);
	}
	if (strcmp(what, "full") == 0) {
		return full(direct);
	}
	if (strcmp(what, "shorter") == 0) {
		return shorter(direct);
	}
	if (strcmp(what, "acknowledge") == 0) {
		return acknowledge(path);
	}
	fputs("usage: disk check|read-only|full|shorter|acknowledge DEVICE\n", stderr);
	return 2;
}
