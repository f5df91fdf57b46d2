#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: weft prints each message that docs/troubleshooting.md explains.
# Method: search each message in the string literals of the sources, with {} in place of its <parts>. Run the commands of
# CASES, and search their messages in the output.
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/troubleshooting.md"
SOURCES = ("src", "collectives", "providers")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
PIECE_MIN = 12  # minimum characters of a literal that is a part of a message
DEADLINE_S = 60

BENCH = f"exec {WEFT} bench barrier --iterations 1"
TWO_NODES = [WEFT, "run", "-n", "2", "--nodes", "2", "--", WEFT, "bench", "barrier", "--iterations", "1"]
CASES = {  # number of the entry: command that causes its message, settings
    1: ([WEFT, "run", "-n", "1", "--", "no-such-program"], {}),
    2: ([WEFT, "run", "-n", "1"], {}),
    3: ([WEFT, "run", "-n", "3", "--layout", "1,1", "--", "true"], {}),
    4: ([WEFT, "bench", "barrier"], {"PMI_SIZE": "2"}),
    6: ([WEFT, "run", "-n", "2", "--", "sh", "-c", f"[ $PMIX_RANK = 1 ] || {BENCH}"], {}),
    7: ([WEFT, "info"], {"WEFT_BANKS": "3"}),
    8: ([WEFT, "bench", "barrier", "--iterations", "1"], {"WEFT_SPEED": "high"}),
    9: ([WEFT, "run", "-n", "2", "--", "sh", "-c", f"[ $PMIX_RANK = 0 ] || export WEFT_BANKS=64; {BENCH}"], {}),
    11: (TWO_NODES, {"WEFT_PROVIDER": "semaphore"}),
    12: (TWO_NODES, {"WEFT_FABRIC_MODULE": "/nowhere/weft_fabric.so"}),
    14: (TWO_NODES, {"WEFT_NOTIFY": "fence", "WEFT_PROVIDER": "tcp;ofi_rxm"}),
    15: (TWO_NODES, {"WEFT_FABRIC_ADDRESS": "192.0.2.1", "WEFT_PROVIDER": "tcp;ofi_rxm"}),
    21: ([WEFT, "run", "-n", "1", "--", "sh", "-c", "kill -9 $$"], {}),
    25: ([WEFT, "verify", "allreduce", "--algorithm", "a2", "--ranks", "2", "--bytes", "7"], {}),
    26: ([WEFT, "verify", "allreduce", "--algorithm", "a3", "--ranks", "4"], {}),
}


def messages():
    """Returns {number of the entry: messages} of the page; a message is an indented line."""
    found = {}
    for number, body in re.findall(r"^### (\d+)\. [^\n]*\n(.*?)(?=^##|\Z)", PAGE.read_text(encoding="utf-8"),
                                   re.MULTILINE | re.DOTALL):
        found[int(number)] = re.findall(r"^    (\S.*)$", body, re.MULTILINE)
    return found


def literals():
    """Returns all string literals of the sources, with adjacent literals joined and {...} as {}."""
    texts = set()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.?pp")):
            for run in re.findall(rf"{LITERAL}(?:\s*{LITERAL})*", path.read_text(encoding="utf-8")):
                text = "".join(piece[1:-1] for piece in re.findall(LITERAL, run))
                texts.add(re.sub(r"\{[^{}]*\}", "{}", text.replace('\\"', '"')))
    return texts


def is_printed(message, texts):
    """Returns true if a literal contains the message, or two literals contain its start and its rest."""
    if any(message in text for text in texts):
        return True
    return any(any(message[:cut] in text for text in texts) and any(message[cut:] in text for text in texts)
               for cut in range(PIECE_MIN, len(message) - PIECE_MIN))


class Troubleshooting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.messages = messages()
        cls.texts = literals()

    def test_entries_are_numbered_and_have_a_message_each(self):
        self.assertGreaterEqual(len(self.messages), 20)
        self.assertEqual(list(self.messages), list(range(1, len(self.messages) + 1)))
        for number, lines in self.messages.items():
            self.assertTrue(lines, number)

    def test_every_message_is_in_the_sources(self):
        for number, lines in self.messages.items():
            for line in lines:
                with self.subTest(entry=number, message=line):
                    self.assertTrue(is_printed(re.sub(r"<[^<>]*>", "{}", line), self.texts))

    def test_a_message_that_no_source_contains_is_detected(self):
        for line in ("cannot run {}: no such programme in PATH", "the program to walk is missing"):
            self.assertFalse(is_printed(line, self.texts), line)

    def test_messages_are_printed_in_their_situations(self):
        plain = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        for number, (command, settings) in CASES.items():
            with self.subTest(entry=number):
                done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                                      env=plain | settings)
                pattern = re.sub(r"<[^<>]*>", "\0", self.messages[number][0])
                pattern = re.escape(pattern).replace("\0", ".+").replace("\\\0", ".+")
                self.assertRegex(done.stderr, pattern)
                self.assertEqual(done.returncode != 0, number != 8)


if __name__ == "__main__":
    unittest.main()
