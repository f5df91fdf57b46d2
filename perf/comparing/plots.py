# SPDX-License-Identifier: BSD-3-Clause
"""plots - drawings of docs/performance.md: summary, puts and start-up here, collectives by page.py.

Holds    Text stays text in the SVG, and equal results give equal bytes. A drawing without data is not made.
"""

import statistics

from comparing.page import SIZE_LABEL, draw, format_bytes, scale_log, scale_powers

PLACES = (("puts_node", "one node"), ("puts_network", "two virtual nodes"))
WEFT_COLOR, BARE_COLOR = "#0b5fa5", "#808080"
# Colors for the summary's many lines: a dark and a light color of six hues.
LINE_COLORS = ("#1f77b4", "#7fb8e6", "#d95f02", "#f7b267", "#2a7f3b", "#8fcf8a", "#a81e2c", "#ef8a8a", "#5e3c99", "#b9a3d9",
            "#404040", "#a0a0a0")


def draw_puts(pyplot, results):
    shown = [(results[name], words) for name, words in PLACES if results.get(name)]
    if not shown:
        return None
    figure, grid = pyplot.subplots(len(shown), 2, figsize=(7.2, 2.3 * len(shown) + 0.3), squeeze=False)
    for (latency, bandwidth), (found, words) in zip(grid, shown):
        rows = found["rows"]
        sizes = [row["bytes"] for row in rows]
        for fields, label, color, marker in ((("put_us", "window_us"), "weft", WEFT_COLOR, "o"),
                                             (("bare_put_us", "bare_window_us"), found["against"], BARE_COLOR, "s")):
            style = {"label": label, "color": color, "marker": marker}
            latency.plot(sizes, [row[fields[0]] for row in rows], **style)
            bandwidth.plot(sizes, [row["bytes"] / row[fields[1]] / 1000 for row in rows], **style)
        for axes, title, label in ((latency, f"one put, {words}", "microseconds"),
                                   (bandwidth, f"a window of puts, {words}", "GB/s")):
            scale_log(axes, [value for line in axes.get_lines() for value in line.get_ydata()])
            scale_powers(axes, sizes, format_bytes)
            axes.set_title(title)
            axes.set_ylabel(label)
        latency.legend()
    return figure


def draw_startup(pyplot, results):
    shown = [(results[name], words, color) for name, words, color in
             (("startup", "one node", WEFT_COLOR), ("startup_nodes", "two virtual nodes", "#c05000")) if results.get(name)]
    if not shown:
        return None
    figure, (seconds, memory) = pyplot.subplots(1, 2, figsize=(7.2, 2.5))
    for found, words, color in shown:
        ranks = [row["ranks"] for row in found["rows"]]
        style = {"label": words, "color": color, "marker": "o"}
        seconds.plot(ranks, [row["total_s"] for row in found["rows"]], **style)
        memory.plot(ranks, [row["pss_bytes"] / 2**20 for row in found["rows"]], **style)
    scale_log(seconds, [row["total_s"] for found, _, _ in shown for row in found["rows"]])
    memory.set_ylim(bottom=0)
    all_ranks = sorted({row["ranks"] for found, _, _ in shown for row in found["rows"]})
    for axes, title, label in ((seconds, "start to end of a job", "seconds"), (memory, "memory of a rank", "MiB")):
        scale_powers(axes, all_ranks, str)
        axes.set_title(title)
        axes.set_xlabel("ranks")
        axes.set_ylabel(label)
    seconds.legend()
    return figure


def mean_ratios(rows, collective):
    """Returns pairs of size and geometric mean of the ratios over all ranks and nodes. A barrier has size 1."""
    ratios = {}
    for row in rows:
        if row["collective"] == collective and row["ratio"]:
            ratios.setdefault(max(row["bytes"], 1), []).append(row["ratio"])
    return [(size, statistics.geometric_mean(values)) for size, values in sorted(ratios.items())]


def draw_summary(pyplot, rows):
    """Draws weft's ratio over the sizes: a line for each collective, on one node and between nodes."""
    places = [(words, part) for words, part in (("one node", [row for row in rows if row["nodes"] == 1]),
                                                ("several virtual nodes", [row for row in rows if row["nodes"] > 1]))
              if any(row["ratio"] for row in part)]
    if not places:
        return None
    names = list(dict.fromkeys(row["collective"] for row in rows))
    figure, grid = pyplot.subplots(1, len(places), figsize=(1.6 + 3.6 * len(places), 3.4), sharey=True, squeeze=False)
    for axes, (words, part) in zip(grid[0], places):
        for number, name in enumerate(names):
            points = mean_ratios(part, name)
            if points:
                color, marker = LINE_COLORS[number % len(LINE_COLORS)], "os^vD"[number // 2 % 5]
                axes.plot(*zip(*points), label=name, color=color, marker=marker)
        axes.axhline(1, color="#404040", linewidth=1)
        ticks = sorted({max(row["bytes"], 1) for row in part})
        scale_powers(axes, ticks[:: 2 if len(ticks) > 4 else 1], lambda size: "none" if size == 1 else format_bytes(size))
        axes.set_title(words)
        axes.set_xlabel(SIZE_LABEL)
    scale_log(grid[0][0], [value for axes in grid[0] for line in axes.get_lines() for value in line.get_ydata()])
    grid[0][0].set_ylabel("weft's time / best peer's\n(below 1: weft is faster)")
    figure.suptitle("How long calls of weft take, beside those of the best MPI library", fontsize=10)
    lines = {label: line for axes in grid[0] for line, label in zip(*axes.get_legend_handles_labels())}
    grid[0][-1].legend(lines.values(), lines.keys(), loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return figure


def draw_all(pyplot, results):
    """Yields pairs of name and figure."""
    rows = [row for name in ("compare", "compare_others") for row in (results.get(name) or {"rows": ()})["rows"]]
    summary = draw_summary(pyplot, rows) if results.get("compare") else None
    if summary is not None:
        yield "summary", summary
    for collective in dict.fromkeys(row["collective"] for row in rows):
        yield collective, draw(pyplot, collective, [row for row in rows if row["collective"] == collective])
    for name, make in (("puts", draw_puts), ("startup", draw_startup)):
        figure = make(pyplot, results)
        if figure is not None:
            yield name, figure
