# SPDX-License-Identifier: BSD-3-Clause
"""report - the results in docs/performance.md: text and tables between the page's two marks.

Idea     A section is a function that returns lines from the results of its steps (steps.py). Without results it prints
         the command that measures them. The text outside the marks is written by hand.
Holds    Every number between the marks is from the results. Equal results give equal bytes.
Next     plots.py for the drawings; steps.py for the commands.
"""

import decimal
import statistics

from comparing.page import format_bytes, format_number, table
from comparing.steps import STEPS

COMMANDS = {step.name: step for step in STEPS}
SIDES = ("weft", "openmpi", "mpich")
MARKS = ("<!-- results: begin (perf/performance writes this part) -->", "<!-- results: end -->")


def picture(name, words):
    return [f"![{words}](performance/{name}.svg)", ""]


def percent(value, digits=0):
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def three_digits(value):
    """Formats a value with three significant digits and without an exponent."""
    return f"{decimal.Decimal(f'{value:.3g}'):f}"


def seconds(value):
    """Formats the time of a phase; times below half a millisecond are shown as "-"."""
    return "-" if value < 0.0005 else f"{value:.3f}"


def hidden(row, kind):
    """Formats the part of a call that overlapped. If call and computation together took longer than one after the
    other, shows the excess."""
    part, both = row[f"hidden_{kind}"], row[f"{kind}_us"]
    return percent(part) if part is None or part >= 0 else f"none (+{both - 2 * row['blocking_us']:.1f} us)"


def not_measured(name):
    step = COMMANDS[name]
    return ["Not measured in this run. The command, after building its programs:", "",
            "```sh", step.build(), step.command, "```", ""]


def by_command(name, found):
    """Returns the command that was run; it may have options of a shorter run."""
    return [f"`{found.get('command', COMMANDS[name].command)}`", ""]


def parts(results, titles, body):
    """Returns a subsection for each step: its title, and its body or the command that would measure it."""
    lines = []
    for name, title in titles:
        found = results.get(name)
        lines += [f"### {title}", "", *(not_measured(name) if found is None else [*by_command(name, found), *body(found)])]
    return lines


# ---- Introduction -----------------------------------------------------------------------------------

def compared_rows(results):
    """Returns the rows of all collectives, from both steps that measure them."""
    return [row for name in ("compare", "compare_others") for row in (results.get(name) or {"rows": ()})["rows"]]


def mean_ratio(rows):
    """Returns the geometric mean of the ratios, or None if no row has a ratio."""
    ratios = [row["ratio"] for row in rows if row["ratio"]]
    return statistics.geometric_mean(ratios) if ratios else None


def head(results):
    """Returns a warning about the machine, and the mean ratios."""
    found = results.get("compare")
    if found is None:
        return ["## Results", ""]
    about, rows = found["machine"], compared_rows(results)
    means = [f"{format_number(mean_ratio(part))} {words}" for part, words in
             (([row for row in rows if row["nodes"] == 1], "on one node"),
              ([row for row in rows if row["nodes"] > 1], "between virtual nodes")) if mean_ratio(part) is not None]
    processors = about["processors_usable"]
    return ["## Results", "",
            f"**One machine with {processors} processors, and no network.** More ranks than {processors} share processors. Nodes are",
            "groups of ranks that reach each other over TCP on the loopback interface. So the times show the work of a call, not",
            "the speed of a cluster.", "",
            f"Measured with {about['weft']} on {found['begun'].split()[0]}.",
            *([f"weft's time divided by the best peer's time, geometric mean: {', '.join(means)}.", ""] if means else [""]),
            *(picture("summary", "all collectives: weft's time divided by the best peer's time, over bytes") if means else [])]


def machine(results):
    found = results.get("compare")
    if found is None:
        return ["## Machine", "", *not_measured("compare")]
    about = found["machine"]
    rows = [("processor", about["processor"]), ("processors", str(about["processors_usable"])),
            ("memory", f"{about['memory_bytes'] / 2**30:.1f} GiB"), ("kernel", about["kernel"]),
            *((name, about[name]) for name in SIDES if name in about),
            ("settings", ", ".join(f"{name}={value}" for name, value in about["environment"].items()) or "none"),
            ("load before", f"{about['load_average']:.2f}"),
            ("one cache line between two processors", f"{format_number(found['calibrator_ns'], 0)} ns in the median")]
    return ["## Machine", "", *table(("", ""), rows)]


def size_of(row):
    return format_bytes(row["bytes"]) if row["bytes"] else "-"


# ---- Collectives ------------------------------------------------------------------------------------

LEGEND = ["A cell has weft's time of a call in us, and in parentheses its ratio to the time of the best peer: below 1, weft is",
          "faster. `*`: disturbed by other work. `!`: a launch failed. A barrier has no size; its times are in the first "
          "column.", ""]


