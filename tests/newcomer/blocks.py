#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""blocks.py - every block of commands of README and guide, as it stands there, by a shell in one folder.

usage: blocks.py SOURCES PREFIX

Idea     The examples of a page are written to files of their names before its blocks run, as a reader would. The prefix
         is what the pages call $HOME/weft.
Holds    A block that is left out is named with the reason.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCES, PREFIX = Path(sys.argv[1]), Path(sys.argv[2])
FOLDER = Path.home() / "weft-blocks"
PAGES = ("README.md", "docs/guide/programming.md", "docs/guide/from-mpi-or-shmem.md", "docs/guide/launching.md",
         "docs/guide/environment.md", "docs/guide/failures.md", "docs/guide/mpi-backing.md")
EXAMPLE = re.compile(r"<!-- example: (\S+?)[ ,].*?-->\n```(?:c|cpp)\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = (("tests/run", "a step of its own"), ("cmake --preset release", "perf/quickstart has built, in build/ci"),
             ("mpirun -n 64", "needs machines"), ("tests/slurm", "installs Slurm"), ("LD_PRELOAD", "needs an MPI library"),
             ("mpirun", "needs an MPI library"))
DEADLINE_S = 600


def reason_to_leave_out(block):
    return next((reason for word, reason in ELSEWHERE if word in block), None)


def main():
    FOLDER.mkdir(exist_ok=True)
    home = FOLDER / "home"
    home.mkdir(exist_ok=True)
    if not (home / "weft").exists():
        (home / "weft").symlink_to(PREFIX)
    lib = next(PREFIX.rglob("libweft.so.0")).parent
    environment = {"HOME": str(home), "PATH": f"{PREFIX}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{lib}/pkgconfig"}
    wrong = 0
    for page in PAGES:
        text = (SOURCES / page).read_text(encoding="utf-8")
        for name, program in EXAMPLE.findall(text):
            (FOLDER / Path(name).name).write_text(program, encoding="utf-8")
        for block in BLOCK.findall(text):
            shown = block.strip().splitlines()[0]
            if reason := reason_to_leave_out(block):
                print(f"left out ({reason}): {page}: {shown}")
                continue
            done = subprocess.run(["bash", "-euc", block], cwd=FOLDER, env=environment, capture_output=True, text=True,
                                  timeout=DEADLINE_S, check=False, stdin=subprocess.DEVNULL)
            print(f"{'right' if done.returncode == 0 else 'WRONG'}: {page}: {shown}")
            if done.returncode != 0:
                wrong += 1
                print(done.stdout[-2000:], done.stderr[-2000:], sep="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
