#!/usr/bin/env python3
"""failing_file.py DIRECTORY BYTES BAD LENGTH: mounts a file system with one file, `file`, of that many bytes in memory. The bytes from
BAD on cannot be read or written: Input/output error. After a failed write, an fsync fails too. Says a line when it is there."""
import ctypes, errno, os, stat, struct, sys

directory, size, bad, length = sys.argv[1], *map(int, sys.argv[2:])
data = bytearray(size)
root, file = 1, 2
largest = 1 << 17
lookup, forget, getattr_, setattr_, open_, read, write, statfs, release, fsync, flush, init, opendir, readdir, releasedir, interrupt, \
    batch_forget = 1, 2, 3, 4, 14, 15, 16, 17, 18, 20, 25, 26, 27, 28, 29, 36, 42
is_broken = False


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == root else stat.S_IFREG | 0o600
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation, node, body):
    """The bytes of a reply, or an error number."""
    global is_broken
    if operation == init:
        return struct.pack("<IIIIHHIIHHI28x", 7, 26, largest, 0, 16, 12, largest, 1, largest // 4096, 0, 0)
    if operation == lookup:
        return struct.pack("<QQQQII", file, 0, 1000, 1000, 0, 0) + attributes(file) if body == b"file\0" else errno.ENOENT
    if operation in (getattr_, setattr_):
        return struct.pack("<QII", 1000, 0, 0) + attributes(node)
    if operation in (open_, opendir):
        direct = 1
        return struct.pack("<QII", 0, direct if node == file else 0, 0)
    if operation in (read, write):
        _, offset, count = struct.unpack_from("<QQI", body)
        if offset < bad + length and offset + count > bad:
            is_broken = is_broken or operation == write
            return errno.EIO
        if operation == read:
            return bytes(data[offset:offset + count])
        data[offset:offset + count] = body[40:40 + count]
        return struct.pack("<II", count, 0)
    if operation == fsync:
        return errno.EIO if is_broken else b""
    if operation == statfs:
        return struct.pack("<QQQQQIIII24x", size, 0, 0, 2, 0, 4096, 255, 4096, 0)
    if operation in (flush, release, releasedir, readdir):
        return b""
    return errno.ENOSYS


channel = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={channel},rootmode=40000,user_id=0,group_id=0,allow_other"
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"failing", directory.encode(), b"fuse", 0, options.encode()) != 0:
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
# The first request is answered before anyone asks for more.
print("mounted", flush=True)
while True:
    try:
        request = os.read(channel, largest + 4096)
    except OSError as error:
        if error.errno in (errno.EINTR, errno.ENOENT):
            continue
        sys.exit(error.errno != errno.ENODEV) # unmounted
    _, operation, unique, node = struct.unpack_from("<IIQQ", request)
    if operation in (forget, batch_forget, interrupt):
        continue
    reply = answer(operation, node, request[40:])
    error, reply = (-reply, b"") if isinstance(reply, int) else (0, reply)
    os.write(channel, struct.pack("<IiQ", 16 + len(reply), error, unique) + reply)
