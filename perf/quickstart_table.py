#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""quickstart_table.py - schedules of an 8-byte allreduce: what they cost on paper and what they take here.

Idea     Rounds and messages come from the verifier, times from the real ranks, both for the same
         specs. One launch measures all schedules of a layout, so they share the machine's noise.
Holds    Nothing is shown that was not verified, and no time whose result was not checked.

usage: quickstart_table.py WEFT
"""
import sys

sys.dont_write_bytecode = True

from comparing.jobs import Broken, run_json, run_script, weft_run  # noqa: E402

BYTES = 8
SECONDS_PER_LAUNCH = 120  # a bound; on an idle machine a launch takes three
SCHEDULES = {
    8: ["a2,a2,a2", "a2,a4", "a8", "c8m2,a2,a2,e8m2", "m2g3a2,n2g2a3"],
    4: ["a2,a2", "a4", "c4m2,a2,e4m2"],
}
LAYOUTS = [(4, 1), (4, 4), (8, 1), (8, 4)]  # ranks, nodes
SECONDS_PER_ROW = 0.4


def run(command):
    """The JSON object that a weft command prints; its stderr goes straight to ours."""
    return run_json(command, SECONDS_PER_LAUNCH + 10, stderr=None)


def layout_of(ranks, nodes):
    """Ranks of each node as `weft run --nodes` deals them: in blocks, the first nodes get the extra ones."""
    return ",".join(str(ranks // nodes + (node < ranks % nodes)) for node in range(nodes))


def verify(weft, spec, ranks, nodes):
    """Facts about the programs as the run executes them: what node-mates read from each other is sent once."""
    facts = run([weft, "verify", "allreduce", "--algorithm", spec, "--ranks", str(ranks),
                 "--layout", layout_of(ranks, nodes), "--bytes", str(BYTES), "--json"])
    if not facts["valid"]:
        raise Broken(f"{spec} on {ranks} ranks: {facts['error']}")
    return facts


def measure(weft, specs, ranks, nodes):
    """Results by spec, and the calibrator of that launch in ns."""
    algorithms = [word for spec in specs for word in ("--algorithm", spec)]
    answer = run(weft_run(weft, ranks, nodes if nodes > 1 else 0, weft, "bench", "allreduce", "--bytes", str(BYTES),
                          *algorithms, "--seconds", str(SECONDS_PER_ROW), "--json"))
    results = {result["algorithm"]: result for result in answer["results"]}
    for spec in specs:
        if spec not in results:
            raise Broken(f"no result for {spec} on {ranks} ranks, {nodes} node(s)")
        if not results[spec]["checked"]:
            raise Broken(f"wrong result of {spec} on {ranks} ranks, {nodes} node(s)")
    return results, answer["calibrator_ns"]


ROW = "{:>5} {:>6}  {:<18} {:>6} {:>9} {:>9} {:>10}"


def print_layout(weft, ranks, nodes):
    specs = SCHEDULES[ranks]
    facts = {spec: verify(weft, spec, ranks, nodes) for spec in specs}
    results, calibrator = measure(weft, specs, ranks, nodes)
    for spec in specs:
        print(ROW.format(ranks, nodes, spec, facts[spec]["rounds"], facts[spec]["messages"],
                         f"{results[spec]['min_us']:.2f}", f"{results[spec]['median_us']:.2f}"))
    print(f"{'':>14}one cache line between two cores took {calibrator:.0f} ns meanwhile\n", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: quickstart_table.py WEFT")
    print(f"allreduce of {BYTES} bytes, sum of double; time of a call on the slowest rank, averaged over\nbatches of calls\n")
    print(ROW.format("ranks", "nodes", "schedule", "rounds", "messages", "min us", "median us"))
    for layout in LAYOUTS:
        print_layout(sys.argv[1], *layout)
    print("Nodes are virtual: parts of this machine that reach each other over libfabric only.\n"
          "Ranks that outnumber cores take turns, which costs more than the messages; compare\n"
          "schedules within one block, and blocks only if their cache-line times are close.")
    return 0


if __name__ == "__main__":
    sys.exit(min(1, run_script("perf/quickstart", main)))
