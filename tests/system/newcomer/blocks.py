#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""blocks.py - runs each block of commands of README and guide, exactly as printed, with a shell in one folder.

usage: blocks.py SOURCES none|openmpi|mpich|slurm

Idea     Before a page's blocks run, its examples are written to files of their names, as a user would do. ./program
         is a program for MPI or OpenSHMEM. The second argument selects the blocks that need this library or Slurm;
         `none` selects the blocks that need only weft. Blocks that build weft run in its sources. Then each example is
         built by the command of the guide and started.
Holds    weft is installed in ~/weft, as in the pages. Each block of each page is run, or omitted with a printed reason.
"""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

SOURCES, NEED = Path(sys.argv[1]), sys.argv[2]
PREFIX = Path.home() / "weft"
FOLDER = Path.home() / "weft-blocks"
FIRST = (SOURCES / "README.md", SOURCES / "docs/guide/programming.md")  # they build programs that other pages use
PAGES = (*FIRST, *sorted({*(SOURCES / "docs/guide").glob("*.md")} - {*FIRST}), SOURCES / "docs/shmem.md")
EXAMPLE = re.compile(r"<!-- example: (\S+?)(?: prints: ([^\n]*?)|,[^\n]*?) -->\n```(?:c|cpp)\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"^```(sh|cmake)\n(.*?)^```", re.DOTALL | re.MULTILINE)
BUILDS_WEFT = "cmake --preset"
TESTED_ELSEWHERE = (("tests/run", "tested by --tests of `run`"),)
NEEDS = (("mpiexec.mpich", "mpich"), ("mpirun", "openmpi"), ("srun", "slurm"))
PROGRAM_OF_MPI = """#include <mpi.h>
int main(int argc, char **argv) {
    int ranks = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Finalize();
    return one == ranks ? 0 : 1;
}
"""
PROGRAM_OF_SHMEM = """#include <shmem.h>
int main(void) {
    shmem_init();
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
"""
COMPILE = {".c": "cc -std=c99", ".cpp": "c++ -std=c++20"}  # as in the guide
DEADLINE_S, DEADLINE_OF_A_BUILD_S = 600, 3600


def without_comments(block):
    """Returns the commands of a block without comments."""
    return re.sub(r"#.*", "", block)


def needed(block):
    """Returns the name of the package that the commands need in addition to weft, or "none"."""
    return next((need for word, need in NEEDS if word in without_comments(block)), "none")


def reason_to_leave_out(block):
    return next((reason for word, reason in TESTED_ELSEWHERE if word in without_comments(block)), None)


def environment_of_user():
    environment = {"HOME": str(Path.home()), "PATH": f"{PREFIX}/bin:{os.environ['PATH']}",
                   "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig"}
    if NEED == "openmpi":  # Open MPI requires these if root starts jobs
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if NEED == "slurm":  # the allocation, and 64 ranks that share processors
        environment |= {name: value for name, value in os.environ.items() if name.startswith("SLURM_")}
        environment |= {"SLURM_OVERCOMMIT": "1"}
    return environment


def write_programs(environment):
    """Writes files that users have: program.c, ./program, and the hosts of a job of 64 ranks."""
    (FOLDER / "program.c").write_text(PROGRAM_OF_SHMEM, encoding="utf-8")
    (FOLDER / "hosts").write_text("localhost slots=64\n", encoding="utf-8")
    if NEED in ("openmpi", "mpich"):
        (FOLDER / "mpi.c").write_text(PROGRAM_OF_MPI, encoding="utf-8")
        build = f"mpicc.{NEED} mpi.c -o program"
    else:
        build = 'cc program.c -o program $(pkg-config --cflags --libs weft-shmem) -Wl,-rpath,"$HOME/weft/lib"'
    subprocess.run(["bash", "-euc", build], cwd=FOLDER, env=environment, check=True)


def run_commands(name, commands, environment, printed=""):
    """Runs the commands. Returns true if they end with status 0 and their output contains `printed`."""
    folder, deadline = (SOURCES, DEADLINE_OF_A_BUILD_S) if BUILDS_WEFT in commands else (FOLDER, DEADLINE_S)
    begin = time.monotonic()
    try:
        done = subprocess.run(["bash", "-euc", commands], cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=deadline, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"WRONG: {name}: no end within {deadline} s")
        return False
    right = done.returncode == 0 and printed in done.stdout
    print(f"{'right' if right else 'WRONG'}: {name} ({time.monotonic() - begin:.1f} s)")
    if not right:
        print(f"status {done.returncode}", done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return right


def commands_of(language, block):
    """Returns the commands of a block. For a block of CMake, these are commands that build ./hello with it."""
    if language == "sh":
        return block
    project = f"cmake_minimum_required(VERSION 3.25)\nproject(hello C)\nadd_executable(hello hello.c)\n{block}"
    return f"mkdir -p project && cp hello.c project && cat >project/CMakeLists.txt <<'END'\n{project}END\n" \
        'cmake -G Ninja -S project -B project/built -DCMAKE_PREFIX_PATH="$HOME/weft" && cmake --build project/built\n' \
        "weft run -n 4 project/built/hello"


def run_page(page, environment):
    """Runs the blocks of a page. Returns a list of booleans: whether each was right."""
    text = page.read_text(encoding="utf-8")
    results = []
    for name, _, program in EXAMPLE.findall(text):
        (FOLDER / Path(name).name).write_text(program, encoding="utf-8")
    for language, block in BLOCK.findall(text):
        shown = f"{page.name}: {block.strip().splitlines()[0]}"
        if reason := reason_to_leave_out(block):
            print(f"omitted ({reason}): {shown}")
        elif needed(block) == NEED:
            results.append(run_commands(shown, commands_of(language, block), environment))
    return results


def run_examples(environment):
    """Builds and runs each example. Returns a list of booleans: whether each printed the page's text."""
    results = []
    for page in PAGES:
        for name, printed, _ in EXAMPLE.findall(page.read_text(encoding="utf-8")):
            file = Path(name).name
            commands = f'{COMPILE[Path(name).suffix]} {file} -o example $(pkg-config --cflags --libs weft) ' \
                '-Wl,-rpath,"$HOME/weft/lib" -lm\nweft run -n 4 --nodes 2 ./example'
            results.append(run_commands(f"{page.name}: {file}", commands, environment, printed.replace("RANKS", "4")))
    return results


def main():
    FOLDER.mkdir(exist_ok=True)
    environment = environment_of_user()
    write_programs(environment)
    results = [answer for page in PAGES for answer in run_page(page, environment)]
    examples = run_examples(environment) if NEED == "none" else []
    print(f"{sum(results)} blocks right, {len(results) - sum(results)} wrong; "
          f"{sum(examples)} examples right, {len(examples) - sum(examples)} wrong")
    return 0 if results and all(results + examples) else 1


if __name__ == "__main__":
    sys.exit(main())
