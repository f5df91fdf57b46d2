# SPDX-License-Identifier: BSD-3-Clause
"""ruefenacht - figures of "Generalisation of recursive doubling for AllReduce"."""
import math
import statistics
import tempfile
from collections import namedtuple
from pathlib import Path

from figure import Figure, Made, published
from plot import Axis, Panel, Series, drawing, log_axis, sizes

TITLE = "Ruefenacht, Bull, Booth: recursive multiplying"
# Section 6.2: latency 500 ns, 100 ns for each further message, 0.4 ns a byte, 10 ns to combine an operand.
SIMULATOR = ("--latency-ns", "500", "--issue-ns", "100", "--ns-per-byte", "0.4", "--reduce-ns", "10")
RANK_AXIS = log_axis("ranks", (4, 8, 16, 32, 64, 128))


def model_us(schedule, alpha_p, alpha_r):
    """Returns the paper's time of a schedule: each stage has a latency alpha_p, and alpha_r for each message."""
    factors = [int(stage[1:]) for stage in schedule.split(",")]
    return sum(alpha_p + (factor - 1) * alpha_r for factor in factors)


def doubling_us(ranks, alpha_p, alpha_r):
    """Returns the paper's time of recursive doubling. Other numbers than powers of two take two more rounds."""
    rounds = ranks.bit_length() - 1 + (0 if ranks & (ranks - 1) == 0 else 2)
    return rounds * (alpha_p + alpha_r)


def decrease_percent(before, after):
    return (before - after) / before * 100


def archer_us(weft, ranks, schedule, which="min"):
    """Returns the simulated time on Archer, a Cray XC30; `which`: costs of Table 1, min or median."""
    found = weft("simulate", "allreduce", "--algorithm", schedule, "--ranks", ranks, "--bytes", 8, "--params",
                 f"archer-xc30-{which}")
    return found["makespan_ns"] / 1000


def table_2(weft, quick):
    costs = {row["statistic"]: (row["alpha_p_us"], row["alpha_r_us"]) for row in published("ruefenacht_table1.csv")}
    rows = []
    worst = 0
    for row in published("ruefenacht_table2.csv"):
        ranks, schedule = int(row["ranks"]), row["schedule"]
        for which in ("min", "median"):
            published_percent = row[f"{which}_percent"]
            recomputed = decrease_percent(row[f"{which}_rd_us"], row[f"{which}_rm_us"])
            worst = max(worst, abs(recomputed - published_percent))
            by_model = decrease_percent(doubling_us(ranks, *costs[which]), model_us(schedule, *costs[which]))
            simulated = decrease_percent(archer_us(weft, ranks, "recursive-doubling", which),
                                         archer_us(weft, ranks, schedule, which))
            rows.append((ranks, schedule, which, row[f"{which}_rd_us"], row[f"{which}_rm_us"], published_percent,
                         *(round(percent, 1) for percent in (recomputed, by_model, simulated))))
    return Made(("ranks", "schedule", "statistic", "rd_us", "rm_us", "published_percent", "recomputed_percent",
                 "model_percent", "simulated_percent"), rows,
                f"All 22 percentages follow from the published times within {worst:.2f} points. The file "
                "also has the model and weft's simulator, with latency and issue of Table 1. For many ranks they predict a "
                "larger decrease than was measured.")


def figure_3(weft, quick):
    Row = namedtuple("Row", "ratio messages messages_printed")
    ratios = [1 + i / 4 for i in range(0, 37, 4 if quick else 1)]
    answers = weft.all([("formula", "messages-optimal", f"ratio={ratio}") for ratio in ratios])
    rows = [Row(ratio, found["messages"], found["messages_printed"]) for ratio, found in zip(ratios, answers)]
    series = [Series("equation 5, corrected", [(row.ratio, row.messages) for row in rows], mark=False),
              Series("as it is printed", [(row.ratio, row.messages_printed) for row in rows], mark=False)]
    at_four = next(row for row in rows if row.ratio == 4)
    return Made(Row._fields, rows,
                f"At a ratio of 4 the corrected formula gives {at_four.messages:.6f} messages, the printed formula "
                f"{at_four.messages_printed:.6f}.",
                drawing(Panel("Messages in a row that make a stage cheapest", Axis("latency / issue"),
                              Axis("messages"), series)))


