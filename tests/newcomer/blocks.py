#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""blocks.py - every block of commands of README and guide, as it stands there, by a shell in one folder.

usage: blocks.py SOURCES none|openmpi|mpich

Idea     The examples of a page are written to files of their names before its blocks run, as a reader would; ./program is
         a program of the kind that the page is about. First all blocks that need no MPI library run, then, where one is
         installed, those that need it.
Holds    weft is installed in ~/weft, where the pages have it. A block that is left out is named with the reason, and
         each block of each page is either run or left out.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCES, MPI = Path(sys.argv[1]), sys.argv[2]
PREFIX = Path.home() / "weft"
FOLDER = Path.home() / "weft-blocks"
FIRST = (SOURCES / "README.md", SOURCES / "docs/guide/programming.md")  # these build what other pages run
PAGES = (*FIRST, *sorted({*(SOURCES / "docs/guide").glob("*.md")} - {*FIRST}), SOURCES / "docs/shmem.md")
EXAMPLE = re.compile(r"<!-- example: (\S+?)[ ,].*?-->\n```(?:c|cpp)\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = (("tests/run", "a step of its own"), ("cmake --preset release", "perf/quickstart has built, in build/ci"),
             ("srun", "tests/slurm/run starts a Slurm"))
NEEDS = (("mpiexec.mpich", "mpich"), ("mpirun", "openmpi"))
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
DEADLINE_S = 600


def needed(block):
    """The MPI library that the commands of a block need; a comment needs nothing."""
    commands = re.sub(r"#.*", "", block)
    return next((mpi for word, mpi in NEEDS if word in commands), "none")


def reason_to_leave_out(block):
    commands = re.sub(r"#.*", "", block)
    return next((reason for word, reason in ELSEWHERE if word in commands), None)


def write_programs(environment):
    """What stands for the reader's own programs: ./program.c, ./program, and the hosts of a job of 64 ranks."""
    (FOLDER / "program.c").write_text(PROGRAM_OF_SHMEM, encoding="utf-8")
    (FOLDER / "hosts").write_text("localhost slots=64\n", encoding="utf-8")
    if MPI == "none":
        build = 'cc program.c -o program $(pkg-config --cflags --libs weft-shmem) -Wl,-rpath,"$HOME/weft/lib"'
    else:
        (FOLDER / "mpi.c").write_text(PROGRAM_OF_MPI, encoding="utf-8")
        build = f"mpicc.{MPI} mpi.c -o program"
    subprocess.run(["bash", "-euc", build], cwd=FOLDER, env=environment, check=True)


def run_block(page, block, environment):
    """Whether it ended with status 0."""
    shown = block.strip().splitlines()[0]
    done = subprocess.run(["bash", "-euc", block], cwd=FOLDER, env=environment, capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False, stdin=subprocess.DEVNULL)
    print(f"{'right' if done.returncode == 0 else 'WRONG'}: {page.name}: {shown}")
    if done.returncode != 0:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="")
    return done.returncode == 0


def main():
    FOLDER.mkdir(exist_ok=True)
    environment = {"HOME": str(Path.home()), "PATH": f"{PREFIX}/bin:{os.environ['PATH']}",
                   "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig"}
    if MPI == "openmpi":  # Open MPI asks for these where root starts jobs
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    write_programs(environment)
    right = wrong = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name, program in EXAMPLE.findall(text):
            (FOLDER / Path(name).name).write_text(program, encoding="utf-8")
        for block in BLOCK.findall(text):
            if reason := reason_to_leave_out(block):
                print(f"left out ({reason}): {page.name}: {block.strip().splitlines()[0]}")
            elif needed(block) == MPI:
                went = run_block(page, block, environment)
                right, wrong = right + went, wrong + (not went)
    print(f"{right} blocks right, {wrong} wrong")
    return 1 if wrong or not right else 0


if __name__ == "__main__":
    sys.exit(main())
