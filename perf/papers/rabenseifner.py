# SPDX-License-Identifier: BSD-3-Clause
"""rabenseifner - figures of "Optimization of collective reduction operations"."""
import math
from collections import namedtuple

from figure import Figure, Made
from plot import Axis, Panel, Series, drawing, log_axis, sizes

TITLE = "Rabenseifner: optimization of collective reduction operations"
# Rounded costs of a Cray T3E 900: 10 us a message, 300 MB/s in both directions at once, reductions at 150 MB/s.
LATENCY_NS, NS_PER_BYTE, REDUCE_NS_PER_BYTE = 10000, 3.3, 6.7
ONE_WAY = 0.6  # f_alpha and f_beta: costs of one direction alone
ALGORITHMS = {"binary tree": "reduce-broadcast", "recursive doubling": "recursive-doubling",
              "halving and doubling": "halving-doubling", "binary blocks": "binary-blocks", "ring": "ring"}


def delta(ranks):
    """Returns the largest difference between consecutive exponents of the sum of powers of two that gives `ranks`."""
    exponents = [i for i in range(ranks.bit_length()) if ranks >> i & 1]
    return max((b - a for a, b in zip(exponents, exponents[1:])), default=0)


def model(one_way):
    return ("--model", "postal", "--latency-ns", round(LATENCY_NS * one_way), "--two-way-ns",
            round(LATENCY_NS * (1 - one_way)), "--ns-per-byte", round(NS_PER_BYTE * one_way, 5), "--two-way-ns-per-byte",
            round(NS_PER_BYTE * (1 - one_way), 5), "--reduce-ns-per-byte", REDUCE_NS_PER_BYTE)


def times(weft, cells, one_way=ONE_WAY):
    """Returns the microseconds by algorithm for each (ranks, bytes)."""
    commands = [("simulate", "allreduce", "--algorithm", algorithm, "--ranks", ranks, "--bytes", size, *model(one_way))
                for ranks, size in cells for algorithm in ALGORITHMS.values()]
    answers = iter(weft.all(commands))
    return [{name: next(answers)["makespan_ns"] / 1000 for name in ALGORITHMS} for _ in cells]


def best_of(found):
    """Returns the fastest algorithm; the first one of equally fast ones. On powers of two, binary blocks equal halving
    and doubling."""
    return min(found, key=lambda name: (round(found[name], 6), list(ALGORITHMS).index(name)))


def ranks_to_try(quick):
    return (4, 7, 13, 33, 64) if quick else (*range(2, 33), 33, 36, 48, 60, 61, 64, 65, 66, 80, 96, 97, 100, *range(127, 132))


def figure_4(weft, quick):
    counts = ranks_to_try(quick)
    lengths = [8 * 4 ** i for i in range(0, 9, 3 if quick else 1)]
    cells = [(ranks, size) for ranks in counts for size in lengths]
    winners = [best_of(found) for found in times(weft, cells)]
    rows = [(ranks, size, winner) for (ranks, size), winner in zip(cells, winners)]
    trees = {f: {ranks for (ranks, _), found in zip(cells, times(weft, cells, f)) if best_of(found) == "binary tree"}
             for f in ((1, ONE_WAY) if quick else (1, ONE_WAY, 0.45))}
    short = [winner for _, size, winner in rows if size <= 32]
    agree = sum(winner == "recursive doubling" for winner in short)
    rule_holds = [(winner == "binary blocks") == (delta(ranks) < math.log2(size) / 2 - 2.5)
                  for ranks, size, winner in rows if ranks > 32 and size >= 16384 and ranks & (ranks - 1)]
    return Made(("ranks", "bytes", "quickest"), rows,
                f"Up to 32 bytes recursive doubling is the fastest in {agree} of {len(short)} cells. From 16 KB and 33 "
                "ranks on, the paper prefers binary blocks if the largest difference of exponents is below lg(bytes) / "
                f"2 - 2.5. This rule agrees with the simulation in {sum(rule_holds)} of {len(rule_holds)} cells. Trees "
                "win on "
                + "; ".join(f"{', '.join(map(str, sorted(found))) if len(found) < 9 else len(found)} ranks with f = {f:g}"
                            for f, found in trees.items()) + ".",
                drawing(Panel("Quickest protocol of an allreduce", Axis("ranks"), Axis("bytes", form=sizes), [],
                              rows)))