def figure_4(weft, quick):
    counts = (5, 25, 125, 625, 3125)
    rows = [(messages, *((1 + messages * 0.25) * math.log(ranks) / math.log(messages + 1) for ranks in counts))
            for messages in (1 + i / 4 for i in range(57))]
    series = [Series(f"N = {ranks}", [(row[0], row[1 + i]) for row in rows], mark=False)
              for i, ranks in enumerate(counts)]
    least = [min(rows, key=lambda row, i=i: row[1 + i])[0] for i in range(len(counts))]
    return Made(("messages", *(f"us_for_{ranks}" for ranks in counts)), rows,
                f"The least cost is at {least[0]:g} messages for all N, to within a quarter of a message.",
                drawing(Panel("Cost of recursive multiplying, latency 1 us, issue 0.25 us", Axis("messages of a stage"),
                              Axis("microseconds"), series)))


def figure_9(weft, quick):
    rows = []
    for row in published("ruefenacht_table2.csv"):
        ranks = int(row["ranks"])
        rows.append((ranks, row["min_rd_us"], row["min_rm_us"], archer_us(weft, ranks, "recursive-doubling"),
                     archer_us(weft, ranks, row["schedule"])))
    names = ("recursive doubling, published minimum", "best schedule, published minimum",
             "recursive doubling, simulated", "best schedule, simulated")
    series = [Series(name, [(row[0], row[1 + i]) for row in rows]) for i, name in enumerate(names)]
    return Made(("ranks", "published_rd_us", "published_rm_us", "simulated_rd_us", "simulated_rm_us"), rows,
                "For every number of ranks, simulated times have the same order as published times. From 24 ranks on, "
                "published minima grow faster.",
                drawing(Panel("Allreduce of 8 bytes", RANK_AXIS, log_axis("microseconds"), series)))


def sweep(weft, quick, ranks, schedules):
    counts = (1, 2, 4, 8, 16, 24, 32, 64, 128, 256, 512)
    counts = counts[::3] if quick else counts
    commands = [("simulate", "allreduce", "--algorithm", schedule, "--ranks", ranks, "--bytes", 8 * count, *SIMULATOR)
                for count in counts for schedule in schedules]
    answers = iter(weft.all(commands))
    rows = [(8 * count, *(next(answers)["makespan_ns"] / 1000 for _ in schedules)) for count in counts]
    series = [Series(schedule, [(row[0], row[1 + i]) for row in rows]) for i, schedule in enumerate(schedules)]
    winners = {sizes(row[0]): schedules[min(range(len(schedules)), key=lambda i, row=row: row[1 + i])] for row in rows}
    changes = []
    for size, winner in winners.items():
        if not changes or changes[-1][1] != winner:
            changes.append((size, winner))
    got = "; ".join(f"from {size} bytes {winner}" for size, winner in changes)
    return Made(("bytes", *(f"{schedule}_us" for schedule in schedules)), rows, f"Quickest: {got}.",
                drawing(Panel(f"{ranks} ranks, the paper's simulator", log_axis("bytes", (8, 64, 512, 4096), sizes),
                              log_axis("microseconds"), series)))


def figure_10(weft, quick):
    return sweep(weft, quick, 8, ("a2,a2,a2", "a2,a4", "a4,a2", "a8"))


def figure_11(weft, quick):
    return sweep(weft, quick, 64, ("a2,a2,a2,a2,a2,a2", "a4,a4,a4", "a8,a8", "a2,a4,a8", "a16,a4", "a64"))


