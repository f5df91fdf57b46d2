#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: perf/quickstart installs only necessary packages and announces its time and disk space; its table marks the best
# schedule. Method: call the shell functions; make the table with fake programs that only print times.
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FAKE = r'''#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
if words[0] == "verify":
    print(json.dumps({"valid": True, "rounds": 2, "messages": 8}))
    sys.exit()
specs = [words[i + 1] for i, word in enumerate(words) if word == "--algorithm"]
times = {"a4": 1.0, "a2,a4": 2.0}
print(json.dumps({"calibrator_ns": 30, "results": [
    {"algorithm": spec, "checked": True, "min_us": 0.5, "median_us": times.get(spec, 9.0)} for spec in specs]}))
'''
PEER = r'''#!/bin/sh
echo '{"results": [{"checked": true, "min_us": 2.5, "median_us": 3.0}]}'
'''


def shell(text):
    done = subprocess.run(["bash", "-c", f"source cmake/prepare.sh; {text}"], capture_output=True, text=True, timeout=60,
                          check=False, cwd=ROOT)
    return done.stdout, done.stderr, done.returncode


class Packages(unittest.TestCase):
    def test_quickstart_needs_no_packages_of_tests(self):
        build, tests = (shell(f"weft_packages {group}")[0].split() for group in ("build", "tests"))
        self.assertIn("libfabric-dev", build)
        release = shell('. /etc/os-release && printf %s "${VERSION_ID-}"')[0]
        for package in ("libgtest-dev", "openmpi-bin", *(["clang-format-14"] if release == "12" else [])):
            self.assertIn(package, tests)
            self.assertNotIn(package, build)
        script = (ROOT / "perf/quickstart").read_text(encoding="utf-8")
        self.assertRegex(script, r"(?m)^weft_need_packages build$")

    def test_both_commands_build_in_one_folder(self):
        for path in ("perf/quickstart", "tests/run"):
            self.assertRegex((ROOT / path).read_text(encoding="utf-8"), r"(?m)^preset=ci$")

    def test_time_and_space_are_announced_once(self):
        printed = shell("weft_announce 4 1")[1]
        self.assertRegex(printed, r"the first run takes about [1-4] min on \d+ cores and 1 MB of disk")
        self.assertEqual(shell("weft_announce 4 1 README.md")[1], "", "it is built already")
        self.assertNotIn("packages", shell("weft_missing_packages() { echo one; }; weft_announce 4 1 '' 700 build")[1])
        printed = shell("weft_missing_packages() { printf '%s\\n' 1 2 3 4; }; weft_announce 4 1 '' 700 build")[1]
        self.assertIn("free), packages 700 MB", printed)
        _, printed, status = shell("weft_announce 4 999999999")
        self.assertEqual(status, 3)
        self.assertIn("999999999 are needed", printed)


class Table(unittest.TestCase):
    def table(self, peer):
        with tempfile.TemporaryDirectory() as folder:
            programs = {"weft": FAKE} | ({"peer_openmpi": PEER, "mpirun.openmpi": PEER} if peer else {})
            for name, text in programs.items():
                Path(folder, name).write_text(text, encoding="utf-8")
                Path(folder, name).chmod(0o755)
            done = subprocess.run([sys.executable, ROOT / "perf/quickstart_table.py", folder], capture_output=True, text=True,
                                  timeout=60, check=False, env={"PATH": f"{folder}:/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_best_row_is_marked(self):
        marked = re.findall(r"^ +\d+ +\d+  (\S+) .*<- best$", self.table(False), re.MULTILINE)
        self.assertEqual(marked, ["a4", "a4", "a2,a4", "a2,a4"])

    def test_open_mpi_has_rows_in_the_table(self):
        rows = re.findall(r"^ +(\d) +(\d)  Open MPI .* (\d+\.\d\d) times the best schedule's time$", self.table(True),
                          re.MULTILINE)
        self.assertEqual(rows, [("4", "1", "3.00"), ("4", "4", "3.00"), ("8", "1", "1.50")])
        self.assertNotIn("Open MPI", self.table(False))


class Figures(unittest.TestCase):
    """Tests of the numbers in docs/performance.md."""

    def test_negative_hidden_shares_are_printed_as_none(self):
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(ROOT / "perf"))
        from comparing import report
        row = {"blocking_us": 10.0, "computing_us": 15.0, "hidden_computing": 0.5, "sleeping_us": 120.0, "hidden_sleeping": -10.0}
        self.assertEqual(report.hidden(row, "computing"), "50 %")
        self.assertEqual(report.hidden(row, "sleeping"), "none (+100.0 us)")
        self.assertEqual([report.three_digits(value) for value in (0.00153, 42.9, 3.0, 0.362)], ["0.00153", "42.9", "3", "0.362"])
        page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
        self.assertNotRegex(page, r"\| -\d+ % \||\| 0\.00 \|$")


if __name__ == "__main__":
    unittest.main()