def summary(rows):
    known = [row for row in rows if row["ratio"] is not None]
    if not known:
        return ["No row has a time of weft and of a peer.", ""]
    worst = max(known, key=lambda row: row["ratio"])
    where = f"{worst['collective']}, {worst['ranks']} ranks, {worst['nodes']} node{'s' if worst['nodes'] > 1 else ''}"
    return [f"weft is faster than the best peer in {sum(row['ratio'] < 1 for row in known)} of {len(known)} cells. The ratio is "
            f"{statistics.median(row['ratio'] for row in known):.2f} in the median",
            f"and {worst['ratio']:.2f} at worst ({where}{', ' + size_of(worst) if worst['bytes'] else ''}). "
            f"Each cell has {min(len(row['rounds']) for row in rows)} rounds or more;",
            f"{sum(row['flagged_counted'] for row in rows)} cells are disturbed.", ""]


def cell(row):
    """Formats weft's time and ratio, with the marks of the row."""
    marks = "".join(mark for holds, mark in ((row["flagged_counted"], "*"), (row["failures"], "!")) if holds)
    ratio = format_number(row["ratio"]) + marks
    return f"{format_number(row['weft_us'])} ({ratio})" + ("" if row["checked"] else " WRONG RESULT")


def times(rows):
    """Returns a table with a row for each collective, ranks and nodes, and a column for each size."""
    sizes = sorted({row["bytes"] for row in rows} - {0})
    lines = {}
    for row in rows:
        line = lines.setdefault((row["collective"], row["ranks"], row["nodes"]), [""] * max(1, len(sizes)))
        line[sizes.index(row["bytes"]) if row["bytes"] in sizes else 0] = cell(row)
    return table(("collective", "ranks/nodes", *(map(format_bytes, sizes) if sizes else [""])),
                 [[name, f"{ranks}/{nodes}", *line] for (name, ranks, nodes), line in lines.items()])


def collectives(results):
    rows = compared_rows(results)
    lines = ["## Collectives", ""]
    if rows:
        lines += [*summary(rows), *LEGEND, *between_nodes(rows), *times(rows)]
    for name in dict.fromkeys(row["collective"] for row in rows):
        lines += picture(name, name)
    for name in ("compare", "compare_others"):
        found = results.get(name)
        lines += not_measured(name) if found is None else by_command(name, found)
    return lines + spread((results.get("compare") or {}).get("spread"))


def between_nodes(rows):
    """Explains why MPICH has no times between nodes, if it has none."""
    if all(row["mpich_us"] is None and not row["failures"] for row in rows):
        return ["MPICH was not run.", ""]
    rows = [row for row in rows if row["nodes"] > 1]
    if not rows or any(row["mpich_us"] is not None for row in rows):
        return []
    # The text after the cause is a command with paths of one machine.
    reasons = [words.split(": ")[1] for row in rows for words in row["failures"] if words.startswith("mpich: ")]
    why = f"its launches failed ({statistics.mode(reasons)})" if reasons else "it was not run there"
    return [f"MPICH has no times between nodes: {why}.", ""]


def spread(found):
    """Returns the text about the differences between the ratios of two runs."""
    if found is None:
        return []
    worst = max(found["worst"], key=lambda row: row["difference"], default=None)
    where = "" if worst is None else (f" ({worst['collective']}, {worst['ranks']} ranks, {worst['nodes']} nodes, {size_of(worst)}: "
                                      f"{format_number(worst['first'])} and {format_number(worst['second'])})")
    return [f"All {found['rows']} cells of the first command were measured twice. Their ratios differ by "
            f"{percent(found['median'], 1)} in the median",
            f"(limit {percent(found['limit'])}). The largest difference is {percent(found['largest'])}{where}.", ""]


def detection(results):
    found = results.get("tell_apart")
    lines = ["## Detecting a slower call", ""]
    if found is None:
        return lines + not_measured("tell_apart")
    rows = [[answer["name"], "detected" if answer["told_apart"] else "no difference",
             f"{answer['slower_rounds']} of {answer['rounds']}", f"{answer['chance']:.2g}",
             format_number(answer["ratio"], 3), f"{answer['ratio_low']:.3f} to {answer['ratio_high']:.3f}"]
            for answer in found["answers"]]
    return lines + by_command("tell_apart", found) + [
        f"{found['collective']} of {found['bytes']} bytes on {found['ranks']} ranks takes {found['plain_us']:.3f} us. The run took "
        f"{found['seconds']:.0f} seconds. For equally fast sides,",
        f"{percent(found['error'])} of such runs would detect a difference.", "",
        *table(("side", "verdict", "slower rounds", "by chance", "ratio", "between"), rows)]


