#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: excerpts of programs on pages of docs/ agree with the files.
# Method: each block after `<!-- from: FILE -->` must be consecutive lines of FILE; only the indentation may differ.
import re
import textwrap
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXCERPT = re.compile(r"<!-- from: (\S+) -->\n```cpp\n(.*?)```", re.DOTALL)


def is_part(excerpt, text):
    wanted = excerpt.splitlines()
    lines = text.splitlines()
    for first in range(len(lines) - len(wanted) + 1):
        part = textwrap.dedent("\n".join(lines[first:first + len(wanted)])).splitlines()
        if part == wanted:
            return True
    return False


class Excerpts(unittest.TestCase):
    def test_each_excerpt_is_in_its_file(self):
        found = 0
        for page in sorted((ROOT / "docs").rglob("*.md")):
            for name, excerpt in EXCERPT.findall(page.read_text(encoding="utf-8")):
                found += 1
                with self.subTest(page=page.name, file=name, starts=excerpt[:40]):
                    self.assertTrue(is_part(excerpt, (ROOT / name).read_text(encoding="utf-8")))
        self.assertGreaterEqual(found, 4)

    def test_a_changed_line_is_detected(self):
        self.assertTrue(is_part("b();\nc();\n", "    a();\n    b();\n    c();\n"))
        self.assertFalse(is_part("b();\nc();\n", "    b();\n    c(1);\n"))
        self.assertFalse(is_part("b();\nc();\n", "    b();\n\n    c();\n"))


if __name__ == "__main__":
    unittest.main()
