# SPDX-License-Identifier: BSD-3-Clause
"""Goal: the library has no code of the simulator, the laboratory or the verifier, and its code has a limited size.
Method: search its symbol table. As a control, the `weft` command, which has all three, must contain these symbols.

    symbols_test.py LIBRARY COMMAND TEXT_BYTES_MAX    (0: do not check the size)
"""
import re
import subprocess
import sys
import unittest

CODE_OF_COMMANDS = {
    "the laboratory": r"\bweft::lab::",
    "the simulator": r"\bweft::(\w+::)*(simulate|simulate_\w+|Lanes|Processors|TimeQueue)(\(|::)",
    "the verifier": r"\bweft::plan::(verify|malformed)\(|\bweft::plan::Execution::",
    "the text form of programs": r"\bweft::plan::parse_programs\(",
}
LIBRARY, COMMAND, TEXT_BYTES_MAX = sys.argv[1], sys.argv[2], int(sys.argv[3])


def symbols_of(path):
    run = subprocess.run(["nm", "--demangle", "--defined-only", path], capture_output=True, text=True, check=True)
    return [line.split(maxsplit=2)[-1] for line in run.stdout.splitlines()]


def found(symbols, pattern):
    return [symbol for symbol in symbols if re.search(pattern, symbol)]


class Symbols(unittest.TestCase):
    def test_the_library_has_no_symbols_of_commands(self):
        library, command = symbols_of(LIBRARY), symbols_of(COMMAND)
        self.assertTrue(found(library, r"\bweft::plan::select\("), "the library is stripped and has no symbols")
        for what, pattern in CODE_OF_COMMANDS.items():
            self.assertEqual(found(library, pattern)[:5], [], f"{LIBRARY} contains {what}")
            self.assertTrue(found(command, pattern), f"no symbol of {what} in {COMMAND}: the pattern finds nothing")

    @unittest.skipIf(TEXT_BYTES_MAX == 0, "not an optimized build")
    def test_the_library_stays_within_its_size_limit(self):
        run = subprocess.run(["size", LIBRARY], capture_output=True, text=True, check=True)
        text_bytes = int(run.stdout.splitlines()[1].split()[0])
        self.assertLessEqual(text_bytes, TEXT_BYTES_MAX)
        self.assertGreater(text_bytes, TEXT_BYTES_MAX // 2, "much smaller: lower the limit")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
