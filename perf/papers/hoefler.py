# SPDX-License-Identifier: BSD-3-Clause
"""hoefler - tables and the figure of "Energy, memory, and runtime tradeoffs"."""
import itertools
from collections import namedtuple

from figure import Figure, Made
from plot import Panel, Series, drawing, log_axis

TITLE = "Hoefler and Moor: energy, memory, and runtime tradeoffs"
TREES = {"FT": "flat-tree", "KT": "kary-tree", "KT~": "kary-tree-personalised", "BT": "binomial-tree",
         "BT~": "binomial-tree-personalised", "PBT": "pipelined-binary-tree",
         "PBT~": "pipelined-binary-tree-personalised", "DT": "double-tree", "SB": "split-binary-tree"}
UNROOTED = {"DS": "direct", "BF": "butterfly", "BF~": "butterfly-personalised"}
TWICE = {"2xKT": "kary-tree", "2xKT~": "kary-tree-personalised", "2xBT": "binomial-tree",
         "2xPBT": "pipelined-binary-tree", "2xPBT~": "pipelined-binary-tree-personalised"}
PIPELINED = ("pipelined-binary-tree", "pipelined-binary-tree-personalised", "double-tree")


def fastest(weft, formula, *values):
    """Returns the number of segments (N*) with the least time, and the results for it."""
    counts = range(1, 33) if formula in PIPELINED else ("",)
    found = [(count, weft("formula", formula, *values, *((f"segments={count}",) if count else ())))
             for count in counts]
    return min(found, key=lambda one: one[1]["time"])


Row = namedtuple("Row", "algorithm ranks bytes segments time_us time_table_us dynamic_uj total_uj memory_bytes")


def table_rows(weft, formulas, twice=()):
    """Returns a row for each of the formulas, on 64 ranks with 8 bytes and with 64 KB. Algorithms in `twice` run one
    after the other."""
    rows = []
    for size, (short, formula) in itertools.product((8, 65536), formulas.items()):
        end = "_twice" if short in twice else ""
        segments, found = fastest(weft, formula, "p=64", f"bytes={size}")
        rows.append(Row(short, 64, size, segments, found[f"time{end}"], found.get(f"time_table{end}", ""),
                        found[f"dynamic{end}"], found[f"total{end}"], found[f"memory{end}"]))
    return rows


def table_1(weft, quick):
    rows = table_rows(weft, TREES)
    best = {size: min((row for row in rows if row.bytes == size and "~" not in row.algorithm),
                      key=lambda row: row.time_us).algorithm for size in (8, 65536)}
    return Made(Row._fields, rows, f"Least time of one vector to 64 ranks: {best[8]} for 8 bytes, {best[65536]} for "
                "64 KB.", shown=len(rows))


def table_2(weft, quick):
    rows = table_rows(weft, {**UNROOTED, **TWICE}, TWICE)
    return Made(Row._fields, rows, "Butterfly is the fastest non-personalised algorithm and takes more energy than two "
                "trees, as in the paper.", shown=len(rows))


def figure_5(weft, quick):
    counts = [2 ** i for i in range(2, 17, 4 if quick else 1)]
    formulas = {"kary-tree": "_twice", "binomial-tree": "_twice", "butterfly": ""}
    rows = []
    for ranks in counts:
        found = [weft("formula", formula, f"p={ranks}", "bytes=8") for formula in formulas]
        rows.append((ranks, *(one[f"{field}{end}"] for field in ("time", "total", "memory")
                              for one, end in zip(found, formulas.values()))))
    names = ("2-ary regular trees (RT)", "binomial trees (BT)", "butterfly (BF)")
    ticks = (4, 16, 64, 256, 1024, 4096, 65536)
    panels = [Panel(title, log_axis("ranks", ticks), log_axis(label),
                    [Series(name, [(row[0], row[1 + 3 * part + i]) for row in rows]) for i, name in enumerate(names)])
              for part, (title, label) in enumerate((("Time", "microseconds"), ("Energy", "microjoules"),
                                                     ("Descriptors", "bytes")))]
    crossing = next((row[0] for row in rows if row[6] > row[5]), None)
    return Made(("ranks", *(f"{field}_{name}" for field in ("us", "uj", "bytes") for name in ("rt", "bt", "bf"))), rows,
                "Butterfly has the least time everywhere, and more energy than binomial trees from "
                f"{crossing} ranks on; regular trees have the fewest descriptors above 16 ranks.",
                drawing(*panels))


