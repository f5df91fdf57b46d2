# SPDX-License-Identifier: BSD-3-Clause
"""arguments - the options of perf/compare, and named sets of cells."""

import argparse
import math
import pathlib
import re

from comparing.jobs import BIN, OTHERS, PEERS, require
from comparing.variants import IN_ROOT, TUNED


def read_collectives():
    """Returns the collectives of weft/types.hpp, except those with a count for each block: the peers lack them."""
    header = pathlib.Path(__file__).resolve().parent.parent.parent / "include/weft/types.hpp"
    names = re.search(r"enum class Collective[^{]*\{([^}]*)\}", header.read_text(encoding="utf-8"))[1]
    return tuple(name for name in re.findall(r"\w+", names) if not name.endswith("v"))


COLLECTIVES = read_collectives()
ROUNDS_MIN = 9
SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

SECONDS_MIN = 0.03  # minimum default time for one size

# Defaults. All sizes of a launch share `seconds`. FULL takes about ten minutes on two idle processors: 189 launches of
# each side.
DEFAULTS = {"collectives": "barrier,allreduce", "ranks": "2,4,8,16", "bytes": "8", "seconds": 0.2, "timeout": 120.0,
            "minutes": 24 * 60.0}
QUICK = {**DEFAULTS, "ranks": "2,4", "seconds": 0.05}
FULL = {**DEFAULTS, "collectives": "barrier,broadcast,allreduce", "ranks": "2,4,8,16,4/4,8/4,8/8",
        "bytes": "8,64,512,4K,32K,256K,1M", "timeout": 30.0, "minutes": 15.0}


def read_size(text):
    factor = SUFFIXES.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    require(digits.isascii() and digits.isdigit(), f'--bytes: "{text}" is not a size; expected bytes such as 8, 64K or 1M')
    value = int(digits) * factor
    require(value % 8 == 0, f"--bytes: {value} is not a multiple of 8, the size of a double")
    return value


def read_counts(name, text, minimum):
    counts = []
    for part in text.split(","):
        require(part.isascii() and part.isdigit() and int(part) >= minimum,
                f'{name}: "{part}" is not a whole number of {minimum} or more')
        counts.append(int(part))
    return counts


def read_shapes(ranks, nodes):
    """Returns pairs of ranks and nodes. 8/4 gives both; 8 is combined with each value of --nodes."""
    without_nodes = [part for part in ranks.split(",") if "/" not in part]
    counts = read_counts("--ranks", ",".join(without_nodes), 1) if without_nodes else []
    shapes = [(count, node_count) for node_count in read_counts("--nodes", nodes, 0) for count in counts]
    for part in ranks.split(","):
        if "/" in part:
            shapes.append((*read_counts("--ranks", part.split("/", 1)[0], 1),
                           *read_counts("--ranks", part.split("/", 1)[1], 1)))
    return list(dict.fromkeys(shapes))


def read_names(option, text, known):
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        require(name in known, f'{option}: "{name}" is unknown; expected some of {", ".join(known)}')
    return names


def read_peers(text, root):
    in_root = list(IN_ROOT) if root else []
    require(root is None or pathlib.Path(root, "usr").is_dir(), f"--root: {root} has no folder usr")
    if text is None:
        return [*PEERS, *(name for name in in_root if name.removeprefix("root-") in PEERS)]
    if text == "all":
        return [*PEERS, *TUNED, *in_root]
    names = read_names("--peers", text, (*PEERS, *OTHERS, *TUNED, *IN_ROOT))
    require(root or not any(name in IN_ROOT for name in names), "--peers: libraries of another root need --root FOLDER")
    return names


def declare_cells(parser):
    parser.add_argument("--torch", action="store_true",
                        help="compare torch.distributed's backends weft and gloo instead; see --torch --help")
    parser.add_argument("--quick", action="store_true", help="2 and 4 ranks, short batches")
    parser.add_argument("--full", action="store_true",
                        help=f"the cells of docs/performance.md: {FULL['collectives']} of {FULL['bytes']} bytes, "
                             f"{FULL['ranks']} ranks (10 to {FULL['minutes']:g} minutes)")
    parser.add_argument("--collectives", metavar="LIST",
                        help=f"some of {', '.join(COLLECTIVES)} (default {DEFAULTS['collectives']})")
    parser.add_argument("--ranks", metavar="LIST",
                        help=f"default {DEFAULTS['ranks']}; with --quick {QUICK['ranks']}; 8/4 means 8 ranks on 4 virtual nodes")
    parser.add_argument("--bytes", metavar="LIST", help=f"such as 8,64K,1M (default {DEFAULTS['bytes']})")
    parser.add_argument("--nodes", default="0", metavar="LIST",
                        help="virtual nodes; 0 (the default): one real node")
    parser.add_argument("--peers", metavar="LIST",
                        help="libraries to compare with, if installed: some of openmpi, mpich; with tuned settings "
                             f"{', '.join(TUNED)}; copy: weft with WEFT_DIRECT=copy; root-NAME: the library in --root; "
                             "all: every library (default openmpi,mpich, with --root also root-openmpi,root-mpich)")
    parser.add_argument("--root", metavar="FOLDER",
                        help="root folder of another Debian release with Open MPI and MPICH, which takes part as "
                             "root-openmpi and root-mpich; only for the superuser")


