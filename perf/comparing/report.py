# SPDX-License-Identifier: BSD-3-Clause
"""report - docs/performance.md: the text and tables of a run, from its results alone.

Idea     A section is a function from the results of its step to lines; without results it says by which command
         they come. The page is all sections, in order.
Holds    Every number on the page comes from the results. The same results give the same bytes.
Next     plots.py for what is drawn; steps.py for the commands.
"""

import decimal
import statistics

from comparing.page import format_bytes, format_number, ratio_text, remark_on, table
from comparing.spread import key_of
from comparing.steps import PRELUDE, STEPS

COMMANDS = {step.name: step for step in STEPS}
SIDES = ("weft", "openmpi", "mpich")


def picture(name, words):
    return [f"![{words}](performance/{name}.svg)", ""]


def percent(value, digits=0):
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def figures(value):
    """With as many places as its three figures take: what is small is not shown as 0.00."""
    return f"{decimal.Decimal(f'{value:.3g}'):f}"


def seconds(value):
    """Of a phase: what takes less than half a millisecond was hardly there."""
    return "-" if value < 0.0005 else f"{value:.3f}"


def hidden(row, kind):
    """How much of a call the other work hid; where both together took longer than one after the other: by how much."""
    part, both = row[f"hidden_{kind}"], row[f"{kind}_us"]
    return percent(part) if part is None or part >= 0 else f"none (+{both - 2 * row['blocking_us']:.1f} us)"


def not_measured(name):
    step = COMMANDS[name]
    return ["Not measured in this run. The command, after building what it needs:", "",
            "```sh", step.build(), step.command, "```", ""]


def by_command(name, found):
    """The one that was given: a trial is not taken for the whole."""
    return [f"`{found.get('command', COMMANDS[name].command)}`", ""]


def parts(results, titles, body):
    """A part for each step: its title, and its body or the command that is missing."""
    lines = []
    for name, title in titles:
        found = results.get(name)
        lines += [f"### {title}", "", *(not_measured(name) if found is None else [*by_command(name, found), *body(found)])]
    return lines


# ---- Head -------------------------------------------------------------------------------------------

HEAD = """# Performance

Written by `perf/performance` from the results of one run; not by hand. All numbers come from that run and from one
machine.

## Method

Collectives: each side (weft, Open MPI, MPICH) is launched anew in each round, all in turn, and times batches of calls
with the same loop. A time is the median over the rounds of the medians over the batches; `ratio` is weft's time over
that of the best peer, below 1 weft is faster. Quartiles are those of the rounds' own ratios. A row is *disturbed* if
other work, or machine noise, spoilt too many of its rounds. More than one node means virtual nodes: ranks that reach
each other over TCP on the loopback interface; the peers are then held to TCP for all messages, while weft's ranks of
one node share memory. [Measuring](measuring.md) has the details, and what each of the other programs does.
"""


def compared_rows(results):
    """Those of all collectives, whichever step has measured them."""
    return [row for name in ("compare", "compare_others") for row in (results.get(name) or {"rows": ()})["rows"]]


def mean_ratio(rows):
    """The geometric mean, or nothing if no row has a ratio."""
    ratios = [row["ratio"] for row in rows if row["ratio"]]
    return statistics.geometric_mean(ratios) if ratios else None


def first_words(results):
    """What the page is about, and what it is not, before any number of it is believed."""
    found = results.get("compare")
    if found is None:
        return []
    about, rows = found["machine"], compared_rows(results)
    means = [f"{format_number(mean_ratio(part))} {words}" for part, words in
             (([row for row in rows if row["nodes"] == 1], "on one node"),
              ([row for row in rows if row["nodes"] > 1], "between virtual nodes")) if mean_ratio(part) is not None]
    processors = about["processors_usable"]
    return [f"**One machine with {processors} processors, and no network.** More ranks than {processors} share processors, and",
            "nodes are groups of its ranks that reach each other over TCP without leaving it: the times say how much work a",
            "call is, not how quick a cluster will be.",
            f"Measured with {about['weft']} on {found['begun'].split()[0]}.", "",
            *([f"weft's time over that of the best peer, as a geometric mean of all rows: {', '.join(means)}.", ""] if means else []),
            *(picture("summary", "all collectives: weft's time over that of the best peer, over bytes") if means else [])]


