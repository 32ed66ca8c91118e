#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stands in for qemu-system-x86_64 on the PATH of hostile.sh: damages the package that `previrt run` has made, in a copy
under the descriptor's number, as `previrt pack` never would and $HOSTILE_MUTATION says; then starts the real QEMU."""
import os
import random
import struct
import sys

# inplace-vmm/package.hpp
VERSION, BYTES, MEMORY, KERNEL, INITRD, COMMAND_LINE = 8, 16, 24, 32, 64, 80
ALL_ONES = (1 << 64) - 1


class Package:
    def __init__(self, contents):
        self.contents = bytearray(contents)
        self.kernel = self.get("<Q", KERNEL)

    def get(self, form, offset):
        return struct.unpack_from(form, self.contents, offset)[0]

    def put(self, form, offset, value):
        struct.pack_into(form, self.contents, offset, value)

    def segment(self, number, field):
        """Of the program headers: 8 offset, 16 virtual, 24 physical address, 32 bytes, 40 bytes in memory."""
        return self.kernel + self.get("<Q", self.kernel + 32) + 56 * number + field

    def section(self, name, field):
        """Of the section headers: 16 address, 24 offset, 32 bytes."""
        table = self.kernel + self.get("<Q", self.kernel + 40)
        names = self.get("<Q", table + 64 * self.get("<H", self.kernel + 62) + 24)
        for number in range(self.get("<H", self.kernel + 60)):
            at = self.kernel + names + self.get("<I", table + 64 * number)
            if self.contents[at:self.contents.index(0, at)] == name:
                return table + 64 * number + field
        sys.exit(f"mutate_package: no section {name}")

    def record(self, number, field):
        """0 site, 4 kind, 5 form, 6 operand, 7 lengths."""
        return self.kernel + self.get("<Q", self.section(b"previrt_sites", 24)) + 8 * number + field

    def flip_at_random(self, seed):
        numbers = random.Random(seed)
        places = list(range(128)) + list(range(self.kernel, self.kernel + 64 + 56 * 4))
        places += range(self.record(0, 0), self.record(8, 0))
        for _ in range(6):
            self.contents[numbers.choice(places)] ^= 1 << numbers.randrange(8)


def swap_records(package):
    first, second = package.record(0, 0), package.record(1, 0)
    package.contents[first:first + 8], package.contents[second:second + 8] = (
        package.contents[second:second + 8], package.contents[first:first + 8])
    package.put("<i", first, package.get("<i", first) + 8)
    package.put("<i", second, package.get("<i", second) - 8)


MUTATIONS = {
    "magic": lambda p: p.put("<B", 0, 0),
    "version": lambda p: p.put("<I", VERSION, 99),
    "bytes": lambda p: p.put("<Q", BYTES, ALL_ONES),
    "truncated": lambda p: p.contents.__delitem__(slice(100, None)),
    "memory_none": lambda p: p.put("<Q", MEMORY, 0),
    "memory_huge": lambda p: p.put("<Q", MEMORY, ALL_ONES),
    "memory_more": lambda p: p.put("<Q", MEMORY, 1 << 30),
    "kernel_offset": lambda p: p.put("<Q", KERNEL, ALL_ONES - 4095),
    "kernel_bytes": lambda p: p.put("<Q", KERNEL + 8, ALL_ONES),
    "kernel_absent": lambda p: p.put("<Q", KERNEL + 8, 0),
    "initrd_bytes": lambda p: (p.put("<Q", INITRD, 4096), p.put("<Q", INITRD + 8, ALL_ONES - 100)),
    "command_line_offset": lambda p: p.put("<Q", COMMAND_LINE, 1 << 63),
    "elf_magic": lambda p: p.put("<B", p.kernel, 0),
    "elf_segments_at": lambda p: p.put("<Q", p.kernel + 32, ALL_ONES - 55),
    "elf_sections_at": lambda p: p.put("<Q", p.kernel + 40, ALL_ONES - 63),
    "elf_section_count": lambda p: p.put("<H", p.kernel + 60, 0xffff),
    "elf_section_names": lambda p: p.put("<H", p.kernel + 62, 0xffff),
    "elf_entry": lambda p: p.put("<Q", p.kernel + 24, 1 << 63),
    "segment_offset": lambda p: p.put("<Q", p.segment(0, 8), ALL_ONES),
    "segment_bytes": lambda p: p.put("<Q", p.segment(0, 32), ALL_ONES),
    "segment_outside_ram": lambda p: p.put("<Q", p.segment(0, 24), 1 << 40),
    "segment_wraps": lambda p: p.put("<Q", p.segment(0, 24), ALL_ONES - 4095),
    "segment_memory": lambda p: p.put("<Q", p.segment(2, 40), ALL_ONES - (1 << 24)),
    "records_bytes": lambda p: p.put("<Q", p.section(b"previrt_sites", 32), ALL_ONES - 7),
    "records_offset": lambda p: p.put("<Q", p.section(b"previrt_sites", 24), ALL_ONES - 7),
    "records_none": lambda p: p.put("<Q", p.section(b"previrt_sites", 32), 0),
    "record_kind": lambda p: p.put("<B", p.record(1, 4), 0xee),
    "record_another_kind": lambda p: p.put("<B", p.record(1, 4), p.get("<B", p.record(1, 4)) % 2 + 1),
    "record_form": lambda p: p.put("<B", p.record(1, 5), 0x87),
    "record_lengths": lambda p: p.put("<B", p.record(1, 7), 0),
    "record_outside": lambda p: p.put("<i", p.record(1, 0), -0x7fffffff),
    "records_swapped": swap_records,
    "record_twice": lambda p: (p.contents.__setitem__(slice(p.record(1, 0), p.record(2, 0)),
                                                      p.contents[p.record(0, 0):p.record(1, 0)]),
                               p.put("<i", p.record(1, 0), p.get("<i", p.record(1, 0)) - 8)),
}


def package_of(arguments):
    """The number of its descriptor; none where only the version is asked for."""
    if "-initrd" not in arguments:
        return None
    _, package = arguments[arguments.index("-initrd") + 1].split(",")
    return int(package.removeprefix("/proc/self/fd/"))


def main():
    own = os.path.dirname(os.path.abspath(sys.argv[0]))
    os.environ["PATH"] = os.pathsep.join(
        place for place in os.environ["PATH"].split(os.pathsep) if os.path.abspath(place) != own)
    descriptor = package_of(sys.argv)
    if descriptor is not None:
        with open(descriptor, "rb", closefd=False) as file:
            package = Package(file.read())
        mutation = os.environ["HOSTILE_MUTATION"]
        if mutation.startswith("flips_"):
            package.flip_at_random(int(mutation.removeprefix("flips_")))
        else:
            MUTATIONS[mutation](package)
        with open(os.memfd_create("damaged"), "wb") as file:
            file.write(package.contents)
            file.flush()
            os.dup2(file.fileno(), descriptor)
    os.execvp("qemu-system-x86_64", ["qemu-system-x86_64"] + sys.argv[1:])


main()
