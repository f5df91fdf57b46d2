# SPDX-License-Identifier: BSD-3-Clause
"""Writes a macro call for each entry point of both interfaces; calls_in_children.cpp includes the file.

Usage: entries.py NM LIBRARY COMPILER INCLUDE_FOLDER OUTPUT
C_ENTRY(name): a C function of the library, or an inline function of near.h. CPP_ENTRY("name"): a
member of a class of the C++ interface. The list comes from the library's symbols, so that it includes
new functions.
"""
import re
import subprocess
import sys


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    nm, library, compiler, include, target = sys.argv[1:]
    c_names, cpp_names = set(), set()
    for line in output_of(nm, "-DC", "--defined-only", library).splitlines():
        found = re.match(r"\S+ T (.*)", line)
        if not found:
            continue
        name = re.sub(r"(\[abi:\w+\])?\(.*", "", found[1]).split("@")[0]
        if name.startswith("weft_forward_"):  # replaces a function of the C library, also in children
            continue
        if re.fullmatch(r"weft_\w+", name):
            c_names.add(name)
        elif re.fullmatch(r"weft::\w+::[\w~=]+( \w+)?", name):
            cpp_names.add(name)
    header = output_of(compiler, "-E", "-P", "-I", include, "-x", "c", include + "/weft/near.h")
    c_names |= set(re.findall(r"static inline weft_status (weft_near_\w+)\(", header))
    lines = [f"C_ENTRY({name})" for name in sorted(c_names)]
    lines += [f'CPP_ENTRY("{name}")' for name in sorted(cpp_names)]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