def figure_12(weft, quick):
    Row = namedtuple("Row", "ranks schedule model_min_us min_us model_median_us median_us min_above_percent "
                     "median_above_percent")
    costs = {row["statistic"]: (row["alpha_p_us"], row["alpha_r_us"]) for row in published("ruefenacht_table1.csv")}
    rows = []
    for row in published("ruefenacht_table2.csv"):
        model = {which: model_us(row["schedule"], *costs[which]) for which in costs}
        rows.append(Row(int(row["ranks"]), row["schedule"], model["min"], row["min_rm_us"], model["median"],
                        row["median_rm_us"], *((row[f"{which}_rm_us"] / model[which] - 1) * 100 for which in costs)))
    series = [Series("minimum", [(row.ranks, row.min_above_percent) for row in rows]),
              Series("median", [(row.ranks, row.median_above_percent) for row in rows])]
    minima = [(row.model_min_us, row.min_us) for row in rows]
    medians = [(row.model_median_us, row.median_us) for row in rows]
    correlation = [statistics.correlation(*zip(*pairs)) for pairs in (minima, medians)]
    points = [Series("minimum", minima, line=False), Series("median", medians, line=False),
              Series("equal", [(2, 2), (10, 10)], mark=False)]
    largest = max(abs(row.min_above_percent) for row in rows if row.ranks <= 16)
    return Made(Row._fields, rows,
                f"Up to 16 ranks the published minimum is within {largest:.0f} % of the "
                f"model, with 128 ranks {rows[-1].min_above_percent:.0f} % above it. Correlation of model and "
                f"measurement: {correlation[0]:.2f} for minima, {correlation[1]:.2f} for medians.",
                drawing(Panel("Published times less the model", RANK_AXIS, Axis("per cent of the model"), series),
                        Panel("Published times over the model", log_axis("model, microseconds", (2, 4, 6, 8, 10)),
                              log_axis("published, microseconds"), points)))


# Number of the paper's figure, ranks, schedule, and the paper's makespan in ns.
TIMELINES = (("18", 8, "a2,a2,a2", 1839.6), ("19", 8, "a8", 1292.4), ("20", 7, "c6m2,a2,a2,e6m2", 2442.8),
             ("21", 7, "m1g2a3,n1g3a2", 1452.8), ("22", 7, "m3g2a2,n3g2a2", 1452.8), ("23", 6, "elimination", None))


def timelines(weft, quick):
    Row = namedtuple("Row", "figure ranks schedule makespan_ns earliest_finish_ns skew_ns")
    rows, svg = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for number, ranks, schedule, _ in TIMELINES:
            call = ("simulate", "allreduce", "--algorithm", schedule, "--ranks", ranks, *SIMULATOR, "--placement",
                    "paper" if schedule.startswith("m") else "ordered")
            path = Path(folder) / "timeline.svg"
            weft.text(*call, "--timeline", path)
            svg[f"-{number}"] = path.read_text(encoding="utf-8")
            found = weft(*call)
            rows.append(Row(number, ranks, schedule, *(found[column] for column in Row._fields[3:])))
    makespan_ns = {row.figure: row.makespan_ns for row in rows}
    return Made(Row._fields, rows,
                f"The schedules with merges take {makespan_ns['20'] - makespan_ns['21']:.0f} ns less than the schedule "
                "with a split.", svg, shown=len(rows))