def head(results):
    begin, method = HEAD.split("## Method")
    return [*begin.split("\n")[:-1], *first_words(results), *f"## Method{method}".split("\n")]


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
            ("begun", found["begun"]), ("took", f"{found['seconds'] / 60:.1f} minutes"),
            ("one cache line between two processors", f"{format_number(found['calibrator_ns'], 0)} ns in the median")]
    return ["## Machine", "", *table(("", ""), rows)]


def size_of(row):
    return format_bytes(row["bytes"]) if row["bytes"] else "-"


# ---- Collectives ------------------------------------------------------------------------------------


def summary(rows):
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    if not ratios:
        return ["No row has a time of weft and of a peer.", ""]
    worst = max((row for row in rows if row["ratio"] is not None), key=lambda row: row["ratio"])
    disturbed = sum(row["flagged_counted"] for row in rows)
    rounds = min(len(row["rounds"]) for row in rows)
    where = f"{worst['ranks']} ranks, {worst['nodes']} node{'s' if worst['nodes'] > 1 else ''}"
    return [f"weft is faster than both peers in {sum(ratio < 1 for ratio in ratios)} of {len(ratios)} rows; the ratio is "
            f"{statistics.median(ratios):.2f} in the median",
            f"and {worst['ratio']:.2f} at worst ({where}{', ' + size_of(worst) if worst['bytes'] else ''}). "
            f"{rounds} rounds or more a row; {disturbed} rows disturbed.", ""]


def collective(name, rows, again):
    seconds = {key_of(row): row["ratio"] for row in again}
    over_bytes = len({row["bytes"] for row in rows}) > 1
    columns = ["ranks", "nodes", *(["bytes"] if over_bytes else []), "weft us", "Open MPI us", "MPICH us", "ratio",
               "quartiles", *(["ratio again"] if again else []), ""]
    lines = []
    for row in rows:
        lines.append([str(row["ranks"]), str(row["nodes"]), *([format_bytes(row["bytes"])] if over_bytes else []),
                      *(format_number(row[f"{side}_us"]) for side in SIDES), *ratio_text(row).split(" | "),
                      *([format_number(seconds.get(key_of(row)))] if again else []), remark_on(row)])
    return [f"### {name}", "", *picture(name, f"{name}: time of a call over bytes, for each number of ranks and nodes"),
            *summary(rows), *table(columns, lines)]


def collectives(results):
    lines = ["## Collectives", "", *between_nodes(compared_rows(results))]
    found = results.get("compare")
    if found is None:
        lines += not_measured("compare")
    else:
        again = [row for repeat in found["repeats"][:1] for row in repeat["rows"]]
        lines += [*by_command("compare", found), *each_collective(found["rows"], again), *spread(found["spread"])]
    others = results.get("compare_others")
    lines += ["### Others", ""]
    return lines + (not_measured("compare_others") if others is None else
                    [*by_command("compare_others", others), *each_collective(others["rows"], ())])


def each_collective(rows, again):
    names = dict.fromkeys(row["collective"] for row in rows)
    return [line for name in names for line in collective(name, [row for row in rows if row["collective"] == name], again)]


def between_nodes(rows):
    """Why MPICH has no times between nodes, where it has none."""
    if all(row["mpich_us"] is None and not row["failures"] for row in rows):
        return ["MPICH was not run.", ""]
    rows = [row for row in rows if row["nodes"] > 1]
    if not rows or any(row["mpich_us"] is not None for row in rows):
        return []
    # What is said after the cause, the command, is of one machine.
    reasons = [words.split(": ")[1] for row in rows for words in row["failures"] if words.startswith("mpich: ")]
    why = f"its launches failed ({statistics.mode(reasons)})" if reasons else "it was not run there"
    return [f"MPICH has no times between nodes: {why}.", ""]


def spread(found):
    if found is None:
        return []
    rows = [[row["collective"], str(row["ranks"]), str(row["nodes"]), size_of(row), format_number(row["first"]),
             format_number(row["second"]), percent(row["difference"])] for row in found["worst"]]
    return ["### Two runs", "",
            f"All of it was measured twice. The ratios of {found['rows']} rows differ by {percent(found['median'], 1)} in the "
            f"median and {percent(found['largest'])} at",
            f"most (|first / second - 1|; the limit for the median is {percent(found['limit'])}). The rows that differ most:",
            "", *table(("collective", "ranks", "nodes", "bytes", "ratio", "ratio again", "difference"), rows)]


