# SPDX-License-Identifier: BSD-3-Clause
"""rounds - cells, the order of the launches, and the rows of the result.

Idea     A round measures the calibrator, each side once, and the calibrator again. Medians over rounds are the result.
         A round is flagged if calibrators or other load show that the machine changed. Times of the sides never
         affect a flag.
Next     docs/performance.md, "perf/compare".
"""

import statistics
import time

from comparing.jobs import CannotRun, InvalidArguments, OtherLoad, report, run_json

WITHOUT_BYTES = ("barrier",)
CALIBRATOR_FACTOR = 1.5  # a larger ratio of a round's calibrators flags the round
FOREIGN_LIMIT = 0.1  # processors used by other programs; a larger value flags the round


class Cell:
    """One launch of a side: all sizes of one collective on a number of ranks."""

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

    def file_name(self):
        return f"{self.collective}-{self.ranks}" + (f"-{self.nodes}" if self.nodes > 0 else "") + ".json"


def make_cells(options):
    """Returns a cell for each collective and each shape of a job (numbers of ranks and of nodes)."""
    shapes = [(ranks, nodes) for ranks, nodes in options.shapes if nodes <= ranks]
    for ranks, nodes in options.shapes:
        if nodes > ranks:
            report(f"skipped: {ranks} ranks cannot have {nodes} nodes")
    if not shapes:
        raise InvalidArguments("--nodes: no number of ranks is large enough")
    return [Cell(collective, ranks, nodes, options.bytes)
            for collective in options.collectives for ranks, nodes in shapes]


class Allowance:
    """Time limit of all cells together. Each cell gets an equal share of the remaining time. Disturbed rounds are
    repeated until the share is over; the wanted number of rounds always runs."""

    def __init__(self, minutes, cells):
        self.end = time.monotonic() + 60 * minutes
        self.cells = cells
        self.share_end = self.end
        self.failed_before = set()  # sides left out of an earlier cell: their first failed launch is not repeated

    def begin_cell(self):
        now = time.monotonic()
        self.share_end = now + max(0.0, self.end - now) / self.cells
        self.cells -= 1

    def has_time(self):
        return time.monotonic() < self.share_end


def times_by_size(side, cell, timeout):
    """Runs one side once. Returns {bytes: (median in us, result was right)}."""
    found = run_json(side.command(cell), timeout)
    times = {result["bytes"]: (result["median_us"], result["checked"]) for result in found["results"]}
    for size in cell.sizes:
        if size not in times:
            raise CannotRun(f"{side.name} printed no result for {cell} at {size} bytes")
    return times


def reasons_of_flag(before_ns, after_ns, foreign):
    """Returns the reasons for flagging a round: calibrator, load, both or none. foreign: load of other programs."""
    reasons = []
    if None in (before_ns, after_ns) or max(before_ns, after_ns) > CALIBRATOR_FACTOR * min(before_ns, after_ns):
        reasons.append("calibrator")
    if foreign > FOREIGN_LIMIT:
        reasons.append("load")
    return reasons


def undisturbed(rounds):
    return [entry for entry in rounds if not entry["flagged"]]


def counted_rounds(rounds, minimum):
    """Returns the undisturbed rounds if there are enough of them, else all rounds."""
    undisturbed_rounds = undisturbed(rounds)
    return undisturbed_rounds if len(undisturbed_rounds) >= minimum else rounds


def launch(side, cell, options, failures, tries):
    """Returns the times of one launch, as times_by_size(). Launches up to `tries` times; None if all launches fail."""
    for _ in range(tries):
        try:
            return times_by_size(side, cell, options.timeout)
        except CannotRun as error:
            failures.append(f"{side.name}: {error}")
            report(f"{cell}: a launch has failed: {side.name}: {error}")
    report(f"{cell}: {side.name} is left out")
    return None


def make_round(cell, sides, options, left_out, failures, failed_before):
    """Returns the times of each side, with None for sides that are left out."""
    times = []
    for side in sides:
        tries = 1 if side.name in failed_before else 2
        found = None if side.name in left_out else launch(side, cell, options, failures, tries)
        if found is None:
            left_out.add(side.name)
            failed_before.add(side.name)
        times.append(found)
    return times


def calibrate(calibrator):
    """Returns the calibrator's time in ns; None if it failed, as on a very busy machine."""
    try:
        return calibrator.measure_ns()
    except CannotRun as error:
        report(f"calibrator: {error}")
        return None


def describe_ns(time_ns):
    return "none" if time_ns is None else f"{time_ns:.0f}"


def describe_progress(cell, sides, entry):
    first = cell.sizes[0]
    return (", ".join(f"{side.name} {found[first][0]:.3f} us" for side, found in zip(sides, entry["times"]) if found)
            + f" (calibrator {describe_ns(entry['before_ns'])}, {describe_ns(entry['after_ns'])} ns; "
            + f"others {entry['foreign']:.2f} processors)"
            + (f" FLAGGED: {', '.join(entry['flagged'])}" if entry["flagged"] else ""))


