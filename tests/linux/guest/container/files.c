/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Files by handle, the events of files, and what is stored beside a file's content; on a tmpfs.
 */
#include "feature.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>

void file_handles(void)
{
	char path[] = "/tmp/handle-XXXXXX", content[8] = "";
	const int file = mkstemp(path), directory = open("/tmp", O_RDONLY | O_DIRECTORY);
	struct {
		struct file_handle head;
		unsigned char rest[MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount;

	require(file >= 0 && directory >= 0 && write(file, "content", 8) == 8);
	require(name_to_handle_at(AT_FDCWD, path, &handle.head, &mount, 0) == 0);
	const int again = open_by_handle_at(directory, &handle.head, O_RDONLY);
	require(again >= 0 && read(again, content, sizeof content) == 8 && strcmp(content, "content") == 0);
	require(unlink(path) == 0);
}

/* One process sees the other's open, and refuses the second. */
void file_events(void)
{
	char path[] = "/tmp/events-XXXXXX";
	const int file = mkstemp(path), events = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);

	require(file >= 0 && events >= 0);
	require(fanotify_mark(events, FAN_MARK_ADD, FAN_OPEN_PERM | FAN_CLOSE_NOWRITE, AT_FDCWD, path) == 0);
	const int child = fork();
	if (child == 0) {
		close(events);
		const int first = open(path, O_RDONLY);
		require(first >= 0 && close(first) == 0);
		require(open(path, O_RDONLY) == -1 && errno == EPERM);
		_exit(0);
	}
	unsigned opens = 0, closes = 0;
	while (opens < 2) {
		struct fanotify_event_metadata event[1];
		require(read(events, event, sizeof event) == sizeof event && event->pid == child);
		if (event->mask & FAN_OPEN_PERM) {
			const struct fanotify_response answer = { event->fd, opens++ == 0 ? FAN_ALLOW : FAN_DENY };
			require(write(events, &answer, sizeof answer) == sizeof answer);
		}
		closes += (event->mask & FAN_CLOSE_NOWRITE) != 0;
		require(close(event->fd) == 0);
	}
	require(closes == 1);
	require_child(child);
	require(unlink(path) == 0);
}

void extended_attributes(void)
{
	char path[] = "/tmp/attributes-XXXXXX", value[16] = "";
	const int file = mkstemp(path);

	require(file >= 0);
	require(fsetxattr(file, "trusted.overlay.opaque", "y", 1, XATTR_CREATE) == 0);
	require(fsetxattr(file, "security.capability.test", "four", 4, XATTR_CREATE) == 0);
	require(fsetxattr(file, "trusted.overlay.opaque", "y", 1, XATTR_CREATE) == -1 && errno == EEXIST);
	require(fgetxattr(file, "security.capability.test", value, sizeof value) == 4 && memcmp(value, "four", 4) == 0);
	require(fremovexattr(file, "trusted.overlay.opaque") == 0);
	require(fgetxattr(file, "trusted.overlay.opaque", value, sizeof value) == -1 && errno == ENODATA);
	require(unlink(path) == 0);
}