def telling(results):
    found = results.get("tell_apart")
    lines = ["## Detecting a slower call", ""]
    if found is None:
        return lines + not_measured("tell_apart")
    rows = [[answer["name"], "detected" if answer["told_apart"] else "no difference",
             f"{answer['slower_rounds']} of {answer['rounds']}", f"{answer['chance']:.2g}",
             format_number(answer["ratio"], 3), f"{answer['ratio_low']:.3f} to {answer['ratio_high']:.3f}"]
            for answer in found["answers"]]
    return lines + by_command("tell_apart", found) + [
        f"{found['collective']} of {found['bytes']} bytes on {found['ranks']} ranks, {found['plain_us']:.3f} us; "
        f"{found['seconds']:.0f} seconds. Between equally fast sides",
        f"a difference would be detected in {percent(found['error'])} of such runs.", "",
        *table(("side", "verdict", "slower rounds", "by chance", "ratio", "between"), rows)]


# ---- The other sections -----------------------------------------------------------------------------


def puts_part(found):
    rows = [[format_bytes(row["bytes"]), format_number(row["put_us"], 3), format_number(row["bare_put_us"], 3),
             format_number(row["put_ratio"]), format_number(row["window_us"], 4), format_number(row["bare_window_us"], 4),
             format_number(row["window_ratio"]), figures(row["bytes"] / row["window_us"] / 1000)]
            for row in found["rows"]]
    return [f"Against {found['against']}; medians of {found['rounds']} rounds.", "",
            *table(("bytes", "put us", "bare us", "ratio", "in a window us", "bare us", "ratio", "GB/s"), rows)]


def puts(results):
    lines = ["## Puts", "",
             "One-sided calls between two ranks against the thinnest way to do the same: a put with its flag, half of there",
             "and back, and one put of a window of many.", ""]
    if results.get("puts_node") or results.get("puts_network"):
        lines += picture("puts", "puts: latency and bandwidth over bytes")
    return lines + parts(results, (("puts_node", "On a node"), ("puts_network", "Between two virtual nodes")), puts_part)


def startup_part(found):
    rows = [[str(row["ranks"]), str(row["nodes"]), format_number(row["total_s"], 3),
             *(seconds(row["phases_s"][name]) for name in ("launch", "join", "network")),
             figures(row["phases_s"]["barrier"] * 1000), format_number(row["pss_bytes"] / 2**20),
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
            "An allreduce during which a rank computes, or sleeps, for as long as the call would take alone, without and with",
            "a progress thread. *Hidden* is the part of the call that overlapped; *none*: both together took so much longer",
            "than one after the other.", "",
            *parts(results, (("overlap_calls", "Progress in calls"), ("overlap_thread", "A progress thread")), overlap_part)]


def simulator(results):
    lines = ["## The simulator", ""]
    found = results.get("simulate")
    if found is None:
        return lines + not_measured("simulate")
    rows = [[row["case"], figures(row["least_s"]), figures(row["median_s"]),
             f"{row['goal_s']:g}" if row["goal_s"] > 0 else "", str(row["messages"]),
             "missed" if 0 < row["goal_s"] < row["least_s"] else ""] for row in found["rows"]]
    return [*lines, *by_command("simulate", found), f"{found['machine']}; one core.", "",
            *table(("case", "least s", "median s", "goal s", "messages or schedules", ""), rows)]


REPEATING = f"""## How to repeat it

On a machine where nothing else runs; what it needs beside the build is named in `cmake/debian-packages.txt` (group
peers). All of it takes about an hour on two processors, and goes on where it was interrupted.

```sh
{PRELUDE}
cmake --build --preset release --target perf_put_compare --target perf_simulate
perf/performance                        # measures into build/performance and writes this page and its plots
perf/performance --render               # the page again, from the results that are there
```

One part alone:

```sh
"""


def repeating(_):
    return [*REPEATING.splitlines(), *(step.command for step in STEPS), "```"]


SECTIONS = (head, machine, collectives, telling, puts, startup, overlap, simulator, repeating)


def write_text(results):
    """The page, from the objects by name of step; steps that are missing are named on it."""
    lines = [line for section in SECTIONS for line in section(results)]
    return "<!-- SPDX-License-Identifier: BSD-3-Clause. Written by perf/performance. -->\n" + "\n".join(lines) + "\n"