# ---- The other sections -----------------------------------------------------------------------------


def puts_part(found):
    rows = [[format_bytes(row["bytes"]), format_number(row["put_us"], 3), format_number(row["bare_put_us"], 3),
             format_number(row["put_ratio"]), format_number(row["window_us"], 4), format_number(row["bare_window_us"], 4),
             format_number(row["window_ratio"]), three_digits(row["bytes"] / row["window_us"] / 1000)]
            for row in found["rows"]]
    return [f"Against {found['against']}; medians of {found['rounds']} rounds.", "",
            *table(("bytes", "put us", "bare us", "ratio", "in a window us", "bare us", "ratio", "GB/s"), rows)]


def puts(results):
    lines = ["## Puts", "",
             "One-sided calls between two ranks, beside a bare loop (`memcpy`, or libfabric alone). *put*: half a round trip of a",
             "put and its flag. *In a window*: one of many puts in flight.", ""]
    if results.get("puts_node") or results.get("puts_network"):
        lines += picture("puts", "puts: latency and bandwidth over bytes")
    return lines + parts(results, (("puts_node", "On a node"), ("puts_network", "Between two virtual nodes")), puts_part)


def startup_part(found):
    rows = [[str(row["ranks"]), str(row["nodes"]), format_number(row["total_s"], 3),
             *(seconds(row["phases_s"][name]) for name in ("launch", "join", "network")),
             three_digits(row["phases_s"]["barrier"] * 1000), format_number(row["pss_bytes"] / 2**20),
             format_number(row["segment_touched_bytes"] / 2**10, 0)] for row in found["rows"]]
    lines = table(("ranks", "nodes", "total s", "launch s", "join s", "network s", "first barrier ms",
                   "memory of a rank MiB", "touched put targets KiB"), rows)
    grows = found["growth"]
    if grows is not None:
        lines += [f"From {grows['from_ranks']} to {grows['to_ranks']} ranks the total grows as "
                  f"n^{grows['total_s_exponent']:.2f}, the memory of a rank as n^{grows['pss_bytes_exponent']:.2f}.", ""]
    return [f"Medians of {found['rounds']} launches; phases are those of the slowest rank.", "", *lines]


def startup(results):
    lines = ["## Start-up", ""]
    if results.get("startup") or results.get("startup_nodes"):
        lines += picture("startup", "start-up: seconds and memory over ranks")
    return lines + parts(results, (("startup", "On a node"), ("startup_nodes", "On two virtual nodes")), startup_part)


def overlap_part(found):
    rows = [[format_bytes(row["bytes"]), format_number(row["blocking_us"], 1), format_number(row["computing_us"], 1),
             hidden(row, "computing"), format_number(row["sleeping_us"], 1), hidden(row, "sleeping")]
            for row in found["results"]]
    rounds = ", ".join(str(row["iterations"]) for row in found["results"])
    return [f"{found['ranks']} ranks, {found['nodes']} nodes, {found['provider']}, {rounds} rounds.", "",
            *table(("bytes", "blocking us", "with computing us", "hidden", "with sleeping us", "hidden"), rows)]


def overlap(results):
    return ["## Overlap", "",
            "A rank computes, or sleeps, during an allreduce, for the time that the call takes alone. *Hidden*: the part of the",
            "call that overlapped. *None*: both together took longer than one after the other, by the time given.", "",
            *parts(results, (("overlap_calls", "Progress in calls"), ("overlap_thread", "A progress thread")), overlap_part)]


def simulator(results):
    lines = ["## The simulator", ""]
    found = results.get("simulate")
    if found is None:
        return lines + not_measured("simulate")
    rows = [[row["case"], three_digits(row["least_s"]), three_digits(row["median_s"]),
             f"{row['goal_s']:g}" if row["goal_s"] > 0 else "", str(row["messages"]),
             "missed" if 0 < row["goal_s"] < row["least_s"] else ""] for row in found["rows"]]
    return [*lines, *by_command("simulate", found), f"{found['machine']}; one core.", "",
            *table(("case", "least s", "median s", "goal s", "messages or schedules", ""), rows)]


SECTIONS = (head, machine, collectives, detection, puts, startup, overlap, simulator)


def write_text(results):
    """Returns all sections between the two marks. `results`: objects by name of step."""
    lines = [line for section in SECTIONS for line in section(results)]
    return "\n".join((MARKS[0], "", *lines, MARKS[1])) + "\n"


def replace_results(page, part):
    """Returns the page with the text between its marks replaced by `part`. An empty page becomes the part. Returns None
    if the page has no marks."""
    if not page:
        return part
    before, begin, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1] + "\n")
    return before + part + after if begin and end else None
