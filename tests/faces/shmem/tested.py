#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tested.py - the table of all routines that shmem.h declares, with the test programs that call each.

usage: tested.py SOURCE_FOLDER COMPILER         prints the table

Idea     The preprocessor expands the tables of types in the test programs, so each call has the name of its routine. The
         calls between two definitions of functions belong to the first.
"""
import re
import subprocess
import sys
from pathlib import Path

ROUTINE = re.compile(r"\b(shmem_\w+|start_pes|_my_pe|_num_pes|shmalloc|shfree|shrealloc|shmemalign)\)?\s*\(")
FUNCTION = re.compile(r"^(?:static |inline )*[a-z]\w* (\w+)\([^;]*\) \{", re.MULTILINE)


def preprocessed(source, compiler, text):
    """Returns C text and the lines of it that are not from the header."""
    command = [compiler, "-std=c99", "-E", f"-I{source}", f"-I{source / 'include/openshmem'}", str(text)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    own, kept = [], False
    for line in done.stdout.splitlines():
        mark = re.match(r'# \d+ "([^"]*)"', line)
        if mark:
            kept = str(source / "tests") in mark[1]
        elif kept:
            own.append(line)
    return done.stdout, "\n".join(own)


def declared(source, compiler):
    """Returns the names of all routines in shmem.h."""
    return set(ROUTINE.findall(preprocessed(source, compiler, source / "include/openshmem/shmem.h")[0]))


def programs(source, compiler):
    """Returns for each called routine the names of the functions that call it, sorted."""
    found = {}
    folder = source / "tests/faces/shmem"
    for path in [*sorted((folder / "programs").glob("*.c")), folder / "main.c"]:
        _, text = preprocessed(source, compiler, path)
        starts = [(match.start(), match[1]) for match in FUNCTION.finditer(text)]
        for (start, name), (end, _) in zip(starts, [*starts[1:], (len(text), "")]):
            for routine in set(ROUTINE.findall(text[start:end])):
                found.setdefault(routine, set()).add(name)
    return {routine: sorted(names) for routine, names in found.items()}


def table(source, compiler):
    """Returns the table, in the order of names."""
    called = programs(source, compiler)
    lines = ["| Routine | Called by the programs |", "|---|---|"]
    lines += [f"| `{name}` | {', '.join(called.get(name, []))} |" for name in sorted(declared(source, compiler))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(Path(sys.argv[1]).resolve(), sys.argv[2]), end="")