def measure_cell(cell, sides, calibrator, options, allowance):
    """Measures all rounds of a cell. Returns a list of rounds (calibrators, other load, reasons of a flag, times of
    each side by size) and a list of failures.

    A flagged round is repeated, up to twice the wanted number of rounds. A side is left out of the cell after two
    failed launches in a round; after one failed launch if an earlier cell left it out.
    """
    allowance.begin_cell()
    rounds, left_out, failures = [], set(), []
    before_ns = calibrate(calibrator)
    while len(undisturbed(rounds)) < options.rounds and len(rounds) < 2 * options.rounds:
        if len(rounds) >= options.rounds and not allowance.has_time():
            report(f"{cell}: no time left for disturbed rounds")
            break
        other_load = OtherLoad()
        times = make_round(cell, sides, options, left_out, failures, allowance.failed_before)
        foreign = other_load.processors()
        after_ns = calibrate(calibrator)
        rounds.append({"before_ns": before_ns, "after_ns": after_ns, "foreign": foreign, "times": times,
                       "flagged": reasons_of_flag(before_ns, after_ns, foreign)})
        report(f"{cell}: round {len(rounds)} ({options.rounds} wanted): "
               + describe_progress(cell, sides, rounds[-1]))
        if not any(times):
            break
        before_ns = after_ns
    return rounds, failures


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def spread(values):
    """Returns half the distance of the quartiles, relative to the median; None without values."""
    if not values:
        return None
    low, high = quartiles(values)
    return (high - low) / 2 / statistics.median(values)


def median_or_none(values):
    return statistics.median(values) if values else None


def describe_round(entry, size, names):
    times = {f"{name}_us": found[size][0] for name, found in zip(names, entry["times"]) if found}
    return {**times, "calibrator_before_ns": entry["before_ns"], "calibrator_after_ns": entry["after_ns"],
            "foreign_processors": round(entry["foreign"], 3), "flagged": entry["flagged"]}


def times_of(rounds, side, size):
    """Returns the times of a side in all rounds; empty if it failed in one of them."""
    times = [entry["times"][side] for entry in rounds]
    return [found[size][0] for found in times] if times and all(times) else []


def compare_sides(weft_times, peer_times):
    """Returns the ratio of the medians, and the median and quartiles of the ratios of single rounds."""
    if not weft_times or not peer_times:
        return dict.fromkeys(("ratio", "ratio_paired", "ratio_low", "ratio_high"))
    paired = [weft_us / peer_us for weft_us, peer_us in zip(weft_times, peer_times)]
    low, high = quartiles(paired)
    return {"ratio": statistics.median(weft_times) / statistics.median(peer_times),
            "ratio_paired": statistics.median(paired), "ratio_low": low, "ratio_high": high}


def make_row(cell, size, rounds, peers, options, failures=()):
    """Returns a row of the results, for one size. A round has weft's times, then the times of `peers`."""
    used = counted_rounds(rounds, options.rounds)
    weft_times = times_of(used, 0, size)
    by_peer = {peer: times_of(used, 1 + place, size) for place, peer in enumerate(peers)}
    medians = {peer: median_or_none(times) for peer, times in by_peer.items()}
    best = min((peer for peer in peers if by_peer[peer]), key=medians.get, default=None)
    peer_times = by_peer.get(best, [])
    compared = compare_sides(weft_times, peer_times)
    return {
        "collective": cell.collective,
        "ranks": cell.ranks,
        "nodes": max(cell.nodes, 1),
        "bytes": size,
        "weft_us": median_or_none(weft_times),
        "openmpi_us": medians.get("openmpi"),
        "mpich_us": medians.get("mpich"),
        "copy_us": medians.get("copy"),
        "peers_us": medians,
        "ratio": compared.pop("ratio"),
        "loop": options.loop,
        "buffers": options.buffers,
        "best_peer": best,
        **compared,
        "weft_spread": spread(weft_times),
        "peer_spread": spread(peer_times),
        "checked": all(side[size][1] for entry in rounds for side in entry["times"] if side),
        "calibrator_ns": median_or_none([value for entry in used for value in (entry["before_ns"], entry["after_ns"])
                                         if value is not None]),
        "flagged_rounds": len(rounds) - len(undisturbed(rounds)),
        "flagged_counted": any(entry["flagged"] for entry in used),
        "failures": list(failures),
        "rounds": [describe_round(entry, size, ["weft", *peers]) for entry in rounds],
    }


HEADER = (f"{'collective':<15}{'ranks':>6}{'nodes':>6}{'bytes':>9}{'weft_us':>11}{'openmpi_us':>12}{'mpich_us':>12}"
          f"{'ratio':>8}{'paired':>8}{'quartiles':>15}{'spread':>14}{'cal_ns':>8}{'flagged':>9}  best")


def format_number(value, width, digits):
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"


def format_share(value):
    return "-" if value is None else f"{100 * value:.0f}%"


def format_row(row):
    quartiles_text = "-" if row["ratio_low"] is None else f"{row['ratio_low']:.2f}..{row['ratio_high']:.2f}"
    spreads = f"{format_share(row['weft_spread'])} / {format_share(row['peer_spread'])}"
    flags = f"{row['flagged_rounds']}/{len(row['rounds'])}"
    return (f"{row['collective']:<15}{row['ranks']:>6}{row['nodes']:>6}{row['bytes']:>9}"
            f"{format_number(row['weft_us'], 11, 3)}{format_number(row['openmpi_us'], 12, 3)}"
            f"{format_number(row['mpich_us'], 12, 3)}{format_number(row['ratio'], 8, 2)}"
            f"{format_number(row['ratio_paired'], 8, 2)}{quartiles_text:>15}{spreads:>14}"
            f"{format_number(row['calibrator_ns'], 8, 0)}{flags:>9}  {row['best_peer'] or '-'}"
            + ("  DISTURBED" if row["flagged_counted"] else "") + ("  FAILED" if row["failures"] else "")
            + ("" if row["checked"] else "  WRONG RESULT"))
