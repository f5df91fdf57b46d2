# SPDX-License-Identifier: BSD-3-Clause
"""kolmakov - figures of "A generalization of the allreduce operation"."""
from collections import namedtuple

from figure import Figure, Made
from plot import Axis, Panel, Series, drawing, log_axis, sizes

TITLE = "Kolmakov and Zhang: a generalization of the allreduce operation"
MODEL = ("--model", "postal", "--latency-ns", 10000, "--ns-per-byte", 1, "--reduce-ns-per-byte", 0.2)


def simulated(weft, cells):
    """Returns the microseconds for each (algorithm, ranks, bytes)."""
    answers = weft.all([("simulate", "allreduce", "--algorithm", algorithm, "--ranks", ranks, "--bytes", size, *MODEL)
                        for algorithm, ranks, size in cells])
    return [answer["makespan_ns"] / 1000 for answer in answers]


def generalized(ranks):
    """Returns a spec for each r, the number of steps that the algorithm leaves out."""
    return [f"generalized:r={r}" for r in range((ranks - 1).bit_length() + 1)]


OTHERS = {"ring": "ring", "recursive halving": "halving-doubling", "recursive doubling": "recursive-doubling"}


def over_r(weft, quick):
    names = [*generalized(127), "recursive-doubling", "ring"]
    rows = list(zip(names, simulated(weft, [(name, 127, 9144) for name in names])))
    *by_r, doubling, _ = (us for _, us in rows)
    formula = weft("formula", "cyclic", "p=127", "bytes=9144")
    series = [Series("generalized", list(enumerate(by_r))),
              Series("recursive doubling", [(0, doubling), (7, doubling)], mark=False)]
    return Made(("algorithm", "us"), rows,
                f"Best with r = {by_r.index(min(by_r))}; equation 37 gives {formula['r_optimal']:.2f}.",
                drawing(Panel("127 ranks, 9144 bytes", Axis("r, steps left out"), Axis("microseconds"), series)),
                shown=len(rows))


def ratios(weft, quick):
    Row = namedtuple("Row", "ranks bytes best_of_others ratio")
    counts = (7, 127) if quick else (3, 5, 7, 8, 15, 16, 23, 31, 32, 63, 64, 100, 127)
    lengths = [64 * 8 ** i for i in range(0, 6, 2 if quick else 1)]
    rows = []
    for ranks in counts:
        for size in lengths:
            size -= size % 8
            ours = min(simulated(weft, [(name, ranks, size) for name in generalized(ranks)]))
            theirs = dict(zip(OTHERS, simulated(weft, [(name, ranks, size) for name in OTHERS.values()])))
            best = min(theirs, key=theirs.get)
            rows.append(Row(ranks, size, best, theirs[best] / ours))
    series = [Series(f"{sizes(size)} bytes", [(row.ranks, row.ratio) for row in rows if row.bytes == size])
              for size in lengths]
    faster = sum(row.ratio > 1.001 for row in rows)
    largest = max(rows, key=lambda row: row.ratio)
    return Made(Row._fields, rows,
                f"Faster than the best of the three in {faster} of {len(rows)} cells, by a factor of at most "
                f"{largest.ratio:.2f} ({largest.ranks} ranks, {sizes(largest.bytes)} bytes); the least factor is "
                f"{min(row.ratio for row in rows):.2f}.",
                drawing(Panel("Best of ring, halving and doubling over the proposed one",
                              log_axis("ranks", (3, 7, 15, 31, 63, 127)), Axis("ratio"), series)))


