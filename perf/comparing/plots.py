# SPDX-License-Identifier: BSD-3-Clause
"""plots - the drawings of docs/performance.md beside those of collectives: puts and start-up.

Holds    Text stays text; the same results give the same bytes. A drawing without anything to show is not made.
"""

from comparing.page import draw, format_bytes, scale_log, scale_powers

PLACES = (("puts_node", "a node"), ("puts_network", "two virtual nodes"))
OURS, BARE = "#0b5fa5", "#808080"


def draw_puts(pyplot, results):
    shown = [(results[name], words) for name, words in PLACES if results.get(name)]
    if not shown:
        return None
    figure, grid = pyplot.subplots(len(shown), 2, figsize=(7.2, 2.3 * len(shown) + 0.3), squeeze=False)
    for (latency, bandwidth), (found, words) in zip(grid, shown):
        rows = found["rows"]
        sizes = [row["bytes"] for row in rows]
        for fields, label, color, marker in ((("put_us", "window_us"), "weft", OURS, "o"),
                                             (("bare_put_us", "bare_window_us"), found["against"], BARE, "s")):
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
             (("startup", "one node", OURS), ("startup_nodes", "two virtual nodes", "#c05000")) if results.get(name)]
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
    every = sorted({row["ranks"] for found, _, _ in shown for row in found["rows"]})
    for axes, title, label in ((seconds, "start to end of a job", "seconds"), (memory, "memory of a rank", "MiB")):
        scale_powers(axes, every, str)
        axes.set_title(title)
        axes.set_xlabel("ranks")
        axes.set_ylabel(label)
    seconds.legend()
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
