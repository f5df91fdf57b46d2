# SPDX-License-Identifier: BSD-3-Clause
"""network - jobs whose ranks are in network namespaces, with a fixed delay of every packet between them; schedules.

Holds    networks() needs root, and removes namespaces, interfaces and programs at its end.
Next     ../delayed/wire.cpp delays the packets.
"""
import contextlib
import os
import subprocess
import sys
from pathlib import Path


def stop(text, status=3):
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr)
    sys.exit(status)


def run(command):
    done = subprocess.run([str(word) for word in command], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        stop(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def networks(folder, count, delay):
    """Creates namespaces with a delay of `delay` microseconds between them. Yields the prefix of their names."""
    prefix = f"weft{os.getpid()}-"
    names = [f"{prefix}{number}" for number in range(count)]
    wire = None
    try:
        for name in names:
            run(("ip", "netns", "add", name))
        wire = subprocess.Popen([folder / "delayed_wire", prefix, str(count), str(delay)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        if wire.stdout.readline() != "up\n":
            stop("the network could not be created")
        for number, name in enumerate(names):
            run(("ip", "-n", name, "link", "set", "lo", "up"))
            run(("ip", "-n", name, "addr", "add", f"10.83.0.{number + 1}/24", "dev", "delayed"))
            run(("ip", "-n", name, "link", "set", "delayed", "mtu", 65000, "up"))
        yield prefix
    finally:
        if wire:
            wire.stdin.close()
            wire.wait()
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def job(folder, prefix, ranks, *command, provider="tcp;ofi_rxm"):
    """Returns the command of a job of weft with each rank in its own network. Rank 0 prints the output."""
    weft = folder / "weft"
    return (weft, "run", "-n", ranks, "--nodes", ranks, "-x", f"LD_PRELOAD={folder / 'weft_in_network.so'}", "-x",
            f"IN_NETWORK={prefix}", "-x", f"WEFT_PROVIDER={provider}", "--", weft, *command)


def factorisations_of(ranks):
    """Returns the factorisations of `ranks`, smaller factors first."""
    found = []

    def divide(left, least, chosen):
        if left == 1:
            found.append(chosen)
        for factor in range(least, left + 1):
            if left % factor == 0:
                divide(left // factor, factor, [*chosen, factor])

    divide(ranks, 2, [])
    return found


def schedules_of(ranks):
    """Returns recursive doubling, then the other schedules in which all ranks take part in every stage."""
    doubling = ["recursive-doubling"] * (ranks & (ranks - 1) != 0)  # on powers of two: the first factorisation
    return doubling + [",".join(f"a{factor}" for factor in factors) for factors in factorisations_of(ranks)]


def doubling_of(ranks):
    return schedules_of(ranks)[0]


def line_through(points):
    """Fits rounds * a + messages * b = time, by least squares of relative errors. `points`: (rounds, messages, time).
    Returns (a, b)."""
    rows = [(rounds / time, messages / time) for rounds, messages, time in points]
    aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(row[0] for row in rows), sum(row[1] for row in rows)
    scale = aa * bb - ab * ab
    return (a * bb - b * ab) / scale, (b * aa - a * ab) / scale
