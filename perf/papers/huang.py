# SPDX-License-Identifier: BSD-3-Clause
"""huang - figures of "PiP-MColl: Process-in-Process-based multi-object collectives"."""
import math
import re
from collections import namedtuple

from figure import Figure, Made, PUBLISHED
from plot import Axis, Panel, Series, drawing, log_axis, sizes

TITLE = "Huang et al.: PiP-MColl"
PER_NODE = 18  # ranks of a node
COLLECTIVES = ("scatter", "allgather", "allreduce")
KINDS = ("multi-object", "single-object", "flat")  # see kind_of()
COLUMNS = ("collective", "nodes", "bytes", *(f"{kind}_us" for kind in KINDS), *KINDS)
Call = namedtuple("Call", "collective nodes bytes best")  # best: {kind: Timed}, the fastest algorithm of each kind
Timed = namedtuple("Timed", "algorithm us")


def kind_of(algorithm):
    """Returns the kind of an algorithm. multi-object: several ranks of a node use the network; single-object: one rank
    of each node does; flat: nodes are ignored; fitted: like single-object, with a schedule of stages between nodes that
    fits their costs, which the paper's libraries do not have."""
    if algorithm.startswith("multi-object"):
        return "multi-object"
    if not algorithm.startswith("hierarchical"):
        return "flat"
    return "fitted" if re.search(r"net=\(a\d", algorithm) else "single-object"


def predicted(weft, cells):
    """Returns a Call for each (collective, nodes, bytes). Long allreduces are simulated, because their predictions
    follow only a few ranks of large teams."""
    answers = weft.all([("explain", collective, "--ranks", nodes * PER_NODE, "--nodes", nodes, "--hosts", nodes,
                         "--processors", PER_NODE, "--bytes", size, "--params", PUBLISHED / "huang_machine.txt",
                         "--type", "int32")
                        for collective, nodes, size in cells])
    calls = [Call(*cell, {}) for cell in cells]
    for call, answer in zip(calls, answers):
        for candidate in answer["candidates"]:  # the fastest is first
            call.best.setdefault(kind_of(candidate["algorithm"]),
                                 Timed(candidate["algorithm"], candidate["predicted_us"]))
    long = [(call, algorithm) for call in calls if call.collective == "allreduce" and call.bytes >= 32768
            for algorithm in sorted({*(timed.algorithm for timed in call.best.values()), "multi-object-large"})]
    answers = weft.all([("simulate", "allreduce", "--algorithm", algorithm, "--ranks", call.nodes * PER_NODE, "--layout",
                         f"{PER_NODE}x{call.nodes}", "--bytes", call.bytes, "--params", PUBLISHED / "huang_machine.txt",
                         "--type", "int32") for call, algorithm in long])
    simulated = [(call, Timed(algorithm, answer["makespan_ns"] / 1000))
                 for (call, algorithm), answer in zip(long, answers)]
    for call, timed in sorted(simulated, key=lambda one: -one[1].us):  # the fastest of a kind is last, and stays
        call.best[kind_of(timed.algorithm)] = timed
    return calls


def rows_of(calls):
    return [(*call[:3], *(call.best[kind].us for kind in KINDS), *(call.best[kind].algorithm for kind in KINDS))
            for call in calls]


def panels_over(calls, variable, axis, title):
    """Returns a panel for each collective. `variable`: nodes or bytes; `axis` has the ticks of all panels."""
    panels = []
    for collective in COLLECTIVES:
        points = [(getattr(call, variable), call.best) for call in calls if call.collective == collective]
        ticks = tuple(tick for tick in axis.ticks if points[0][0] <= tick <= points[-1][0])
        panels.append(Panel(f"{collective}: {title}", Axis(axis.label, axis.log, ticks, axis.form),
                            log_axis("microseconds"),
                            [Series(kind, [(x, best[kind].us) for x, best in points]) for kind in KINDS]))
    return panels


def gain(call, kind):
    """Returns the time of the best algorithm of a kind, divided by the time of the best multi-object algorithm."""
    return call.best[kind].us / call.best["multi-object"].us


