# SPDX-License-Identifier: BSD-2-Clause
"""This machine's processes, for tests that watch those of a guest. Any of them may end meanwhile."""
import os


def text_of(path):
    """Nothing, if the process has ended."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def descendants_of(process):
    for child in text_of(f"/proc/{process}/task/{process}/children").split():
        yield child
        yield from descendants_of(child)


def processes_of(session):
    """Of each: its number, its name, and the fields of its `stat` behind the name, of which the first is the state."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        name, _, rest = text_of(f"/proc/{number}/stat").partition("(")[2].rpartition(")")
        fields = rest.split()
        if fields and int(fields[3]) == session:
            yield int(number), name, fields
