# SPDX-License-Identifier: BSD-3-Clause
"""page - writes the results of a comparison: all of them as JSON, the rows as a Markdown table, and plots.

Holds    Matplotlib draws the plots (Debian: python3-matplotlib). perf/compare needs it only with --results,
         perf/performance always. There is a figure for each collective and a panel for each number of ranks and nodes,
         so that lines of a panel are comparable. Text stays text in the SVG.
"""

import json
import math
import pathlib

from comparing.jobs import CannotRun

SIDES = (("weft_us", "weft", "#0b5fa5", "o"), ("openmpi_us", "Open MPI", "#c05000", "s"),
         ("mpich_us", "MPICH", "#5a8f29", "^"))
SIZE_LABEL = "bytes of a vector, or of a block"


def import_pyplot():
    try:
        import matplotlib
    except ImportError:
        raise CannotRun("plots are drawn with Matplotlib, which is not installed (Debian: python3-matplotlib)") from None
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "weft", "svg.fonttype": "none", "font.size": 9,
                                "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9,
                                "axes.grid": True, "grid.linewidth": 0.4, "grid.alpha": 0.6, "axes.axisbelow": True,
                                "legend.frameon": False, "legend.fontsize": 8, "lines.markersize": 3.5,
                                "lines.linewidth": 1.2, "figure.constrained_layout.use": True})
    import matplotlib.pyplot
    return matplotlib.pyplot


def job_shapes(rows):
    return sorted({(row["nodes"], row["ranks"]) for row in rows})


def shape_label(nodes, ranks):
    return f"{ranks} ranks, " + ("one node" if nodes == 1 else f"{nodes} virtual nodes")


def scale_log(axes, values):
    """Sets a logarithmic y axis with plain numbers, and more ticks if the values span less than two decades."""
    values = [value for value in values if value]
    spans_under_two_decades = bool(values) and max(values) < 100 * min(values)
    axes.set_yscale("log", subs=())
    axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5) if spans_under_two_decades else (1,))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if values:
        axes.set_ylim(min(values) / 1.5, max(values) * 1.5)


def scale_powers(axes, ticks, text_of):
    """Sets a logarithmic x axis to base 2; text_of(tick) returns the text of a tick."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(lambda value, _: text_of(round(value)))
    axes.minorticks_off()


def draw_over_bytes(axes, rows):
    for field, label, color, marker in SIDES:
        points = [(row["bytes"], row[field]) for row in rows if row[field] is not None]
        if points:
            axes.plot(*zip(*points), marker=marker, color=color, label=label)
    scale_log(axes, [row[side[0]] for row in rows for side in SIDES])
    ticks = [row["bytes"] for row in rows]
    scale_powers(axes, ticks[:: 2 if len(ticks) > 4 else 1], format_bytes)


def draw_panels(pyplot, rows):
    """Draws a panel for each number of ranks and nodes: times over bytes."""
    shapes = job_shapes(rows)
    columns = min(4, len(shapes))
    panel_rows = math.ceil(len(shapes) / columns)
    figure, grid = pyplot.subplots(panel_rows, columns, figsize=(0.4 + 2.5 * columns, 0.5 + 2.1 * panel_rows),
                                  squeeze=False)
    for axes in list(grid.flat)[len(shapes):]:
        axes.remove()
    lines = {}
    for number, (axes, (nodes, ranks)) in enumerate(zip(grid.flat, shapes)):
        draw_over_bytes(axes, [row for row in rows if (row["nodes"], row["ranks"]) == (nodes, ranks)])
        axes.set_title(shape_label(nodes, ranks))
        axes.set_xlabel(SIZE_LABEL)
        if number % columns == 0:
            axes.set_ylabel("microseconds")
        lines = {line.get_label(): line for line in axes.get_lines()} | lines
    if lines:
        grid[0][0].legend(list(lines.values()), list(lines))
    return figure


def draw_bars(pyplot, rows):
    """Draws one panel with a group of bars for each number of ranks and nodes."""
    rows = sorted(rows, key=lambda row: (row["nodes"], row["ranks"], row["bytes"]))
    figure, axes = pyplot.subplots(figsize=(max(4.0, 0.8 + 1.0 * len(rows)), 2.9))
    shown = [side for side in SIDES if any(row[side[0]] is not None for row in rows)]
    width = 0.8 / max(len(shown), 1)
    for index, (field, label, color, _) in enumerate(shown):
        bars = [(number + (index - (len(shown) - 1) / 2) * width, row[field]) for number, row in enumerate(rows)
                if row[field] is not None]
        axes.bar(*zip(*bars), width=width, color=color, label=label)
    scale_log(axes, [row[side[0]] for row in rows for side in shown])
    axes.set_xticks(range(len(rows)), [shape_label(row["nodes"], row["ranks"]).replace(", ", ",\n") for row in rows])
    axes.set_ylabel("microseconds")
    axes.grid(False, axis="x")
    if shown:
        axes.legend()
    return figure


def draw(pyplot, collective, rows):
    over_bytes = len({row["bytes"] for row in rows}) > 1
    figure = (draw_panels if over_bytes else draw_bars)(pyplot, rows)
    figure.suptitle(f"{collective}: time of a call, median of rounds", fontsize=10)
    return figure


def format_bytes(count):
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} B"


def format_number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def remark_on(row):
    remarks = [word for holds, word in ((row["flagged_counted"], "disturbed"), (row["failures"], "a launch failed"),
                                        (not row["checked"], "WRONG RESULT")) if holds]
    return ", ".join(remarks)


def ratio_cells(row):
    if row["ratio"] is None:
        return ["-", "-"]
    return [f"{row['ratio']:.2f}", f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}"]


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def markdown_table(rows):
    head = ("collective", "ranks", "nodes", "bytes", "weft us", "Open MPI us", "MPICH us", "best peer", "weft / best peer",
            "quartiles", "remarks")
    return "\n".join(table(head, [
        [row["collective"], *(str(row[name]) for name in ("ranks", "nodes", "bytes")),
         *(format_number(row[side[0]]) for side in SIDES), row["best_peer"] or "-", *ratio_cells(row), remark_on(row)] for row in rows]))


def save(pyplot, figure, path):
    """Saves a figure. Equal figures give equal bytes."""
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def write_results(folder, found):
    """Writes compare.json, table.md and COLLECTIVE.svg into a folder, and creates it if needed."""
    pyplot = import_pyplot()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compare.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "table.md").write_text(markdown_table(found["rows"]), encoding="utf-8")
    for collective in dict.fromkeys(row["collective"] for row in found["rows"]):
        figure = draw(pyplot, collective, [row for row in found["rows"] if row["collective"] == collective])
        save(pyplot, figure, folder / f"{collective}.svg")
