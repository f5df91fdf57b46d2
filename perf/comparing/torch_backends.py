# SPDX-License-Identifier: BSD-3-Clause
"""torch_backends - perf/compare --torch: torch.distributed with the backends weft and gloo, on CPUs.

Idea     In each round, each backend runs once under `weft run`, with one program (peer/torch_bench.py) that times all
         cells of a shape. So a launch, which imports torch, is not repeated for each cell.
Holds    Between virtual nodes both backends use the loopback interface.
"""

import argparse
import json
import pathlib
import statistics

from comparing.arguments import SUFFIXES, read_names, read_shapes
from comparing.jobs import BIN, CannotRun, report, require, run_json
from comparing.machine import describe_machine
from comparing.page import format_bytes

BENCH = str(pathlib.Path(__file__).resolve().parent.parent / "peer/torch_bench.py")
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "broadcast", "alltoall")
BACKENDS = ("weft", "gloo")


def read_size(text):
    number, factor = text.rstrip("KMGkmg"), SUFFIXES.get(text[-1:].upper(), 1)
    require(number.isdigit() and int(number) * factor % 64 == 0, f'--bytes: "{text}" is not a size; expected a multiple of '
            "64 bytes such as 4K or 1M")
    return int(number) * factor


def read_arguments(arguments):
    parser = argparse.ArgumentParser(prog="perf/compare --torch", description="compares torch.distributed's backends "
                                     "weft and gloo on CPUs, with float32")
    parser.add_argument("--collectives", default=",".join(COLLECTIVES), metavar="LIST", help=f"of {', '.join(COLLECTIVES)}")
    parser.add_argument("--ranks", default="2,4,4/2", metavar="LIST", help="default 2,4,4/2; 4/2: 4 ranks on 2 virtual nodes")
    parser.add_argument("--bytes", default="4K,16K,64K,256K,1M,4M,16M,64M", metavar="LIST",
                        help="bytes of a rank's larger buffer (default 4K,16K,64K,256K,1M,4M,16M,64M)")
    parser.add_argument("--nodes", default="0", metavar="LIST", help="virtual nodes; 0 (the default): one real node")
    parser.add_argument("--rounds", type=int, default=5, metavar="R", help="launches of each backend (default 5)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S", help="time for a cell (default 0.2)")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="limit for one launch")
    parser.add_argument("--limit", type=float, metavar="RATIO", help="status 1 if a geometric mean is larger")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--bin", default=BIN, metavar="FOLDER", help="folder of weft (default build/release/bin)")
    parser.add_argument("--python", default="/usr/bin/python3", metavar="PROGRAM", help="interpreter with torch")
    options = parser.parse_args(arguments)
    options.collectives = read_names("--collectives", options.collectives, COLLECTIVES)
    options.bytes = [read_size(part) for part in options.bytes.split(",")]
    options.shapes = read_shapes(options.ranks, options.nodes)
    require(options.rounds >= 1, f"--rounds: {options.rounds} is not 1 or more")
    require(options.seconds > 0, f"--seconds: {options.seconds:g} is not a number above 0")
    return options


def launch(options, backend, ranks, nodes):
    command = [f"{options.bin}/weft", "run", "-n", str(ranks), *(["--nodes", str(nodes)] if nodes else []), "--",
               options.python, "-B", BENCH, backend, ",".join(options.collectives),
               ",".join(map(str, options.bytes)), str(options.seconds), "ddp"]
    environment = {"PYTHONPATH": f"{options.bin}/python3/dist-packages", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return run_json(command, options.timeout, environment)


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else None


def measure_shape(options, ranks, nodes):
    """Returns the rows of a shape, the row of the DDP step, and the version of torch."""
    rounds = {backend: [] for backend in BACKENDS}
    for number in range(options.rounds):
        for backend in BACKENDS if number % 2 == 0 else BACKENDS[::-1]:
            report(f"{ranks} ranks, {max(nodes, 1)} nodes, round {number + 1} of {options.rounds}: {backend}")
            rounds[backend].append(launch(options, backend, ranks, nodes))
    place = {"ranks": ranks, "nodes": max(nodes, 1)}

    def row(pairs, **more):
        weft, gloo = (statistics.median(side) for side in zip(*pairs))
        return {**place, **more, "weft_us": weft, "gloo_us": gloo, "ratio": weft / gloo,
                "ratio_paired": statistics.median(ours / theirs for ours, theirs in pairs)}
    rows = []
    for index, cell in enumerate(rounds["weft"][0]["cells"]):
        found = [(ours["cells"][index], theirs["cells"][index]) for ours, theirs in zip(rounds["weft"], rounds["gloo"])]
        rows.append(row([(ours["us"], theirs["us"]) for ours, theirs in found], collective=cell["collective"],
                        bytes=cell["bytes"], checked=all(side["checked"] for pair in found for side in pair)))
    step = row([(ours["ddp_us"], theirs["ddp_us"]) for ours, theirs in zip(rounds["weft"], rounds["gloo"])])
    return rows, step, rounds["weft"][0]["torch"]


def markdown(found):
    """Returns the tables of docs/performance.md."""
    sizes = list(dict.fromkeys(row["bytes"] for row in found["rows"]))
    lines = ["| collective | ranks/nodes | " + " | ".join(map(format_bytes, sizes)) + " |", "|---" * (len(sizes) + 2) + "|"]
    cells = {(row["collective"], row["ranks"], row["nodes"], row["bytes"]): row for row in found["rows"]}
    for collective, ranks, nodes in dict.fromkeys(key[:3] for key in cells):
        values = [cells[collective, ranks, nodes, size] for size in sizes]
        texts = [f"{row['weft_us']:.0f} ({row['ratio']:.2f})" for row in values]
        lines.append(f"| {collective} | {ranks}/{nodes} | " + " | ".join(texts) + " |")
    lines += ["", "| ranks/nodes | geometric mean | largest ratio | DDP step, weft us | DDP step, gloo us |", "|---|---|---|---|---|"]
    for mean, step in zip(found["means"], found["ddp"]):
        lines.append(f"| {mean['ranks']}/{mean['nodes']} | {mean['mean']:.2f} | {mean['largest']:.2f} | {step['weft_us']:.0f} "
                     f"| {step['gloo_us']:.0f} |")
    return "\n".join(lines)


def compare_backends(arguments):
    options = read_arguments(arguments)
    if not pathlib.Path(options.bin, "weft").exists():
        raise CannotRun(f"{options.bin}/weft does not exist; build it, or pass --bin")
    found = {"machine": describe_machine([]), "rows": [], "ddp": [], "means": []}
    for ranks, nodes in options.shapes:
        rows, step, found["torch"] = measure_shape(options, ranks, nodes)
        found["rows"] += rows
        found["ddp"].append(step)
        ratios = [row["ratio"] for row in rows]
        found["means"].append({"ranks": ranks, "nodes": max(nodes, 1), "mean": geometric_mean(ratios), "largest": max(ratios)})
    print(json.dumps(found) if options.json else markdown(found))
    wrong = [row for row in found["rows"] if not row["checked"]]
    for row in wrong:
        report(f"{row['collective']}, {row['ranks']} ranks, {row['bytes']} bytes: a backend gave a wrong result")
    slow = options.limit is not None and any(mean["mean"] > options.limit for mean in found["means"])
    return 1 if wrong or slow else 0
