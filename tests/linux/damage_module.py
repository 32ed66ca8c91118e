#!/usr/bin/env python3
"""Change a module: what its records say, or the version of its note.

usage: damage_module.py MODULE OUTPUT records|version
"""

import pathlib
import struct
import sys

RECORD_BYTES = 8
VERSION_AT = 20  # in the note
SECTION = struct.Struct("<IIQQQQIIQQ")


def sections(module):
    """(name, offset, size) of every section."""
    (offset,) = struct.unpack_from("<Q", module, 0x28)
    count, names = struct.unpack_from("<HH", module, 0x3C)
    headers = [SECTION.unpack_from(module, offset + SECTION.size * i) for i in range(count)]
    strings = headers[names][4]
    for name, _, _, _, start, size, *_ in headers:
        begin = strings + name
        yield module[begin : module.index(0, begin)].decode(), start, size


def main():
    source, output, what = sys.argv[1:]
    module = bytearray(pathlib.Path(source).read_bytes())
    places = {name: (start, size) for name, start, size in sections(module)}
    if what == "version":
        module[places[".note.previrt"][0] + VERSION_AT] += 1
    else:
        start, size = places["previrt_sites"]
        last = start + size - RECORD_BYTES
        module[last + 4] ^= 0xFF  # the kind
    pathlib.Path(output).write_bytes(module)


main()
