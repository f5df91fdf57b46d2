# SPDX-License-Identifier: BSD-3-Clause
"""page - the results of a comparison as files: the rows as JSON, the table as Markdown, a plot per collective.

Holds    Plots are made by Matplotlib (Debian: python3-matplotlib), which only --results needs. One figure a
         collective, one panel for each number of ranks and nodes, so that lines of a panel are comparable.
"""

import json
import pathlib

from comparing.jobs import Broken

SIDES = (("weft_us", "weft", "#0b5fa5", "o"), ("openmpi_us", "Open MPI", "#c05000", "s"),
         ("mpich_us", "MPICH", "#5a8f29", "^"))


def import_pyplot():
    try:
        import matplotlib
    except ImportError:
        raise Broken("--results draws plots with Matplotlib, which is not installed (Debian: python3-matplotlib)") from None
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "weft", "svg.fonttype": "none", "font.size": 9,
                                "axes.spines.top": False, "axes.spines.right": False})
    import matplotlib.pyplot
    return matplotlib.pyplot


def cells_of(rows):
    return sorted({(row["nodes"], row["ranks"]) for row in rows})


def place_of(nodes, ranks):
    return f"{ranks} ranks, " + ("one node" if nodes == 1 else f"{nodes} nodes")


def draw_over_bytes(axes, rows):
    for field, label, color, marker in SIDES:
        points = [(row["bytes"], row[field]) for row in rows if row[field] is not None]
        if points:
            axes.plot(*zip(*points), marker=marker, markersize=4, color=color, label=label)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes")


def draw_bars(axes, rows):
    bars = [(label, rows[0][field], color) for field, label, color, _ in SIDES if rows[0][field] is not None]
    axes.bar([label for label, _, _ in bars], [value for _, value, _ in bars], color=[color for _, _, color in bars])


def draw(pyplot, collective, rows):
    cells = cells_of(rows)
    columns = min(3, len(cells))
    lines = -(-len(cells) // columns)
    figure, grid = pyplot.subplots(lines, columns, figsize=(3.4 * columns, 2.7 * lines), squeeze=False,
                                   layout="constrained")
    for axes in list(grid.flat)[len(cells):]:
        axes.remove()
    for axes, (nodes, ranks) in zip(grid.flat, cells):
        here = [row for row in rows if (row["nodes"], row["ranks"]) == (nodes, ranks)]
        if len(here) > 1:
            draw_over_bytes(axes, here)
            axes.set_yscale("log")
        else:
            draw_bars(axes, here)
        axes.set_title(place_of(nodes, ranks))
        axes.set_ylabel("microseconds")
        axes.grid(True, axis="y", linewidth=0.4, alpha=0.6)
    if grid[0][0].get_legend_handles_labels()[0]:
        grid[0][0].legend(frameon=False)
    figure.suptitle(f"{collective}: time of a call, median of rounds")
    return figure


def markdown_table(rows):
    def us(value):
        return "-" if value is None else f"{value:.2f}"

    lines = ["| collective | ranks | nodes | bytes | weft us | Open MPI us | MPICH us | ratio | quartiles of the ratio | |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    lines += [f"| {row['collective']} | {row['ranks']} | {row['nodes']} | {row['bytes']} | {us(row['weft_us'])} "
              f"| {us(row['openmpi_us'])} | {us(row['mpich_us'])} | {row['ratio']:.2f} "
              f"| {row['ratio_low']:.2f} to {row['ratio_high']:.2f} | {'disturbed' if row['flagged_counted'] else ''} |"
              for row in rows]
    return "\n".join(lines) + "\n"


def write_results(folder, found):
    """Writes compare.json, table.md and COLLECTIVE.svg into a folder, which is made if need be."""
    pyplot = import_pyplot()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compare.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "table.md").write_text(markdown_table(found["rows"]), encoding="utf-8")
    for collective in dict.fromkeys(row["collective"] for row in found["rows"]):
        figure = draw(pyplot, collective, [row for row in found["rows"] if row["collective"] == collective])
        figure.savefig(folder / f"{collective}.svg", metadata={"Date": None})
        pyplot.close(figure)
