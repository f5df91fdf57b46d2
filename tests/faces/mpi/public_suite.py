#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""public_suite.py - runs the collective tests of MPICH's public suite with the layer and without it.

usage: public_suite.py openmpi|mpich FOLDER_OF_PROGRAMS SUITE [--only NAME,...] [--settings NAME=VALUE,...]

SUITE    the folder test/mpi of MPICH's source (`apt-get source mpich`), which is not changed.
Idea     Each program of coll/testlist is compiled against the MPI, and run with the MPI alone and under the layer. A
         program that passes without the layer must pass with it.
Holds    ctest does not run this: the suite is not part of this project. Exit status 1: a program fails only under the
         layer.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

DEADLINE_S = 120
RIGHT = re.compile(r"^ *No Errors", re.MULTILINE | re.IGNORECASE)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mpi", choices=("openmpi", "mpich"))
    parser.add_argument("programs", type=Path, help="folder of the layer")
    parser.add_argument("suite", type=Path)
    parser.add_argument("--only", default="", help="names of tests")
    parser.add_argument("--settings", default="", help="variables of the layer")
    return parser.parse_args()


def configured(options, folder):
    """Returns a copy of the suite, configured for the MPI."""
    copy = folder / "suite"
    shutil.copytree(options.suite, copy, symlinks=True)
    for file in copy.rglob("*"):  # generated files must not look older than their sources
        os.utime(file, (0, 0), follow_symlinks=False)
    subprocess.run(["./configure", "CC=gcc", f"MPICC=mpicc.{options.mpi}", "--disable-cxx", "--disable-fortran",
                    "--disable-spawn", "--enable-strictmpi"], cwd=copy, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return copy


def compiled(options, copy, name):
    """Compiles a test. Returns the program, or None if it does not compile with this MPI."""
    source, program = copy / "coll" / f"{name}.c", copy / "coll" / name
    utilities = [str(copy / "util" / file) for file in ("mtest.c", "mtest_common.c", "mtest_single.c")]
    done = subprocess.run([f"mpicc.{options.mpi}", "-O1", "-w", "-DHAVE_CONFIG_H", f"-I{copy}/include", str(source),
                           *utilities, "-o", str(program), "-lm", "-lpthread"], capture_output=True, check=False)
    return program if done.returncode == 0 else None


def tests_of(copy):
    """Yields name, ranks and arguments of each test in the list, except tests of MPICH's extensions."""
    for line in (copy / "coll" / "testlist").read_text().splitlines():
        words = line.split("#")[0].split()
        if len(words) >= 2 and "strict=false" not in words:
            yield words[0], int(words[1]), [word[4:] for word in words[2:] if word.startswith("arg=")]


def command(options, ranks, words, settings):
    if options.mpi == "openmpi":
        variables = [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
        return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), *variables, *words]
    variables = [word for name, value in settings.items() for word in ("-genv", name, value)]
    return ["mpiexec.mpich", "-np", str(ranks), *variables, *words]


def passes(options, ranks, words, layered):
    """Runs a test. Returns whether it passes, the number of calls that the layer served, and the output."""
    files = [options.programs / f"libweft-mpi-{options.mpi}.so"] if layered else []
    if options.mpi == "mpich" and ranks > (os.cpu_count() or 1):
        files.append(options.programs / "peer_yield_ucx.so")
    settings = {"LD_PRELOAD": ":".join(map(str, files))} if files else {}
    if layered:
        settings |= {"WEFT_MPI_STATS": "1", "WEFT_MPI_TEAM_AFTER": "0"}
        settings |= dict(pair.split("=", 1) for pair in options.settings.split(",") if pair)
    started = subprocess.Popen(command(options, ranks, words, settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    try:
        out, err = started.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        started.terminate()
        try:
            started.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
        return False, 0, f"still running after {DEADLINE_S} s"
    served = sum(int(count) for count in re.findall(r"^weft: \w+ +\d+ +(\d+) ", err, re.MULTILINE))
    return started.returncode == 0 and RIGHT.search(out) is not None, served, out + err


def main():
    options = read_arguments()
    options.programs = options.programs.resolve()
    only = set(filter(None, options.only.split(",")))
    counts = dict.fromkeys(("right", "wrong under the layer", "wrong without the layer", "not built"), 0)
    all_served = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = configured(options, Path(folder))
        for name, ranks, words in tests_of(copy):
            if only and name not in only:
                continue
            program = compiled(options, copy, name)
            if program is None:
                counts["not built"] += 1
                continue
            right, served, output = passes(options, ranks, [str(program), *words], layered=True)
            alone = right or passes(options, ranks, [str(program), *words], layered=False)[0]
            outcome = "right" if right else "wrong under the layer" if alone else "wrong without the layer"
            counts[outcome] += 1
            all_served += served
            print(f"{name}, {ranks} ranks: {outcome}, {served} calls served", flush=True)
            if outcome == "wrong under the layer":
                print(output, flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + f"; {all_served} calls served")
    return 1 if counts["wrong under the layer"] else 0


if __name__ == "__main__":
    sys.exit(main())
