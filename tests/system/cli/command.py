# SPDX-License-Identifier: BSD-3-Clause
"""command - runs the executable of weft under test, the first argument of each test script in this folder."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
WEFT = sys.argv.pop(1)
DEADLINE_S = 60


def weft(*arguments, settings=None, **more):
    """Runs a command of weft to its end."""
    return run(WEFT, *arguments, settings=settings, **more)


def run(program, *arguments, settings=None, **more):
    """Runs a program to its end. Of the variables WEFT_*, its environment only has those in `settings`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                          env=environment | (settings or {}), **more)


def answer(case, *arguments, status=0):
    """Runs a command with --json. Returns its object, which must be its only output if it succeeds."""
    done = weft(*arguments, "--json")
    case.assertEqual(done.returncode, status, done.stderr)
    case.assertEqual(done.stdout.count("\n"), 1)
    case.assertTrue(done.stderr == "" or status != 0, done.stderr)
    return json.loads(done.stdout)


def check_refusals(case, refusals, *before):
    """Checks that each command ends with status 2, prints its words to stderr, and nothing to stdout."""
    for arguments, words in refusals:
        refused = weft(*before, *arguments)
        case.assertEqual((refused.returncode, refused.stdout), (2, ""), arguments)
        case.assertIn(words, refused.stderr)
