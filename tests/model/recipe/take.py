#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Applies the recipe of collectives/README.md to copies of the files that it changes.

A block of code after `<!-- recipe: file PATH -->` becomes the file PATH. A line after `<!-- recipe: line PATH -->` is
added to a copy of PATH, after the last line with the same start (up to the first underscore).

usage: take.py SOURCE_FOLDER TARGET_FOLDER"""
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"<!-- recipe: (file|line) (\S+) -->\n```cpp\n(.*?)```\n", re.S)


def with_line(text, line):
    """Returns the text with the line inserted after the last line of its kind."""
    lines = text.splitlines(keepends=True)
    kind = line[:line.index("_", line.index("Algorithm") if "Algorithm" in line else 0) + 1]
    places = [number for number, old in enumerate(lines) if old.startswith(kind)]
    if not places:
        raise ValueError(f"no line begins with '{kind}'")
    lines.insert(places[-1] + 1, line)
    return "".join(lines)


def main(source, target):
    steps = BLOCK.findall((source / "collectives/README.md").read_text(encoding="utf-8"))
    if [kind for kind, _, _ in steps] != ["file", "line", "line"]:
        sys.exit("collectives/README.md: the recipe is one file and two lines")
    for kind, path, code in steps:
        text = code if kind == "file" else with_line((source / path).read_text(encoding="utf-8"), code)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")


main(Path(sys.argv[1]), Path(sys.argv[2]))
