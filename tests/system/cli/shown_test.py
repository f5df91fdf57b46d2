#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: all commands shown in help texts and pages work: they end with status 0.
# Method: run the examples of each help text in their order, and each block of the pages that only has commands of weft,
#         in a new folder with the programs ./a.out, ./hello and ./program.
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import WEFT

DOCS = Path(__file__).resolve().parents[3] / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
DEADLINE_S = 120
PARAMETERS = "latency_ns 1000\nissue_ns 100\n"


def needs_only_weft(block):
    """Returns true if each command is of weft and needs no other program."""
    lines = [line for line in block.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return all(line.startswith("weft ") and "gdb" not in line and "mpi-run" not in line and " sh -c" not in line for line in lines)


class Shown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="weft-shown."))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for name in ("a.out", "hello", "program"):
            (cls.folder / name).write_text("#!/bin/sh\nexec weft info\n", encoding="utf-8")
            (cls.folder / name).chmod(0o755)
        (cls.folder / "my-machine.txt").write_text(PARAMETERS, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        cls.environment = environment | {"PATH": f"{os.path.dirname(WEFT)}:{os.environ['PATH']}"}

    def run_shell(self, text):
        done = subprocess.run(["bash", "-euc", text], capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                              cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout[-1000:]}{done.stderr}")
        return done.stdout

    def test_examples_of_help_run(self):
        commands = json.loads(self.run_shell("weft help --json"))["commands"]
        for command in commands:
            self.assertTrue(any(f"weft {command['name']}" in example for example in command["examples"]), command["name"])
            for example in command["examples"]:
                with self.subTest(example=example):
                    self.assertIn(example, self.run_shell(f"weft {command['name']} --help"))
                    self.assertIn(example, self.run_shell(f"weft help --man {command['name']}").replace("\\-", "-"))
                    self.run_shell(example)

    def test_commands_of_the_pages_run(self):
        run = []  # page of each block
        for page in sorted(DOCS.rglob("*.md")):
            for block in BLOCK.findall(page.read_text(encoding="utf-8")):
                if needs_only_weft(block):
                    run.append(page.name)
                    with self.subTest(page=page.name):
                        self.run_shell(block.replace("weft fit ", "weft fit --repetitions 3 --passes 1 "))  # fit takes longest
        self.assertGreaterEqual(len(run), 7, run)


if __name__ == "__main__":
    unittest.main()