def from_programs(weft, quick):
    counts = (8, 64) if quick else (8, 16, 64, 256, 1024)
    specs = {"RT": "reduce-broadcast:tree=(kary:k=2)", "BT": "reduce-broadcast", "BF": "butterfly"}
    rows = []
    for ranks in counts:
        for short, spec in specs.items():
            found = weft("cost", "allreduce", "--algorithm", spec, "--ranks", ranks, "--bytes", 8)
            formula = found.get("formula") or {}
            rows.append((short, ranks, found["time_us"], formula.get("time_us", ""), found["total_energy_uj"],
                         formula.get("total_energy_uj", ""), found["descriptor_bytes"],
                         formula.get("descriptor_bytes", "")))
    return Made(("algorithm", "ranks", "time_us", "formula_us", "total_uj", "formula_uj", "descriptor_bytes",
                 "formula_bytes"), rows, "Values counted from the programs that weft executes, beside the formulas.",
                shown=len(rows))


# Programs of trees and exchanges: the paper's name, collective, algorithm, formula. {} is the best number of segments
# (N*) by the formula.
PROGRAMS = (
    ("FT", "broadcast", "flat", "flat-tree"), ("FT~", "scatter", "flat", "flat-tree"),
    ("KT", "broadcast", "kary", "kary-tree"), ("KT~", "scatter", "kary", "kary-tree-personalised"),
    ("BT", "broadcast", "binomial", "binomial-tree"), ("BT~", "scatter", "binomial", "binomial-tree-personalised"),
    ("SB", "broadcast", "split-binary:segments=1", "split-binary-tree"),
    ("PBT", "broadcast", "pipelined-binary:segments={}", "pipelined-binary-tree"),
    ("PBT~", "scatter", "pipelined-binary:segments={}", "pipelined-binary-tree-personalised"),
    ("DT", "broadcast", "double-tree:segments={}", "double-tree"),
    ("DS~", "alltoall", "direct", "direct"), ("BF~", "allgather", "bruck", "butterfly-personalised"))
WIRE = ("--model", "loggp", "--latency-ns", "6000", "--overhead-ns", "4700", "--ns-per-byte", "0.73")


def patterns(weft, quick):
    rows = []
    for ranks, size in ((7, 8), (7, 65536)) if quick else ((7, 8), (7, 65536), (63, 8), (63, 65536)):
        for short, collective, spec, formula in PROGRAMS:
            segments, found = fastest(weft, formula, f"p={ranks}", f"bytes={size}")
            call = (collective, "--algorithm", spec.format(segments), "--ranks", ranks, "--bytes", size)
            one = weft("simulate", *call, *WIRE)["makespan_ns"] / 1000
            other = weft("simulate", *call, *WIRE, "--parallel-ends", 1)["makespan_ns"] / 1000
            energy = weft("cost", *call)["dynamic_energy_uj"]
            rows.append((short, ranks, size, segments, found["time"], found.get("time_complete", ""), one, other,
                         found["dynamic"], energy))
    return Made(("algorithm", "ranks", "bytes", "segments", "formula_us", "complete_us", "program_us",
                 "parallel_ends_us", "formula_uj", "program_uj"), rows,
                "Programs without a pipeline take the time of the formula for complete trees.", shown=len(rows))


FIGURES = (
    Figure("hoefler-table1", "Table 1: trees for rooted collectives",
           "Time, energy and descriptors of flat, k-ary, binomial, pipelined binary and double trees.",
           "The table differs from the paper's text: the time of KT lacks an o in each level, and BT has an additional "
           "factor P. `time_table` is the value by the table, `time` by the text. Pipelined trees have the best number "
           "of segments. The text's sums for KT~ and PBT~ are not those of the trees (next but one table).", table_1),
    Figure("hoefler-table2", "Table 2: unrooted collectives",
           "Direct sends, butterflies, and two trees one after the other.",
           "As for table 1.", table_2),
    Figure("hoefler-fig5", "Fig. 5: 8 bytes over the number of ranks",
           "Butterfly has the least time, binomial trees take the least energy, regular trees the least memory.",
           "Static power counts once, not for each rank. Otherwise butterflies would also take the least energy, which "
           "contradicts the paper.", figure_5),
    Figure("hoefler-patterns", "Trees and exchanges from programs",
           "The formulas of section 3.1. Pipelines charge both ends of a message at the same time.",
           "`complete_us` is the formula for complete trees, with the right sums of bytes: every child gets the blocks "
           "of its subtree. `program_us` charges a rank's sends, receptions and credits to one processor, "
           "`parallel_ends_us` charges receptions and credits to another one.", patterns),
    Figure("hoefler-fig5-programs", "Fig. 5 from programs",
           "Formulas for the three algorithms of Fig. 5.",
           "Levels of a complete binary tree are counted exactly, not as log P rounded up.", from_programs),
)
NOT_SHOWN = "Figs. 1 to 4 are drawings of trees and patterns."
