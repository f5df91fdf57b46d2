# SPDX-License-Identifier: BSD-3-Clause
"""plots - the drawings of docs/performance.md beside those of collectives: puts and start-up.

Holds    Text stays text; the same results give the same bytes. A drawing without anything to show is not made.
"""

from comparing.page import draw, format_bytes, scale_log

PLACES = (("puts_node", "a node"), ("puts_network", "two virtual nodes"))
OURS, BARE = "#0b5fa5", "#808080"


def over_bytes(axes, rows):
    axes.set_xscale("log", base=2)
    scale_log(axes, [value for line in axes.get_lines() for value in line.get_ydata()])
    axes.set_xticks([row["bytes"] for row in rows])
    axes.xaxis.set_major_formatter(lambda value, _: format_bytes(round(value)))
    axes.minorticks_off()
    axes.grid(True, linewidth=0.4, alpha=0.6)


def draw_puts(pyplot, results):
    shown = [(results[name], words) for name, words in PLACES if results.get(name)]
    if not shown:
        return None
    figure, grid = pyplot.subplots(len(shown), 2, figsize=(7.2, 2.3 * len(shown) + 0.3), squeeze=False, layout="constrained")
    for (latency, bandwidth), (found, words) in zip(grid, shown):
        rows = found["rows"]
        sizes = [row["bytes"] for row in rows]
        for fields, label, color, marker in ((("put_us", "window_us"), "weft", OURS, "o"),
                                             (("bare_put_us", "bare_window_us"), found["against"], BARE, "s")):
            style = {"label": label, "color": color, "marker": marker, "markersize": 3.5, "linewidth": 1.2}
            latency.plot(sizes, [row[fields[0]] for row in rows], **style)
            bandwidth.plot(sizes, [row["bytes"] / row[fields[1]] / 1000 for row in rows], **style)
        for axes, title, label in ((latency, f"one put, {words}", "microseconds"),
                                   (bandwidth, f"a window of puts, {words}", "GB/s")):
            over_bytes(axes, rows)
            axes.set_title(title, fontsize=9)
            axes.set_ylabel(label)
        latency.legend(frameon=False, fontsize=8)
    return figure


def draw_startup(pyplot, results):
    shown = [(results[name], words, color) for name, words, color in
             (("startup", "one node", OURS), ("startup_nodes", "two virtual nodes", "#c05000")) if results.get(name)]
    if not shown:
        return None
    figure, (seconds, memory) = pyplot.subplots(1, 2, figsize=(7.2, 2.5), layout="constrained")
    for found, words, color in shown:
        ranks = [row["ranks"] for row in found["rows"]]
        style = {"label": words, "color": color, "marker": "o", "markersize": 3.5, "linewidth": 1.2}
        seconds.plot(ranks, [row["total_s"] for row in found["rows"]], **style)
        memory.plot(ranks, [row["pss_bytes"] / 2**20 for row in found["rows"]], **style)
    scale_log(seconds, [row["total_s"] for found, _, _ in shown for row in found["rows"]])
    memory.set_ylim(bottom=0)
    every = sorted({row["ranks"] for found, _, _ in shown for row in found["rows"]})
    for axes, title, label in ((seconds, "start to end of a job", "seconds"), (memory, "memory of a rank", "MiB")):
        axes.set_xscale("log", base=2)
        axes.set_xticks(every, [str(count) for count in every])
        axes.minorticks_off()
        axes.grid(True, linewidth=0.4, alpha=0.6)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("ranks")
        axes.set_ylabel(label)
    seconds.legend(frameon=False, fontsize=8)
    return figure


def draw_all(pyplot, results):
    """Pairs of name and figure."""
    rows = results["compare"]["rows"] if results.get("compare") else []
    for collective in dict.fromkeys(row["collective"] for row in rows):
        yield collective, draw(pyplot, collective, [row for row in rows if row["collective"] == collective])
    for name, make in (("puts", draw_puts), ("startup", draw_startup)):
        figure = make(pyplot, results)
        if figure is not None:
            yield name, figure