def gains(calls):
    texts = []
    for collective in COLLECTIVES:
        ratios = [gain(call, "single-object") for call in calls if call.collective == collective]
        texts.append(f"{collective} {min(ratios):.1f} to {max(ratios):.1f}")
    return "Single-object time divided by multi-object time: " + ", ".join(texts) + "."


def figures_6_to_8(weft, quick):
    counts = (4, 32) if quick else (2, 4, 8, 16, 32, 64, 128)
    calls = predicted(weft, [(collective, nodes, size) for size in (16, 1024) for collective in COLLECTIVES
                             for nodes in counts])
    small = [call for call in calls if call.bytes == 16]
    axis = log_axis("nodes of 18 ranks", counts)
    return Made(COLUMNS, rows_of(calls), "With 16 bytes. " + gains(small),
                drawing(*panels_over(small, "nodes", axis, "16 bytes, over nodes")))


def over_sizes(weft, quick, lengths_of, words):
    nodes = 16 if quick else 128
    calls = predicted(weft, [(collective, nodes, size) for collective in COLLECTIVES
                             for size in lengths_of(collective)[::3 if quick else 1]])
    switches = []
    for collective in ("allgather", "allreduce"):
        names = [(call.bytes, call.best["multi-object"].algorithm.partition(":")[0])
                 for call in calls if call.collective == collective]
        switches += [f"{collective} from {before} to {after} at {sizes(size)}"
                     for (_, before), (size, after) in zip(names, names[1:]) if before != after]
    ticks = (16, 64, 256, 1024, 8192, 65536, 524288, 4194304)
    return Made(COLUMNS, rows_of(calls), gains(calls) + (f" Switches: {'; '.join(switches)}." if switches else ""),
                drawing(*panels_over(calls, "bytes", log_axis("bytes", ticks, sizes), f"{nodes} nodes, {words}")))


def figures_9_to_11(weft, quick):
    return over_sizes(weft, quick, lambda _: [16 * 2 ** i for i in range(7)], "few bytes")


def figures_12_to_14(weft, quick):
    """1 kB to 512 kB; allreduce 1k to 512k doubles."""
    return over_sizes(weft, quick, lambda collective: [(8192 if collective == "allreduce" else 1024) * 2 ** i
                                                       for i in range(10)], "many bytes")


# Speed-ups that section IV states, over the fastest library: collective, bytes, the paper's value.
STATED = (("scatter", 256, "1.65"), ("scatter", 1024, "1.32"), ("scatter", 524288, "1.17"), ("allgather", 64, "4.6"),
          ("allgather", 4096, "1.32"), ("allgather", 262144, "> 1.1"), ("allreduce", 256, "1.31"),
          ("allreduce", 8192, "< 1"), ("allreduce", 131072, "< 1"), ("allreduce", 524288, "> 1"),
          ("allreduce", 4194304, "1.25"))


def stated(weft, quick):
    nodes = 16 if quick else 128
    calls = predicted(weft, [(collective, nodes, size) for collective, size, _ in STATED])
    rows = [(f"{call.collective} {sizes(call.bytes)}", value, *(round(gain(call, kind), 2) for kind in KINDS[1:]))
            for (*_, value), call in zip(STATED, calls)]
    return Made(("call", "paper", "single / multi", "flat / multi"), rows,
                f"Gain of the best multi-object algorithm over the best others, on {nodes} nodes of {PER_NODE} ranks.", shown=len(rows))