def declare_measuring(parser):
    parser.add_argument("--rounds", type=int, default=ROUNDS_MIN, metavar="R",
                        help=f"launches of each side per cell, {ROUNDS_MIN} or more")
    parser.add_argument("--loop", default="back-to-back", choices=("back-to-back", "separated"),
                        help="how calls follow each other, as in weft bench (default back-to-back)")
    parser.add_argument("--buffers", default="reused", choices=("reused", "fresh"),
                        help="one buffer for all calls, or a new one for each call")
    parser.add_argument("--seconds", type=float, metavar="S",
                        help="seconds for which a side measures each size "
                             f"(default {DEFAULTS['seconds']}, with --quick {QUICK['seconds']}, divided by the number of sizes, "
                             f"at least {SECONDS_MIN})")
    parser.add_argument("--minutes", type=float, metavar="M",
                        help="minutes after which disturbed rounds are not repeated "
                             f"(default: no limit; with --full {FULL['minutes']:g})")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help=f"limit for one launch (default {DEFAULTS['timeout']:g}; with --full {FULL['timeout']:g})")
    parser.add_argument("--repeat", type=int, default=1, metavar="N",
                        help="runs, one after the other; prints the differences of their ratios")
    parser.add_argument("--self-test", action="store_true", help="compares the peer with itself")
    parser.add_argument("--mpi", choices=tuple(PEERS),
                        help="the program of this MPI on both sides; our side has the layer of docs/guide/mpi-backing.md, "
                             "with WEFT_MPI from the environment")


def declare_results(parser):
    parser.add_argument("--limit", type=float, metavar="RATIO", help="status 1 if any ratio is larger (default: none)")
    parser.add_argument("--against", metavar="FILE",
                        help="a compare.json of another run: prints the differences of the ratios")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--results", metavar="FOLDER",
                        help="also write compare.json, table.md and a plot for each collective (Matplotlib); cells of "
                             "an interrupted run are not measured again")
    parser.add_argument("--bin", default=BIN, metavar="FOLDER",
                        help="folder of weft, the peers and ping_pong (default build/release/bin)")
    parser.add_argument("--mpirun", default="mpirun.openmpi", metavar="PROGRAM", help="Open MPI's launcher")
    parser.add_argument("--mpiexec", default="mpiexec.mpich", metavar="PROGRAM", help="MPICH's launcher")


def fill_in(options):
    """Sets the options that were not given from the chosen set of cells."""
    require(not (options.quick and options.full), "--quick and --full exclude each other")
    defaults = FULL if options.full else QUICK if options.quick else DEFAULTS
    for name in ("collectives", "ranks", "bytes", "timeout", "minutes"):
        if getattr(options, name) is None:
            setattr(options, name, defaults[name])
    options.bytes = [read_size(part) for part in options.bytes.split(",")]
    if options.seconds is None:
        options.seconds = max(SECONDS_MIN, round(defaults["seconds"] / len(options.bytes), 3))


def check(options):
    require(options.rounds >= ROUNDS_MIN,
            f"--rounds: {options.rounds} is fewer than {ROUNDS_MIN}, too few for a reliable median")
    require(options.limit is None or 0 < options.limit < math.inf,
            f"--limit: {options.limit} is not a ratio; expected a number above 0 such as 1.0")
    require(1e-3 <= options.seconds <= 3600, f"--seconds: {options.seconds:g} is not from 0.001 to 3600")
    for name in ("minutes", "timeout"):
        require(0 < getattr(options, name) < math.inf, f"--{name}: {getattr(options, name):g} is not a number above 0")
    require(not (options.self_test and options.mpi), "--self-test and --mpi exclude each other")
    require(options.repeat >= 1, f"--repeat: {options.repeat} is not 1 or more")
    require(options.against is None or options.repeat == 1,
            "--against and --repeat exclude each other: results are compared with one other run")


def read_arguments(arguments, summary):
    parser = argparse.ArgumentParser(prog="perf/compare", description=summary)
    for declare in (declare_cells, declare_measuring, declare_results):
        declare(parser)
    options = parser.parse_args(arguments)
    fill_in(options)
    check(options)
    options.collectives = read_names("--collectives", options.collectives, COLLECTIVES)
    options.peers = read_peers(options.peers, options.root)
    options.root = options.root and str(pathlib.Path(options.root).resolve())
    options.shapes = read_shapes(options.ranks, options.nodes)
    return options
