# SPDX-License-Identifier: BSD-3-Clause
"""rounds - cells, the order in which sides run, and the rows that come out.

Idea     A round is: calibrator, each side once, calibrator. Medians over rounds are what counts; flags say
         which rounds the machine has spoilt, and look at the machine only, never at the times.
Next     docs/measuring.md, "perf/compare".
"""

import statistics
import sys

from comparing.jobs import Broken, Onlookers, Unusable, run_json

WITHOUT_BYTES = ("barrier",)
CALIBRATOR_FACTOR = 1.5
FOREIGN_LIMIT = 0.1  # processors


def report(text):
    print(text, file=sys.stderr, flush=True)


class Cell:
    """What one launch of a side measures: all sizes of one collective on some ranks."""

    def __init__(self, collective, ranks, nodes, sizes):
        self.collective = collective
        self.ranks = ranks
        self.nodes = nodes
        self.sizes = [0] if collective in WITHOUT_BYTES else sizes

    def bytes_text(self):
        return ",".join(str(size) for size in self.sizes)

    def __str__(self):
        place = f", {self.nodes} virtual nodes" if self.nodes > 0 else ""
        return f"{self.collective}, {self.ranks} ranks{place}"


def make_cells(options):
    cells = []
    for nodes in options.nodes:
        for collective in options.collectives:
            for ranks in options.ranks:
                if nodes > ranks:
                    report(f"skipped: {collective} with {ranks} ranks cannot have {nodes} nodes")
                    continue
                cells.append(Cell(collective, ranks, nodes, options.bytes))
    if not cells:
        raise Unusable("--nodes: no number of ranks is large enough")
    return cells


def times_by_size(side, cell, timeout):
    """Runs one side once: {bytes: (median in us, result was right)}."""
    found = run_json(side.command(cell), timeout)
    times = {result["bytes"]: (result["median_us"], result["checked"]) for result in found["results"]}
    for size in cell.sizes:
        if size not in times:
            raise Broken(f"{side.name} printed no result for {cell} at {size} bytes")
    return times


def why_flagged(before_ns, after_ns, foreign):
    """What disturbed a round: a list of words."""
    reasons = []
    if max(before_ns, after_ns) > CALIBRATOR_FACTOR * min(before_ns, after_ns):
        reasons.append("calibrator")
    if foreign > FOREIGN_LIMIT:
        reasons.append("load")
    return reasons


def undisturbed(rounds):
    return [entry for entry in rounds if not entry["flagged"]]


def counted(rounds, wanted):
    """The rounds that count: the undisturbed ones if there are enough of them, else all."""
    quiet = undisturbed(rounds)
    return quiet if len(quiet) >= wanted else rounds


def measure_cell(cell, sides, calibrator, options):
    """All rounds of a cell: a list of {calibrators, foreign load, reasons, times of all sides by size}.

    A flagged round is made again, but no more than twice the wanted number of rounds is made.
    """
    rounds = []
    before_ns = calibrator.measure_ns()
    while len(undisturbed(rounds)) < options.rounds and len(rounds) < 2 * options.rounds:
        onlookers = Onlookers()
        times = [times_by_size(side, cell, options.timeout) for side in sides]
        foreign = onlookers.processors()
        after_ns = calibrator.measure_ns()
        reasons = why_flagged(before_ns, after_ns, foreign)
        rounds.append({"before_ns": before_ns, "after_ns": after_ns, "foreign": foreign, "flagged": reasons,
                       "times": times})
        first = cell.sizes[0]
        report(f"{cell}: round {len(rounds)} ({options.rounds} wanted): "
               + ", ".join(f"{side.name} {found[first][0]:.3f} us" for side, found in zip(sides, times))
               + f" (calibrator {before_ns:.0f}, {after_ns:.0f} ns; others {foreign:.2f} processors)"
               + (f" FLAGGED: {', '.join(reasons)}" if reasons else ""))
        before_ns = after_ns
    return rounds


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def spread(values):
    """Half the distance of the quartiles, relative to the median."""
    low, high = quartiles(values)
    return (high - low) / 2 / statistics.median(values)


def describe_round(entry, size, names):
    times = {f"{name}_us": found[size][0] for name, found in zip(names, entry["times"])}
    return {**times, "calibrator_before_ns": entry["before_ns"], "calibrator_after_ns": entry["after_ns"],
            "foreign_processors": round(entry["foreign"], 3), "flagged": entry["flagged"]}


def make_row(cell, size, rounds, peers, options):
    """One line of the table. The times of a round are weft's, then those of the peers, in their order."""
    used = counted(rounds, options.rounds)
    times = [[entry["times"][side][size][0] for entry in used] for side in range(1 + len(peers))]
    ours, medians = times[0], dict(zip(peers, map(statistics.median, times[1:])))
    best = min(medians, key=medians.get)
    theirs = times[1 + peers.index(best)]
    paired = [one / other for one, other in zip(ours, theirs)]
    low, high = quartiles(paired)
    return {
        "collective": cell.collective,
        "ranks": cell.ranks,
        "nodes": max(cell.nodes, 1),
        "bytes": size,
        "weft_us": statistics.median(ours),
        "openmpi_us": medians.get("openmpi"),
        "mpich_us": medians.get("mpich"),
        "ratio": statistics.median(ours) / medians[best],
        "loop": options.loop,
        "best_peer": best,
        "ratio_paired": statistics.median(paired),
        "ratio_low": low,
        "ratio_high": high,
        "weft_spread": spread(ours),
        "peer_spread": spread(theirs),
        "checked": all(side[size][1] for entry in rounds for side in entry["times"]),
        "calibrator_ns": statistics.median(value for entry in used
                                           for value in (entry["before_ns"], entry["after_ns"])),
        "flagged_rounds": len(rounds) - len(undisturbed(rounds)),
        "flagged_counted": any(entry["flagged"] for entry in used),
        "rounds": [describe_round(entry, size, ["weft", *peers]) for entry in rounds],
    }


HEADER = (f"{'collective':<11}{'ranks':>6}{'nodes':>6}{'bytes':>9}{'weft_us':>11}{'openmpi_us':>12}{'mpich_us':>12}"
          f"{'ratio':>8}{'paired':>8}{'quartiles':>15}{'spread':>14}{'cal_ns':>8}{'flagged':>9}")


def format_us(value, width):
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.3f}"


def format_row(row):
    quarter = f"{row['ratio_low']:.2f}..{row['ratio_high']:.2f}"
    spreads = f"{100 * row['weft_spread']:.0f}% / {100 * row['peer_spread']:.0f}%"
    flags = f"{row['flagged_rounds']}/{len(row['rounds'])}"
    return (f"{row['collective']:<11}{row['ranks']:>6}{row['nodes']:>6}{row['bytes']:>9}{row['weft_us']:>11.3f}"
            f"{format_us(row['openmpi_us'], 12)}{format_us(row['mpich_us'], 12)}{row['ratio']:>8.2f}"
            f"{row['ratio_paired']:>8.2f}{quarter:>15}{spreads:>14}{row['calibrator_ns']:>8.0f}{flags:>9}"
            + ("  DISTURBED" if row["flagged_counted"] else "") + ("" if row["checked"] else "  WRONG RESULT"))
