#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: docs/papers.md has each result of the papers once, names only files and tests that exist, and names no test for
unrelated rows.
Method: rows must be numbered without gaps. Names in backticks are searched in the tree and in the sources of the tests.
If several rows name a test, SHARED must list these rows. Each check must report a planted mistake.

usage: papers_test.py"""
import re
import sys
import unittest
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True

from source import tests_of  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ROWS = {1: 23, 2: 9, 3: 12, 4: 8, 5: 9}  # paper: number of its rows
TEST = re.compile(r"`(\w+\.\w+|test_\w+)`")

# Tests that several rows name; the comment gives the relation.
SHARED = {
    "Multiplying.WorkedExamplesHaveThePublishedPeers": {"S1-03", "S1-04"},  # they contain splits and merges
    "EveryAlgorithm.ResultsAgreeWithASerialFold": {"S1-06", "S1-07"},  # floats, and matrices in rank order
    "AllreduceCounts.ARingSendsToOneNeighbor": {"S2-04", "S4-03"},  # one algorithm in both papers
    "BlocksProof.ReduceScattersSendAllButTheOwnBlock": {"S2-04", "S5-09"},  # pairwise exchange is one of them
    "Timeline.CopiesOverlapWithNetworkTransfers": {"S3-04", "S3-05"},  # both rows are about rings
    "TuneTest.AFileGrowsAndJobsPreferItsChoices": {"S1-12", "S3-09"},  # jobs use the choice of each size in a file
    "test_formulas_match_other_values_of_hoefler": {"S5-03", "S5-06"},  # values of both rows
}


def rows_of(text):
    """Returns (number, cells) of each row."""
    return [(found[1], [cell.strip() for cell in line.strip("|").split("|")])
            for line in text.splitlines() if (found := re.match(r"\| (S\d-\d\d) \|", line))]


def problems(text, tests, shared):
    """Yields the errors of the page, as sentences."""
    rows = rows_of(text)
    expected = [f"S{paper}-{row:02}" for paper, last in ROWS.items() for row in range(1, last + 1)]
    if [number for number, _ in rows] != expected:
        yield "rows are missing, twice or out of order"
    rows_by_test = defaultdict(set)
    for number, (_, _, files, tests_cell) in rows:
        for name in re.findall(r"`([^`]+)`", files):
            if "/" in name and " " not in name and not (ROOT / name).exists():
                yield f"{number}: {name} does not exist"
        for name in TEST.findall(tests_cell):
            rows_by_test[name].add(number)
            if name not in tests:
                yield f"{number}: test {name} does not exist"
        if not TEST.search(tests_cell) and not re.match(r"not yet|no test|documentation only|partly: the steps", tests_cell):
            yield f"{number}: names no test and does not say so"
    for name, numbers in rows_by_test.items():
        if len(numbers) > 1 and numbers != shared.get(name):
            yield f"{name} is named for {', '.join(sorted(numbers))}: add it to SHARED and give the relation"
    for name in set(shared) - {name for name, numbers in rows_by_test.items() if len(numbers) > 1}:
        yield f"{name} is in SHARED, but one row names it"


class Papers(unittest.TestCase):
    PAGE = (ROOT / "docs/papers.md").read_text(encoding="utf-8")

    def test_the_page_names_existing_files_and_tests(self):
        tests = tests_of(ROOT)
        self.assertGreater(len(tests), 400)
        self.assertEqual(list(problems(self.PAGE, tests, SHARED)), [])

    def test_planted_mistakes_in_the_page_are_found(self):
        tests = tests_of(ROOT)
        row = next(line for line in self.PAGE.splitlines() if line.startswith("| S1-02 |"))
        first = TEST.search(row)[1]
        for old, new, words in ((row + "\n", "", "rows are missing"),
                                (row, "| S1-02 | a | `src/gone.cpp` | not yet |", "src/gone.cpp does not exist"),
                                (row, "| S1-02 | a | - | `Gone.Test` |", "test Gone.Test does not exist"),
                                (row, "| S1-02 | a | - | shown |", "S1-02: names no test"),
                                ("| documentation only", f"| `{first}`", f"{first} is named for S1-02, S2-08")):
            found = list(problems(self.PAGE.replace(old, new, 1), tests, SHARED))
            self.assertTrue(any(words in text for text in found), (words, found))
        self.assertIn("is in SHARED", " ".join(problems(self.PAGE, tests, {**SHARED, first: {"S1-02", "S1-03"}})))


if __name__ == "__main__":
    unittest.main()
