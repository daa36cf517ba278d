"""The memory of a process, as /proc shows it. Used by the tests, and inside of cells by what they start there: it needs
nothing else."""

import contextlib
import os
import re

PAGE = os.sysconf("SC_PAGESIZE")
STEP = 1 << 16 # pages looked at together
HUGE = 1 << 40 # a range like this is a sanitizer's own map of memory


def pages(pid):
    """Pieces of everything that it can read and has touched, in order."""
    with open(f"/proc/{pid}/smaps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory, \
         open(f"/proc/{pid}/pagemap", "rb", 0) as table:
        for line in maps:
            if head := re.match(r"([0-9a-f]+)-([0-9a-f]+) (r)?", line):
                first, last, readable = int(head[1], 16), int(head[2], 16), head[3]
            elif readable and re.match(r"Rss: +[1-9]", line) and last - first < HUGE:
                for at in range(first, last, STEP * PAGE):
                    yield from _touched(memory, table, at, min(last, at + STEP * PAGE))


def _touched(memory, table, first, last):
    table.seek(first // PAGE * 8)
    entries = table.read((last - first) // PAGE * 8)
    if not entries.strip(b"\0"):
        return
    there = [entry >> 62 != 0 for entry in memoryview(entries).cast("Q")] # in memory, or swapped
    at = 0
    while at < len(there):
        end = next((other for other in range(at, len(there)) if there[other] != there[at]), len(there))
        if there[at]:
            with contextlib.suppress(OSError): # it may have given it back by now
                memory.seek(first + at * PAGE)
                yield memory.read((end - at) * PAGE)
        at = end