def over_sizes(weft, quick):
    Row = namedtuple("Row", "bytes best_r best_us r_by_formula by_formula_us bandwidth_optimal_us latency_optimal_us "
                     "ring_us recursive_halving_us recursive_doubling_us")
    rows = []
    for size in (128 * 2 ** i for i in range(0, 17, 5 if quick else 1)):
        by_r = simulated(weft, [(name, 127, size) for name in generalized(127)])
        best_r = by_r.index(min(by_r))
        formula_r = min(max(round(weft("formula", "cyclic", "p=127", f"bytes={size}")["r_optimal"]), 0), 6)
        rows.append(Row(size, best_r, by_r[best_r], formula_r, by_r[formula_r], by_r[0], by_r[-1],
                        *simulated(weft, [(name, 127, size) for name in OTHERS.values()])))
    lines = {"proposed, best r": "best_us", "proposed, r by equation 37": "by_formula_us",
             "bandwidth-optimal (r = 0)": "bandwidth_optimal_us", "latency-optimal": "latency_optimal_us",
             **dict(zip(OTHERS, Row._fields[-3:]))}
    ticks = (128, 1024, 8192, 65536, 524288, 4194304)

    def panel(title, low, high):
        chosen = [row for row in rows if low <= row.bytes <= high]
        return Panel(title, log_axis("bytes", tuple(tick for tick in ticks if low <= tick <= high), sizes),
                     log_axis("microseconds"), [Series(name, [(row.bytes, getattr(row, column)) for row in chosen])
                                                  for name, column in lines.items()])

    close = sum(row.by_formula_us <= 1.02 * row.best_us for row in rows)
    return Made(Row._fields, rows,
                f"The r of equation 37 is within 2 % of the best r for {close} of {len(rows)} sizes.",
                drawing(panel("127 ranks, few bytes", 128, 16384), panel("127 ranks, many bytes", 8192, 1 << 23)))


def over_ranks(weft, quick):
    Row = namedtuple("Row", "bytes ranks best_us latency_optimal_us recursive_halving_us recursive_doubling_us")
    counts = (15, 16, 17, 127, 128) if quick else range(2, 161)
    others = ("halving-doubling", "recursive-doubling")
    rows = []
    for size in (424, 9216):
        for ranks in counts:
            by_r = simulated(weft, [(name, ranks, size) for name in generalized(ranks)])
            rows.append(Row(size, ranks, min(by_r), by_r[-1],
                            *simulated(weft, [(name, ranks, size) for name in others])))
    names = ("proposed, best r", "latency-optimal", "recursive halving", "recursive doubling")
    panels = [Panel(f"{size} bytes", Axis("ranks"), Axis("microseconds"),
                    [Series(name, [(row.ranks, getattr(row, column)) for row in rows if row.bytes == size], mark=False)
                     for column, name in zip(Row._fields[2:], names)]) for size in (424, 9216)]
    wins = [sum(row.best_us < min(row.recursive_halving_us, row.recursive_doubling_us) * 0.999
                for row in rows if row.bytes == size) for size in (424, 9216)]
    return Made(Row._fields, rows,
                "Faster than recursive halving and doubling on "
                f"{wins[0]} of {len(counts)} numbers of ranks with 424 bytes, on {wins[1]} with 9 KB.",
                drawing(*panels))


FIGURES = (
    Figure("kolmakov-r", "The number of steps, 127 ranks and 9144 bytes",
           "Equation 36 has a minimum between the bandwidth-optimal and the latency-optimal version; equation 37 "
           "gives its r.",
           "The costs of the paper's cluster are unknown. All figures assume 10 us a message, 1 ns a byte and 0.2 ns "
           "a reduced byte.", over_r),
    Figure("kolmakov-fig1", "Fig. 1: gain over the best of the others",
           "Least time of ring, recursive halving and recursive doubling, divided by the time of the proposed "
           "algorithm.",
           "On powers of two the proposed algorithm gains only with an r between the extremes. With many bytes it "
           "moves as many bytes as the ring.", ratios),
    Figure("kolmakov-fig7-10", "Figs. 7 to 10: over the size, 127 ranks",
           "The proposed algorithm is faster than recursive halving, more so for larger data. For very large data the "
           "ring is faster, because of caches.",
           "The model has no caches, so the ring is never faster here.", over_sizes),
    Figure("kolmakov-fig11-12", "Figs. 11 and 12: over the number of ranks",
           "With 425 bytes the latency-optimal version is best; with 9 KB the proposed version with the best r is "
           "also best on powers of two.",
           "Blocks are whole doubles, so 424 bytes replace 425. In the postal model recursive doubling also grows in "
           "steps.", over_ranks),
)
NOT_SHOWN = ("Figs. 2 to 6 are drawings: `weft show allreduce --algorithm generalized --ranks 7` prints the "
             "schedules.")
