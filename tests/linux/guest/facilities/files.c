/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Files and directories of a tmpfs: holes, truncation, links, names, appending by several processes.
 */
#include "facility.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

enum { tmpfs_magic = 0x01021994, page = 4096, far = 3 * 1024 * 1024 + 5, entries = 300, writers = 4, records = 200 };

static void holes(void)
{
	const int file = open("hole", O_CREAT | O_EXCL | O_RDWR, 0600);
	struct stat status;
	char bytes[8];

	require(file >= 0 && pwrite(file, "far away", 8, far) == 8);
	require(fstat(file, &status) == 0 && status.st_size == far + 8 && status.st_blocks * 512 <= 2 * page);
	require(pread(file, bytes, 8, far - 4) == 8 && memcmp(bytes, "\0\0\0\0far ", 8) == 0);
	require(lseek(file, 0, SEEK_DATA) == far / page * page);
	require(ftruncate(file, far + 3) == 0 && ftruncate(file, far + 8) == 0);
	require(pread(file, bytes, 8, far) == 8 && memcmp(bytes, "far\0\0\0\0\0", 8) == 0);
	require(pread(file, bytes, 8, far + 8) == 0);
	require(close(file) == 0 && unlink("hole") == 0);
}

static void names(void)
{
	struct stat status;
	char name[32];
	unsigned seen = 0;

	for (unsigned i = 0; i < entries; i++) {
		snprintf(name, sizeof name, "entry-%u", i);
		require(close(open(name, O_CREAT | O_EXCL | O_WRONLY, 0640)) == 0);
	}
	require(open("entry-7", O_CREAT | O_EXCL | O_WRONLY, 0640) == -1 && errno == EEXIST);
	require(link("entry-0", "second") == 0 && stat("second", &status) == 0 && status.st_nlink == 2);
	require(rename("entry-1", "second") == 0 && stat("entry-0", &status) == 0 && status.st_nlink == 1);
	require(symlink("entry-2", "symbolic") == 0 && stat("symbolic", &status) == 0 && (status.st_mode & 0777) == 0640);
	DIR *const directory = opendir(".");
	require(directory != NULL);
	for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
		seen += entry->d_name[0] != '.';
	require(closedir(directory) == 0 && seen == entries + 1);
	require(rmdir("../facility") == -1 && errno == ENOTEMPTY);
	for (unsigned i = 0; i < entries; i++) {
		snprintf(name, sizeof name, "entry-%u", i);
		require(i == 1 ? unlink(name) == -1 && errno == ENOENT : unlink(name) == 0);
	}
	require(unlink("second") == 0 && unlink("symbolic") == 0);
}

/* No record is torn or lost. */
static void appending(void)
{
	struct record {
		uint32_t writer, number, sum;
	} record;
	uint32_t next[writers] = { 0 };
	int children[writers];
	const int file = open("log", O_CREAT | O_EXCL | O_RDWR | O_APPEND, 0600);

	require(file >= 0);
	for (uint32_t writer = 0; writer < writers; writer++) {
		children[writer] = fork();
		if (children[writer] == 0) {
			for (uint32_t number = 0; number < records; number++) {
				record = (struct record){ writer, number, writer ^ number };
				require(write(file, &record, sizeof record) == sizeof record);
			}
			_exit(0);
		}
	}
	for (unsigned i = 0; i < writers; i++)
		require_child(children[i]);
	require(lseek(file, 0, SEEK_SET) == 0);
	for (unsigned i = 0; i < writers * records; i++) {
		require(read(file, &record, sizeof record) == sizeof record);
		require(record.writer < writers && record.number == next[record.writer]++ &&
			record.sum == (record.writer ^ record.number));
	}
	require(read(file, &record, sizeof record) == 0);
	require(close(file) == 0 && unlink("log") == 0);
}

void files(void)
{
	struct statfs filesystem;

	require(mkdir("/tmp/facility", 0700) == 0 && chdir("/tmp/facility") == 0);
	require(statfs(".", &filesystem) == 0 && filesystem.f_type == tmpfs_magic);
	holes();
	names();
	appending();
	require(chdir("/") == 0 && rmdir("/tmp/facility") == 0);
}
