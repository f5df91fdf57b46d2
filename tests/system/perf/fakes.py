# SPDX-License-Identifier: BSD-3-Clause
"""fakes - runs scripts of perf/ with fake programs instead of weft and MPI.

Idea     Each fake program, except with `--version`, appends its call to the file `calls` and takes the next word of
         its plan, which repeats. The words `hang` and `fail` make the program hang or fail. For any other word, the
         shell commands in `answer` run: $value is the word, $name the program, and option() reads an option's value.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

PERF = pathlib.Path(__file__).resolve().parent.parent.parent.parent / "perf"
sys.path.insert(0, str(PERF))
sys.dont_write_bytecode = True

BEGIN = """#!/bin/sh
folder=${0%/*}
name=${0##*/}
[ "$*" = --version ] && echo "$name version 1" && exit 0
echo "$name $* yield=${OMPI_MCA_mpi_yield_when_idle-none}" >> "$folder/calls"
option() {  # option NAME WORD...: the word after the option
    wanted=$1
    while shift && [ $# -gt 1 ]; do
        [ "$1" = "$wanted" ] && echo "$2" && return
    done
}
next_of() {  # next_of COUNT WORD...: sets value to word COUNT, modulo the number of words
    shift $(($1 % ($# - 1)))
    value=$2
}
count=0
[ -f "$folder/count.$name" ] && read -r count < "$folder/count.$name"
echo $((count + 1)) > "$folder/count.$name"
read -r plan < "$folder/plan.$name"
next_of $count $plan
[ "$value" = hang ] && exec sleep 30
[ "$value" = fail ] && echo "$name fails as planned" >&2 && exit 5
"""


class Run:
    """Runs a script to its end in a folder of fake programs; FOLDER in its arguments is that folder."""

    def __init__(self, script, answer, plans, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            for name, plan in plans.items():
                program = pathlib.Path(folder, name)
                program.write_text(BEGIN + answer, encoding="utf-8")
                program.chmod(0o755)
                pathlib.Path(folder, f"plan.{name}").write_text(" ".join(map(str, plan)) + "\n", encoding="utf-8")
            done = subprocess.run(
                [sys.executable, str(PERF / script), "--bin", folder, *(word.replace("FOLDER", folder) for word in arguments)],
                capture_output=True, text=True, timeout=50, check=False,
                # The scripts must remove this setting; `calls` shows whether they did.
                env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"})
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
            calls = pathlib.Path(folder, "calls")
            self.calls = [line.split(" ") for line in calls.read_text().splitlines()] if calls.exists() else []

    def json(self):
        return json.loads(self.out)


def check_refusals(case, run, refusals):
    """Checks that invalid arguments give status 2 and a message that names them, and start no program."""
    for arguments, complaint in refusals:
        done = run(*arguments)
        case.assertEqual((done.status, done.calls), (2, []), arguments)
        case.assertIn(complaint, done.err)
