#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compile_headers.py - compiles each header separately: public headers always, all headers with WEFT_TESTS_FULL=1.

If clang is installed, it also compiles the public headers and FOR_CLANG, which tests/hostile/fuzz/run needs.

usage: compile_headers.py ROOT COMPILER [FLAG...]     (flags: where to find foreign headers)
"""
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
ROOTS = ("include", "src", "")
CLANGS = ("clang++-16", "clang++-14", "clang++")
FOR_CLANG = ("collectives/collective_traits.hpp",)  # computes a table at compile time, which clang may reject


def compile_alone(root, compiler, flags, header, language):
    """Compiles a file that only includes this header. Returns the compiler's errors, or None."""
    name = header.relative_to(root).as_posix()
    for prefix in ("include/", "src/"):
        name = name.removeprefix(prefix)
    command = [compiler, "-x", language[0], f"-std={language[1]}", *STRICT,
               *(["-pedantic"] if language[0] == "c" else []),
               *[f"-I{root / folder}" for folder in ROOTS], *flags, "-"]
    # The declaration is needed: C forbids a file that is empty after preprocessing.
    ended = subprocess.run(command, input=f'#include "{name}"\nextern int unused;\n',
                           capture_output=True, text=True, timeout=120, check=False)
    return None if ended.returncode == 0 else f"{name} as {language[1]}:\n{ended.stderr}"


def headers_to_check(root, folders):
    jobs = []
    for folder in folders:
        for header in sorted((root / folder).rglob("*.h*")):
            if header.suffix in (".h", ".hpp"):
                jobs.append((header, ("c++", "c++20")))
            if header.suffix == ".h" and folder == "include":
                jobs.append((header, ("c", "c99")))
    return jobs


def main():
    root, compiler, flags = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    full = os.environ.get("WEFT_TESTS_FULL", "") not in ("", "0")
    folders = ["include", "src", "collectives", "providers"] if full else ["include"]
    jobs = [(compiler, *job) for job in headers_to_check(root, folders)]
    clang = next(filter(shutil.which, CLANGS), None)
    if clang:
        jobs += [(clang, *job) for job in headers_to_check(root, ["include"])]
        jobs += [(clang, root / name, ("c++", "c++20")) for name in FOR_CLANG]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [text for text in pool.map(
            lambda job: compile_alone(root, job[0], flags, *job[1:]), jobs) if text]
    for text in errors:
        print(text)
    print(f"{len(jobs)} headers, {len(errors)} do not compile alone")
    return 1 if errors or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
