#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: the guide is right about the collectives, functions of only one language, compile commands and input of ranks.
# Method: compare sentences of docs/guide with the headers and with jobs. Each check must detect a fault that the test
# plants in the page.
import re
import unittest
from pathlib import Path

from command import weft

ROOT = Path(__file__).resolve().parents[3]
PROGRAMMING = (ROOT / "docs/guide/programming.md").read_text(encoding="utf-8")
LAUNCHING = (ROOT / "docs/guide/launching.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def declared(pattern, suffix):
    """Returns the matches of a pattern in the headers of a language."""
    text = "".join(header.read_text(encoding="utf-8") for header in (ROOT / "include/weft").glob(f"*.{suffix}"))
    return set(re.findall(pattern, text))


C_FUNCTIONS = declared(r"\bweft_(\w+)\(", "h")
CPP_NAMES = declared(r"\b(\w+)\(|class (?:WEFT_API )?(\w+)", "hpp")
CPP_NAMES = {name for pair in CPP_NAMES for name in pair}
COLLECTIVES = {name.removesuffix("_init") for name in C_FUNCTIONS
               if name.endswith("_init") and not name.startswith("neighbor")}


def collectives_in_table(page):
    """Returns the names in the first column of the page's table of collectives, except neighborhood collectives."""
    table = page.split("## The collectives\n")[1].split("\n## ")[0]
    columns = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `") and "eighbor" not in line]
    return {name for column in columns for name in re.findall(r"`(\w+)`", column)}


def wrong_claims(page):
    """Returns the names for which the introduction wrongly claims that only one language has them."""
    introduction = " ".join(page.split("\n## ")[0].split())
    cpp_text, c_text = re.search(r"C\+\+ alone (.*?)[;.] C alone (.*?)\. [A-Z]", introduction).groups()
    names = re.findall(r"`(\w+)`", cpp_text)
    wrong = [name for name in names if name not in CPP_NAMES or name in C_FUNCTIONS]
    stems = [name.removeprefix("weft_") for name in re.findall(r"`(weft_\w+)`", c_text)]
    wrong += [stem for stem in stems if stem not in C_FUNCTIONS or stem in CPP_NAMES]
    if not names or not stems:
        wrong.append("no names")
    if re.search(r"4-byte|4 bytes", cpp_text) and "weft_type type, void* word" in (ROOT / "include/weft/onesided.h").read_text():
        wrong.append("words of 4 bytes")  # weft_atomic() of C supports them
    return wrong


def compile_lines(page):
    """Returns the compilers in the page's commands that compile a program with weft."""
    return {line.split()[0] for block in BLOCK.findall(page) for line in block.splitlines()
            if line.startswith(("cc -std=c99 ", "c++ -std=c++20 ")) and "pkg-config --cflags --libs weft" in line}


class Guide(unittest.TestCase):
    def test_the_table_has_every_collective(self):
        self.assertEqual(len(COLLECTIVES), 16)
        self.assertEqual(collectives_in_table(PROGRAMMING), COLLECTIVES)
        self.assertNotEqual(collectives_in_table(PROGRAMMING.replace("| `scan` |", "| scan |")), COLLECTIVES)

    def test_functions_of_only_one_language_exist_there(self):
        self.assertEqual(wrong_claims(PROGRAMMING), [])
        self.assertEqual(wrong_claims(PROGRAMMING.replace("`weft_team_create`", "`weft_put_strided`", 1)), ["put_strided"])
        self.assertEqual(wrong_claims(PROGRAMMING.replace("`set_algorithm`", "`fetch_add`", 1)), ["fetch_add"])

    def test_both_languages_are_compiled(self):
        self.assertEqual(compile_lines(PROGRAMMING), {"cc", "c++"})
        self.assertEqual(compile_lines(PROGRAMMING.replace("c++ -std", "g++ -std")), {"cc"})

    def test_standard_input_of_ranks_is_as_described(self):
        self.assertRegex(" ".join(LAUNCHING.split()),
                         "Rank 0 reads standard input unless that is a terminal; other ranks read `/dev/null`")
        done = weft("run", "-n", "3", "--label", "sh", "-c", "echo reads:$(cat)", input="words")
        self.assertEqual((done.returncode, sorted(done.stdout.splitlines())),
                         (0, ["[0] reads:words", "[1] reads:", "[2] reads:"]), done.stderr)


if __name__ == "__main__":
    unittest.main()
