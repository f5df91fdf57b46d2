#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""applications.py - MPI applications of Debian give equal answers with the layer and without it.

usage: applications.py openmpi|mpich FOLDER_OF_PROGRAMS [--only NAME,...]

Idea     Each application runs twice on an input given here. The lines of output with its answer must be equal, or nearly
         so if it draws random numbers, and the layer must have served calls.
Holds    ctest does not run this: only this script needs the packages (scalapack-mpi-test, nwchem-openmpi, nwchem-mpich,
         hpcc, mpb-mpi, mocassin). Applications that are not installed are left out. Exit status 1: an answer differs, or
         the layer served no call.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DEADLINE_S = 300
SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack")
# xdllt is left out: it reads uninitialized stack memory and can hang, even without the layer.
SOLVERS = ("xdlu", "xdqr", "xdinv")

WATER = """start water
geometry units angstrom
  O  0.0  0.0      0.1173
  H  0.0  0.7572  -0.4692
  H  0.0 -0.7572  -0.4692
end
basis
  * library 6-31g*
end
task scf gradient
dft
  xc b3lyp
end
task dft
task mp2
"""

HPCC = """HPLinpack benchmark input file
HPC Challenge
HPL.out
8            device out
1            # of problems sizes (N)
400          Ns
1            # of NBs
40           NBs
0            PMAP process mapping
1            # of process grids (P x Q)
2            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs
1            # of recursive stopping criterium
4            NBMINs
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs
1            # of broadcast
1            BCASTs
1            # of lookahead depth
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1 in
0            U  in
1            Equilibration
8            memory alignment in double
##### This line is ignored
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


# Photonic bands of a triangular lattice of rods.
BANDS = """(set! geometry-lattice (make lattice (size 1 1 no-size)
  (basis1 (/ (sqrt 3) 2) 0.5) (basis2 (/ (sqrt 3) 2) -0.5)))
(set! geometry (list (make cylinder (center 0 0 0) (radius 0.2) (height infinity)
  (material (make dielectric (epsilon 12))))))
