#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""quickstart_table.py - schedules of an 8-byte allreduce: rounds, messages, and times on this machine.

Idea     The verifier counts rounds and messages; jobs with the same specs measure the times. One launch measures all
         schedules of a layout, so changes of the machine affect all of them.
Holds    Only verified schedules are shown, and only times with a checked result.

usage: quickstart_table.py FOLDER        folder of the programs weft and, optionally, peer_openmpi
"""
import os
import sys
import types

sys.dont_write_bytecode = True

from comparing.jobs import CannotRun, OpenMpi, OtherLoad, processors, run_json, run_script, weft_run  # noqa: E402

BYTES = 8
SECONDS_PER_LAUNCH = 120  # limit; on an idle machine a launch takes three seconds
SCHEDULES = {
    8: ["a2,a2,a2", "a2,a4", "a8", "c8m2,a2,a2,e8m2", "m2g3a2,n2g2a3"],
    4: ["a2,a2", "a4", "c4m2,a2,e4m2"],
}
LAYOUTS = [(4, 1), (4, 4), (8, 1), (8, 4)]  # ranks, nodes
SECONDS_PER_ROW = 0.4


def run(command):
    """Returns the JSON object that a weft command prints; its stderr is not captured."""
    return run_json(command, SECONDS_PER_LAUNCH + 10, stderr=None)


def layout_of(ranks, nodes):
    """Returns the ranks of each node as `weft run --nodes` places them: in blocks, larger nodes first."""
    return ",".join(str(ranks // nodes + (node < ranks % nodes)) for node in range(nodes))


def verify(weft, spec, ranks, nodes):
    """Returns the facts of `weft verify`, with this layout. Data that local peers read in place counts as one message."""
    facts = run([weft, "verify", "allreduce", "--algorithm", spec, "--ranks", str(ranks),
                 "--layout", layout_of(ranks, nodes), "--bytes", str(BYTES), "--json"])
    if not facts["valid"]:
        raise CannotRun(f"{spec} on {ranks} ranks: {facts['error']}")
    return facts


def measure(weft, specs, ranks, nodes):
    """Returns the results by spec, and the time of a cache line in ns during the launch."""
    algorithms = [word for spec in specs for word in ("--algorithm", spec)]
    answer = run(weft_run(weft, ranks, nodes if nodes > 1 else 0, weft, "bench", "allreduce", "--bytes", str(BYTES),
                          *algorithms, "--seconds", str(SECONDS_PER_ROW), "--json"))
    results = {result["algorithm"]: result for result in answer["results"]}
    for spec in specs:
        if spec not in results:
            raise CannotRun(f"no result for {spec} on {ranks} ranks, {nodes} node(s)")
        if not results[spec]["checked"]:
            raise CannotRun(f"wrong result of {spec} on {ranks} ranks, {nodes} node(s)")
    return results, answer["calibrator_ns"]


ROW = "{:>5} {:>6}  {:<18} {:>6} {:>9} {:>9} {:>10} {}"
BUSY = 0.2  # processors used by other programs; above this value the times are unreliable


class Cell(types.SimpleNamespace):
    """A cell, as the sides of comparing.jobs expect it."""

    def bytes_text(self):
        return str(self.bytes)


def measure_open_mpi(folder, ranks, nodes):
    """Returns the times of Open MPI's allreduce, or None without it. Virtual nodes use TCP."""
    options = types.SimpleNamespace(mpirun="mpirun.openmpi", bin=folder, buffers="reused", loop="back-to-back",
                                    seconds=SECONDS_PER_ROW)
    peer = OpenMpi(options)
    # Open MPI has no virtual nodes: either all of its ranks use TCP, or none does.
    if peer.missing() or nodes not in (1, ranks):
        return None
    cell = Cell(ranks=ranks, nodes=0 if nodes == 1 else nodes, collective="allreduce", bytes=BYTES)
    try:
        return run_json(peer.command(cell), SECONDS_PER_LAUNCH)["results"][0]
    except (CannotRun, KeyError, IndexError):
        return None


def print_row(ranks, nodes, name, counts, result, mark):
    print(ROW.format(ranks, nodes, name, *counts, f"{result['min_us']:.2f}", f"{result['median_us']:.2f}",
                     mark).rstrip())


def print_layout(folder, ranks, nodes):
    weft = f"{folder}/weft"
    specs = SCHEDULES[ranks]
    facts = {spec: verify(weft, spec, ranks, nodes) for spec in specs}
    results, calibrator = measure(weft, specs, ranks, nodes)
    best = min(specs, key=lambda spec: results[spec]["median_us"])
    for spec in specs:
        print_row(ranks, nodes, spec, (facts[spec]["rounds"], facts[spec]["messages"]), results[spec],
                  "<- best" if spec == best else "")
    peer = measure_open_mpi(folder, ranks, nodes)
    if peer:
        ratio = peer["median_us"] / results[best]["median_us"]
        print_row(ranks, nodes, "Open MPI", ("", ""), peer, f"{ratio:.2f} times the best schedule's time")
    print(f"{'':>14}one cache line between two cores took {calibrator:.0f} ns meanwhile\n", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: quickstart_table.py FOLDER")
    print(f"allreduce of {BYTES} bytes, sum of double; time of a call on the slowest rank, as the mean of\na batch of calls\n")
    print(ROW.format("ranks", "nodes", "schedule", "rounds", "messages", "min us", "median us", "").rstrip())
    others = OtherLoad()
    for layout in LAYOUTS:
        print_layout(sys.argv[1], *layout)
    busy = others.processors()
    if busy > BUSY:
        print(f"This machine was busy: other programs used {busy:.1f} of its {processors()} processors meanwhile (load "
              f"{os.getloadavg()[0]:.1f}).\nThe times are too high; run perf/quickstart again when it is idle.\n")
    print("Nodes are virtual: parts of this machine that communicate only over libfabric.\n"
          "Ranks that outnumber cores take turns, which costs more than the messages. Compare\n"
          "schedules within one block, and blocks only if their cache-line times are close.")
    return 0


if __name__ == "__main__":
    sys.exit(min(1, run_script("perf/quickstart", main)))