def figure_5(weft, quick):
    counts = ranks_to_try(quick)
    found = times(weft, [(ranks, 32768) for ranks in counts])
    rows = [(ranks, *(32768 / one[name] for name in ALGORITHMS)) for ranks, one in zip(counts, found)]
    series = [Series(name, [(row[0], row[1 + i]) for row in rows], mark=i == 3) for i, name in enumerate(ALGORITHMS)]
    ring = [ranks for ranks, one in zip(counts, found) if best_of(one) == "ring"]
    halving = [ranks for ranks, one in zip(counts, found)
               if ranks > 32 and ranks & (ranks - 1) and one["halving and doubling"] < one["binary blocks"]]
    return Made(("ranks", *(f"{name} MB/s" for name in ALGORITHMS)), rows,
                f"The ring is the fastest on {', '.join(map(str, ring)) or 'no number of'} ranks. On more than 32 "
                "ranks, halving and doubling is faster than binary blocks on "
                f"{', '.join(map(str, halving)) or 'no number of'} ranks.",
                drawing(Panel("Allreduce of 32 KB", log_axis("ranks", (2, 4, 8, 16, 32, 64, 128)),
                              Axis("vector / time, MB/s"), series)))


def figures_6_to_8(weft, quick):
    counts = (4, 7, 64) if quick else (2, 4, 7, 8, 16, 31, 32, 64, 100, 128)
    lengths = [8 * 4 ** i for i in range(1, 9, 3 if quick else 1)]
    cells = [(ranks, size) for ranks in counts for size in lengths]
    Row = namedtuple("Row", "ranks bytes ratio")
    rows = []
    for cell, found in zip(cells, times(weft, cells)):
        best = min(time for name, time in found.items() if name not in ("binary tree", "recursive doubling"))
        rows.append(Row(*cell, found["binary tree"] / best))
    series = [Series(f"{ranks} ranks", [(row.bytes, row.ratio) for row in rows if row.ranks == ranks])
              for ranks in counts]
    largest = max(rows, key=lambda row: row.ratio)
    return Made(Row._fields, rows,
                f"The ratio reaches {largest.ratio:.1f} ({largest.ranks} ranks, {sizes(largest.bytes)} bytes).",
                drawing(Panel("Time of a binary tree over that of the best new protocol",
                              log_axis("bytes", (32, 512, 8192, 131072), sizes), Axis("ratio"), series)))


FIGURES = (
    Figure("rabenseifner-fig4", "Fig. 4: which protocol is the fastest",
           "Cray T3E: recursive doubling up to 32 bytes, trees or the vendor's algorithm up to 1 KB. For more bytes, "
           "the ring on some numbers of ranks below 32, and binary blocks on more ranks if the exponents of the binary "
           "form differ little.",
           "The costs are rounded values for that machine (10 us, 300 MB/s, reductions at 150 MB/s). One direction alone "
           "costs f = 0.6 of these, with f_alpha = f_beta; the paper does not print its factors.", figure_4),
    Figure("rabenseifner-fig5", "Fig. 5: bandwidth over the number of ranks, 32 KB",
           "The new protocols beat the vendor's and the tree everywhere. Halving and doubling beats binary blocks on "
           "33, 65, 66, 97, 128 to 131 ranks; the ring wins on 3, 5, 7, 9 to 11 and 17.",
           "Costs are rounded. In the postal model, exponents that differ much slow binary blocks less than on the "
           "T3E.", figure_5),
    Figure("rabenseifner-fig6-8", "Figs. 6 to 8: gain over older algorithms",
           "1.5 to 5 times on an IBM SP, 3 to 7 times over the old MPICH on Myrinet, up to 100 times for MAXLOC "
           "because of slow derived types.",
           "The ratio compares with MPICH's old binary tree; vendors' libraries are not available. In weft MAXLOC is as "
           "fast as SUM.", figures_6_to_8),
)
NOT_SHOWN = "Figs. 1 to 3 are drawings. [Measured](measured.md): protocols, MAXLOC and MPICH."
