#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_format.py - checks that clang-format 14 changes no file; status 77 (skipped) if it is not installed.

usage: check_format.py ROOT
"""
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from source import read_tree  # noqa: E402

SKIPPED = 77


def find_formatter():
    """Returns the path of clang-format 14, or None. Other versions format differently."""
    for name in ("clang-format-14", "clang-format"):
        if path := shutil.which(name):
            version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
            if " version 14." in version.stdout:
                return path
    return None


def main():
    root = Path(sys.argv[1]).resolve()
    formatter = find_formatter()
    if formatter is None:
        print("skipped: clang-format 14 is not installed (Debian package clang-format-14)")
        return SKIPPED
    files = [str(source.path) for source in read_tree(root) if source.is_cpp]
    ended = subprocess.run([formatter, "--dry-run", "--Werror", "--style=file", *files], cwd=root,
                           capture_output=True, text=True, check=False)
    wrong = sorted({line.split(":")[0] for line in ended.stderr.splitlines() if ": error:" in line})
    if ended.returncode != 0 and not wrong:
        print(ended.stderr)
    if wrong:
        print("run: clang-format-14 -i " + " ".join(wrong))
    print(f"{len(files)} files, {len(wrong)} to format" if files else f"no C++ files in {root}")
    return 1 if ended.returncode != 0 or not files else 0


if __name__ == "__main__":
    sys.exit(main())