def formulas(weft, quick):
    """Section III: `nodes` (N) nodes of `each` (P) ranks, `size` (C) bytes a rank; a_r and a_e: us of a message on a
    node and between nodes, b: of a byte, g: of a reduced byte."""
    nodes, each, size, a_r, a_e, b, g = 128, 18, 128, 0.2, 1.5, 0.0001, 0.0002
    rounds, levels = 0, math.ceil(math.log2(each))
    while (each + 1) ** rounds < nodes:
        rounds += 1

    def unchanged(quantity, value):
        """Returns a row whose printed formula is correct."""
        return quantity, value, value

    rows = [unchanged("rounds between nodes", rounds),
            unchanged("scatter, between nodes, us", a_e * rounds + size * (nodes - 1) * each * b),
            ("small allgather, between nodes, us", a_e * rounds + (size * each - 1) * size * each * b,
             a_e * rounds + (nodes - 1) * size * each * b),
            unchanged("small allreduce, on a node, us", levels * (a_r + size * (b + g))),
            unchanged("small allreduce, between nodes, us", rounds * (a_e + size * (each * b + g))),
            unchanged("large allgather, between nodes, us", a_e * (nodes - 1) + each * size * (nodes - 1) * b),
            ("large allreduce, reduce-scatter, us", a_e * (each - 1) + (nodes - 1) * size / nodes * (b + g),
             a_e * math.ceil(nodes / each) + (nodes - 1) * size / nodes * (b + g))]
    return Made(("quantity", "printed", "corrected"), rows,
                f"{nodes} nodes of {each} ranks, {size} bytes. Assumed costs: {a_r:g} us a message on a node, {a_e:g} "
                "us between nodes, 0.1 ns a byte, 0.2 ns a reduced byte.", shown=len(rows))


FIGURES = (
    Figure("huang-formulas", "Section III: cost formulas",
           "The time of each collective as a sum over its phases.",
           "Two printed formulas contain errors. The small allgather moves N - 1 blocks of a node, not C P - 1. Each "
           "rank of the large reduce-scatter exchanges data with N / P nodes, not with P - 1.", formulas),
    Figure("huang-stated", "Section IV: stated speed-ups",
           "Gains over the fastest of three libraries, such as 65 % for scatter of 256 bytes.",
           "weft's best single-object (hierarchical) and flat algorithms take the place of the libraries, except "
           "hierarchies with a schedule that fits the costs between nodes. Message rate "
           "and bandwidth are those of the paper's NIC; the cost of a put is assumed (`published/huang_machine.txt`). "
           "Below 8 KiB, single-object algorithms put the whole result to each local peer, so their allgather is slow up "
           "to 4 KiB, where the paper's gain already shrinks.", stated),
    Figure("huang-fig6-8", "Figs. 6 to 8: over the number of nodes",
           "Multi-object scatter, allgather and allreduce beat single-object algorithms for 16 bytes and 1 KB.",
           "With few nodes, a round among all ranks of a node costs more than it saves. The local data of the small "
           "allgather are in every rank's buffer, not in one buffer of the node. So blocks arrive at their final places, "
           "and no shift and broadcast follow. Ranks of a node exchange the vectors of a small allreduce directly; "
           "`node=binomial` reduces them as in section III-C.", figures_6_to_8),
    Figure("huang-fig9-11", "Figs. 9 to 11: few bytes, 128 nodes",
           "Scatter gains most at 256 bytes, allgather at 64 bytes, allreduce at 256 bytes.",
           "Scatter gains most at 16 bytes. Allgather's gain over single-object algorithms grows up to 4 KiB. The small "
           "multi-object allreduce is the fastest up to 256 bytes, because it sends whole vectors.", figures_9_to_11),
    Figure("huang-fig12-14", "Figs. 12 to 14: many bytes, 128 nodes",
           "Allgather switches to the ring at 64 kB, allreduce to its large-message algorithm at 8k doubles; gains "
           "shrink with the size.",
           "Allreduce agrees: it switches at 64 KiB, loses between 1k and 16k doubles, and gains from 64k doubles on. At "
           "16k doubles the large algorithm takes 183 us, the small one 91 % more, as in the paper. Allgather switches at "
           "4 KiB; at 256 KiB the ring is 10 % faster than the small algorithm, not 146 %. Scatter gains nothing from 8 "
           "KiB on, where the root's NIC is the limit.",
           figures_12_to_14),
)
NOT_SHOWN = "Fig. 1 needs two machines with such a NIC (`weft bench put-rate --pairs`). Figs. 2 to 5 are drawings."