def program_tasks(weft):
    """Returns the tasks of each rank from GOAL text: kind and peer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.goal"
        weft.text("simulate", "allreduce", "--algorithm", "a3,a2", "--ranks", 6, *SIMULATOR, "--goal", path)
        text = path.read_text(encoding="utf-8")
    ranks, current = [], None
    for line in text.splitlines():
        words = line.replace(":", " ").split()
        if line.startswith("rank "):
            current = []
            ranks.append(current)
        elif current is not None and len(words) > 1 and words[1] in ("send", "recv", "calc"):
            current.append((words[1], int(words[4]) if words[1] != "calc" else None))
    return ranks


def figure_17(weft, quick):
    ranks = program_tasks(weft)
    rows, shapes = [], []
    letters = {"send": "P", "recv": "W", "calc": "C"}
    colors = {"send": "#0b5fa5", "recv": "#808080", "calc": "#2f7d32"}
    place, sent = {}, {}
    for rank, tasks in enumerate(ranks):
        x = 70
        shapes.append(f'<text x="16" y="{54 + 56 * rank}" font-size="12">rank {rank}</text>')
        for number, (kind, peer) in enumerate(tasks):
            x += 62
            place[rank, number] = (x, 50 + 56 * rank)
            rows.append((rank, number, kind, "" if peer is None else peer))
            if kind == "send":
                sent.setdefault((rank, peer), []).append((rank, number))
    arrows = []
    for rank, tasks in enumerate(ranks):
        for number, (kind, peer) in enumerate(tasks):
            if number:
                (x1, y), (x2, _) = place[rank, number - 1], place[rank, number]
                arrows.append(f'<line x1="{x1 + 13}" y1="{y}" x2="{x2 - 13}" y2="{y}" stroke="#222222"/>')
            if kind == "recv":
                (x1, y1), (x2, y2) = place[sent[peer, rank].pop(0)], place[rank, number]
                arrows.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#0b5fa5" stroke-width="0.8" '
                              'stroke-dasharray="4 2"/>')
    for (rank, number), (x, y) in place.items():
        kind = ranks[rank][number][0]
        shapes.append(f'<circle cx="{x}" cy="{y}" r="13" fill="{colors[kind]}"/><text x="{x}" y="{y + 4}" '
                      f'text-anchor="middle" font-size="12" fill="#ffffff">{letters[kind]}</text>')
    width = max(x for x, _ in place.values()) + 40
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="376" viewBox="0 0 {width} 376" '
           f'font-family="sans-serif">\n<rect width="{width}" height="376" fill="#ffffff"/>\n'
           + "\n".join(arrows + shapes) + "\n</svg>\n")
    puts = sum(kind == "send" for _, _, kind, _ in rows)
    return Made(("rank", "task", "kind", "peer"), rows,
                f"{puts} puts (P), a reception (W) for each, and a computation (C) after each stage.", svg)


FIGURES = (
    Figure("ruefenacht-table2", "Table 2: recursive doubling against the best schedule",
           "The best schedule takes 8 to 40 % less time than recursive doubling, both in minima and in medians.",
           "The model has no noise and no other traffic.", table_2),
    Figure("ruefenacht-fig3", "Fig. 3: the best number of messages",
           "Equation 5: the number of messages that makes a stage cheapest, over the ratio of latency to issue time.",
           "The printed equation lacks a factor 1/e; both forms are shown.", figure_3),
    Figure("ruefenacht-fig4", "Fig. 4: cost over the messages of a stage",
           "Equation 4 with a latency of 1 us and an issue of 0.25 us: the minimum does not depend on N.",
           "None.", figure_4),
    Figure("ruefenacht-fig9", "Fig. 9: times over the number of ranks",
           "Recursive multiplying is faster at every size; both grow faster than a logarithm.",
           "The simulator has no congestion and no late ranks.", figure_9),
    Figure("ruefenacht-fig10", "Fig. 10: sizes of messages, 8 ranks",
           "Latency limits short messages, bandwidth limits messages from 24 to 32 doubles on; a2,a4 is the fastest.",
           "The costs are those of the paper's simulator (0.4 ns a byte), so schedules cross at other sizes.",
           figure_10),
    Figure("ruefenacht-fig11", "Fig. 11: sizes of messages, 64 ranks",
           "Recursive doubling is best for few bytes and clearly worse at 4096 bytes; the paper does not explain this.",
           "The model predicts the opposite. The paper suspects adaptive routing, which the simulator lacks.", figure_11),
    Figure("ruefenacht-fig12", "Figs. 12, 14, 15: model and measurement",
           "Minima agree with the model up to 24 nodes and exceed it beyond; medians differ more.",
           "Only published times are used.", figure_12),
    Figure("ruefenacht-fig17", "Fig. 17: the program of six ranks",
           "A program diagram of a3,a2 on six ranks.",
           "Receptions are separate tasks, as in GOAL.", figure_17),
    Figure("ruefenacht-fig18-23", "Figs. 18 to 23: timelines",
           "On seven ranks, schedules with merges end about 1 us before the schedule with a split. Ranks finish within "
           "100 and 200 ns of each other with merges, within 700 ns with the split.",
           "The skew of the split is 1000 ns here (conventions in `docs/selection.md`).", timelines),
)
NOT_SHOWN = "Figs. 8, 13 and 16 are [measured](measured.md), Table 1 by `weft fit`."
