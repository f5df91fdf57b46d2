#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: the tables of promises in docs/reliability.md and docs/direct-memory.md name only tests and files that exist.
Method: the last cell of a row names suites and tests after a colon or in backticks; a name that ends with dots is the
beginning of a test's name. A planted name that does not exist must be reported.

usage: promises_test.py"""
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

from source import tests_of  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/reliability.md", "docs/direct-memory.md")
NAME = r"(?:test_)?\w+"


def cells_of(text):
    """Returns the cells that name tests: the last of each row of the tables with a column Test."""
    cells, is_table = [], False
    for line in text.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            is_table = False
        elif row[0] == "Promise" and row[-1] == "Test":
            is_table = True
        elif is_table and row[-1].strip("-"):
            cells.append(row[-1])
    return cells


def problems(text, names):
    """Yields the names of tests and files that do not exist."""
    for cell in cells_of(text):
        for path in re.findall(r"`(tests/[\w./]+)", cell):
            if not (ROOT / path).exists():
                yield path
        after_colons = re.findall(rf": ({NAME}(?:, {NAME})*)", re.sub(r"\([^)]*\)", "", cell))
        for name in [name for part in after_colons for name in part.split(", ")]:
            if name not in names:
                yield name
        for name, dots in re.findall(r"`([A-Z]\w+)(\.\.\.)?`", cell):
            if not (any(other.startswith(name) for other in names) if dots else name in names):
                yield name


class Promises(unittest.TestCase):
    # Suites, tests, and programs of folders that have one test for each program.
    NAMES = ({part for test in tests_of(ROOT) for part in test.split(".")}
             | {path.stem for path in (ROOT / "tests").rglob("*.c*")})

    def test_the_pages_name_existing_tests_and_files(self):
        for page in PAGES:
            text = (ROOT / page).read_text(encoding="utf-8")
            self.assertGreater(len(cells_of(text)), 15, page)
            self.assertEqual(list(problems(text, self.NAMES)), [], page)

    def test_planted_mistakes_are_found(self):
        head = "| Promise | Test |\n|---|---|\n"
        for cell, wrong in (("`tests/gone`", ["tests/gone"]), ("`virtual`: Gone", ["Gone"]), ("`Gone...`", ["Gone"]),
                            ("`launch`: HiddenCalls, Gone", ["Gone"]), ("`HiddenCalls`", [])):
            self.assertEqual(list(problems(f"{head}| words | {cell} |\n", {"HiddenCalls"})), wrong, cell)


if __name__ == "__main__":
    unittest.main()
