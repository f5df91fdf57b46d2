#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: docs/algorithms.md agrees with the registry and the verifier about every algorithm.
Method: writes the page from `weft list --json` and `weft verify --json` and compares it with the existing page.

usage: algorithms_test.py WEFT [--write]        --write replaces the page"""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
PAGE = Path(__file__).resolve().parents[3] / "docs/algorithms.md"
DEADLINE_S = 60
LAYOUTS = ["4,4", "5,5,3"]  # ranks of each node for the verified programs
BYTES = 64 * 1024

HEAD = f"""# Algorithms

All algorithms, and facts that the verifier proves. A spec forces an algorithm: `WEFT_ALLREDUCE=ring`, or `--algorithm
ring:segments=4` of `weft bench`, `verify`, `show`, `simulate` and `cost`. Otherwise the model chooses
([selection.md](selection.md)). [collectives](../collectives/README.md) says how to add one.

- **Spec**: name and parameters with defaults, then those whose default depends on the call.
- **Source**: authors and section; `weft list --json` has titles. *Composed*: of the algorithms of `node` and `net`.
- **Lacks**: *order*: combines in rank order if the operation requires it. *bits*: all ranks get the same bits. *sync*:
  no rank completes before all have entered. *sizes*: serves 13 ranks on nodes of 5, 5 and 3.
- **Rounds** (longest chain of puts and waits), **puts** (+ signals) and buffers or blocks **sent** by the busiest rank:
  8 ranks on 2 nodes (`mapped`: one node), {BYTES // 1024} KiB a buffer or block, root 0.

`tests/system/cli/algorithms_test.py build/dev/bin/weft --write` writes this page; a test compares it.
"""


def run(*arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=environment)


def run_on(command, algorithm, spec, layout, *more):
    """Runs a command on a spec's programs for a layout; on one node if the algorithm requires it."""
    ranks = sum(int(number) for number in layout.split(","))
    if algorithm["one_node"]:
        layout = str(ranks)
    size = [] if algorithm["collective"] == "barrier" else ["--bytes", str(BYTES)]
    return run(command, algorithm["collective"], "--algorithm", spec, "--ranks", str(ranks), "--layout", layout, *size, *more)


def spec_of(algorithm):
    """Returns the spec with each parameter that has a value by default, and a list of the other parameters."""
    with_value, others = [], []
    for parameter in algorithm["parameters"]:
        word = f"{parameter['name']}={parameter['default'] or '(a4,a2)'}"  # a parameter for a schedule has no default
        parses = run_on("show", algorithm, f"{algorithm['algorithm']}:{word}", LAYOUTS[0]).returncode == 0
        (with_value if parses else others).append(word)
    return ":".join(filter(None, (algorithm["algorithm"], ",".join(with_value)))), others


def verdict_of(algorithm, layout):
    """Returns the verifier's result; None if the algorithm without parameters does not serve this number of ranks."""
    spec = algorithm["algorithm"]
    if any(parameter["default"] == "" for parameter in algorithm["parameters"]):
        spec, _ = spec_of(algorithm)
    done = run_on("verify", algorithm, spec, layout, "--json")
    if done.returncode == 2:
        return None  # refused: needs a power of two, or a schedule
    verdict = json.loads(done.stdout)
    if not verdict["valid"]:
        raise AssertionError(f"{algorithm}: {verdict['error']}")
    return verdict


def counts_of(verdict):
    if verdict is None:
        return "- | - | -"
    puts = str(verdict["messages"]) + (f"+{verdict['signals']}" if verdict["signals"] else "")
    return f"{verdict['rounds']} | {puts} | {verdict['bytes_sent_max'] / BYTES:.3g}"


def source_of(algorithm):
    """Returns authors and sections of the sources, without titles."""
    def short(source):
        first, *others = source.split(", ")
        if others and re.fullmatch(r"\w+ and \w+", others[0]):
            first += " et al."
        sections = (part.replace("section ", "") for part in others if re.match("section|algorithm", part))
        return " ".join([first.replace(" and ", ", "), *sections])
    source = algorithm["source"]
    return "composed" if source.startswith("composed") else "; ".join(map(short, source.split("; ")))


def row(algorithm):
    spec, others = spec_of(algorithm)
    spec = ", ".join([f"`{spec}`", *(word.split("=")[0] for word in others)])
    first, second = (verdict_of(algorithm, layout) for layout in LAYOUTS)
    lacks = [word for name, word in (("ordered", "order"), ("bit_identical", "bits"), ("synchronizing", "sync"))
             if not algorithm[name]]
    if second is None:
        lacks.append("sizes")
    return f"| {spec} | {algorithm['summary']} | {source_of(algorithm)} | {', '.join(lacks)} | {counts_of(first)} |"


def page():
    done = run("list", "--json")
    algorithms = json.loads(done.stdout)["algorithms"]
    lines = [HEAD]
    for collective in dict.fromkeys(algorithm["collective"] for algorithm in algorithms):
        lines += [f"## {collective}", "",
                  "| Spec | Idea | Source | Lacks | Rounds | Puts | Sent |",
                  "|---|---|---|---|---|---|---|"]
        lines += [row(algorithm) for algorithm in algorithms if algorithm["collective"] == collective]
        lines.append("")
    return "\n".join(lines)


class Algorithms(unittest.TestCase):
    def test_the_page_agrees_with_the_programs(self):
        self.maxDiff = None
        self.assertEqual(PAGE.read_text(encoding="utf-8"), page())

    def test_every_spec_on_the_page_parses(self):
        algorithms = json.loads(run("list", "--json").stdout)["algorithms"]
        known = {(algorithm["collective"], algorithm["algorithm"]): algorithm for algorithm in algorithms}
        collective, specs = "", 0
        for line in PAGE.read_text(encoding="utf-8").splitlines():
            if heading := re.match(r"## (\w+)$", line):
                collective = heading[1]
            for spec in re.findall(r"^\| `([^`]+)`", line):
                algorithm = known[collective, spec.split(":")[0]]
                shown = run_on("show", algorithm, spec, LAYOUTS[0])
                self.assertEqual(shown.returncode, 0, f"{collective} {spec}: {shown.stderr}")
                specs += 1
        self.assertEqual(specs, len(algorithms))


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        unittest.main()
