#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: docs/papers.md names every result of the papers once, and only files and tests that exist.
Method: rows are numbered without gaps; names in backticks are looked up in the tree and in the sources of the tests.

usage: papers_test.py"""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = {1: 23, 2: 9, 3: 12, 4: 8, 5: 9}


def rows():
    """(number, cells) of each line of a table."""
    for line in (ROOT / "docs/papers.md").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\| (S\d-\d\d) \|", line):
            yield found[1], [cell.strip() for cell in line.strip("|").split("|")]


def all_tests():
    """Suite.Name of each C++ test, and names of Python's test methods."""
    names = set()
    for path in (ROOT / "tests").rglob("*.cpp"):
        names |= {".".join(found) for found in re.findall(r"^\w*TEST\w*\((\w+), (\w+)\)", path.read_text(encoding="utf-8"), re.M)}
    for path in (ROOT / "tests").rglob("*_test.py"):
        names |= set(re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8")))
    return names


class Papers(unittest.TestCase):
    def test_every_row_stands_there_once(self):
        expected = [f"S{paper}-{row:02}" for paper, last in ROWS.items() for row in range(1, last + 1)]
        self.assertEqual([number for number, _ in rows()], expected)

    def test_what_is_named_exists(self):
        known = all_tests()
        self.assertGreater(len(known), 400)
        for number, (_, _, where, shown) in rows():
            for name in re.findall(r"`([^`]+)`", where):
                if "/" in name and " " not in name:
                    self.assertTrue((ROOT / name).exists(), f"{number}: {name} is not there")
            for name in re.findall(r"`(\w+\.\w+|test_\w+)`", shown):
                self.assertTrue(name in known, f"{number}: there is no test {name}")

    def test_every_row_is_shown_or_says_that_it_is_not(self):
        for number, (_, _, _, shown) in rows():
            self.assertRegex(shown, r"`|not yet|\]\(|only", number)


if __name__ == "__main__":
    unittest.main()