(set! k-points (interpolate 2 (list (vector3 0 0 0) (vector3 0 0.5 0) (vector3 (/ -3) (/ 3) 0) (vector3 0 0 0))))
(set! resolution 16)
(set! num-bands 6)
(run-tm)
(run-te)
"""

# A nebula of hydrogen around a star of 40,000 K (the HII40 of the Lexington workshops, on few cells).
NEBULA = """convLimit 0.05
nPhotons 100000
maxIterateMC 2 95.
nebComposition 'input/abundances.in'
Hdensity 100.
LStar 308.2
TStellar 40000.
contShape blackbody
edges 1.46e19 1.46e19 1.46e19
nx 7
ny 7
nz 7
Rin 3.e18
Rout 1.46e19
symmetricXYZ
TeStart 7000.
nbins 600
nuMax 15.
nuMin 1.001e-5
output
"""
ABUNDANCES = {1: 1, 2: 0.1, 6: 2.2e-4, 7: 4e-5, 8: 3.3e-4, 10: 5e-5, 16: 9e-6}  # by atomic number; hydrogen is 1


class Application:
    """A program, its input by file name, and a pattern of its answer. `tolerance`: relative, for its numbers."""

    def __init__(self, name, program, ranks, answer, inputs=(), output=None, words=(), tolerance=0.0):
        self.name, self.program, self.ranks, self.words = name, shutil.which(program), ranks, list(words)
        self.answer = re.compile(answer, re.MULTILINE)
        self.inputs, self.output, self.tolerance = dict(inputs), output, tolerance

    def equal(self, one, other):
        """Returns true if two answers are equal within the tolerance."""
        if self.tolerance == 0 or one is None or other is None or len(one) != len(other):
            return one == other
        return all(abs(float(a) - float(b)) <= self.tolerance * abs(float(a)) for a, b in zip(one, other))


def applications(mpi):
    tables = SCALAPACK / f"{mpi}-tests"
    data = {file.name: file.read_text() for file in tables.glob("*.dat")}
    for solver in SOLVERS:  # each checks its results by residuals
        yield Application(f"scalapack {solver}", str(tables / solver), 4, r"tests completed.*|tests skipped.*", data)
    # Seven decimals: later decimals depend on the order of additions, which varies from run to run.
    yield Application("nwchem", f"nwchem.{mpi}", 2, r"Total (?:SCF|DFT|MP2) energy\D+[-]?\d+\.\d{7}",
                      {"water.nw": WATER}, words=["water.nw"])
    if mpi == "mpich":  # mocassin seeds its random numbers by the clock
        elements = "".join(f"{ABUNDANCES.get(number, 0)}\n" for number in range(1, 31))
        files = {"input/input.in": NEBULA, "input/abundances.in": elements, "output/none": ""}
        yield Application("mocassin", "mocassin", 2, r"(?<=T\(H\+\))\s+([\d.]+)(?=\s+component\s+0)", files,
                          output="output/summary.out", tolerance=0.02)
    if mpi == "openmpi":
        yield Application("mpb", "mpb-mpi", 2, r"^t[em]freqs:.*", {"bands.ctl": BANDS}, words=["bands.ctl"])
        yield Application("hpcc", "hpcc", 4, r"Ax-b.*\.\.\. PASSED|^Found 0 errors.*|^MPIRandomAccess.*Errors=.*|^Success=.*",
                          {"hpccinf.txt": HPCC}, output="hpccoutf.txt")


def command(mpi, programs, application, layered):
    files = [programs / f"libweft-mpi-{mpi}.so"] if layered else []
    if mpi == "mpich" and application.ranks > (os.cpu_count() or 1):
        files.append(programs / "peer_yield_ucx.so")
    settings = {"WEFT_MPI_STATS": "1", **({"LD_PRELOAD": ":".join(map(str, files))} if files else {})}
    start = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}[mpi]
    for name, value in settings.items():
        start += ["-x", f"{name}={value}"] if mpi == "openmpi" else ["-genv", name, value]
    return [*start, "-np", str(application.ranks), application.program, *application.words]


def run(mpi, programs, application, layered):
    """Runs the application. Returns its answer and its standard error; the answer is None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in application.inputs.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(text)
        try:
            done = subprocess.run(command(mpi, programs, application, layered), cwd=folder, capture_output=True, text=True,
                                  timeout=DEADLINE_S, check=False)
        except subprocess.TimeoutExpired:
            return None, f"still running after {DEADLINE_S} s"
        if done.returncode != 0:
            return None, done.stdout[-2000:] + done.stderr[-2000:]
        text = (Path(folder) / application.output).read_text() if application.output else done.stdout
        return sorted(application.answer.findall(text)), done.stderr


def compare(mpi, programs, application):
    """Runs without and with the layer, and prints the result. Returns false if the layer changed the answer."""
    expected, complaint = run(mpi, programs, application, layered=False)
    if not expected:
        print(f"{application.name}: fails even without the layer\n{complaint}", flush=True)
        return True
    layered, errors = run(mpi, programs, application, layered=True)
    served = sum(int(count) for count in re.findall(r"^weft: \w+ +\d+ +(\d+) ", errors, re.MULTILINE))
    right = application.equal(expected, layered) and served > 0
    print(f"{application.name}: {'equal answer' if right else f'WRONG: {expected} became {layered}'}, {served} calls served",
          flush=True)
    table = "".join(line for line in errors.splitlines(True) if line.startswith("weft:"))
    print(table if right else errors, flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mpi", choices=("openmpi", "mpich"))
    parser.add_argument("programs", type=Path, help="folder of the layer")
    parser.add_argument("--only", default="", help="names of applications")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    right = [compare(options.mpi, options.programs.resolve(), one) for one in applications(options.mpi)
             if one.program and (not only or one.name in only)]
    return 0 if right and all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
