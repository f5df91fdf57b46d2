#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: docs/algorithms.md says of every algorithm what the registry and the verifier say of it.
Method: the page is written from `weft list --json` and `weft verify --json`, and compared with the one that stands there.

usage: algorithms_test.py WEFT [--write]        --write puts the page there"""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
PAGE = Path(__file__).resolve().parents[2] / "docs/algorithms.md"
DEADLINE_S = 60
LAYOUTS = ["4,4", "5,5,3"]  # of the ranks whose programs are verified, on nodes
BYTES = 64 * 1024

HEAD = f"""# Algorithms

Every algorithm that the registry holds, with what the verifier proves of its programs. This page is written by
`tests/cli/algorithms_test.py build/dev/bin/weft --write`; the test without `--write` compares it with the programs.
How one is chosen: [selection.md](selection.md). How one is added: [collectives](../collectives/README.md).

- An algorithm is forced by its spec: `WEFT_ALLREDUCE=ring`, or `--algorithm ring:segments=4` of `weft bench`,
  `verify`, `show`, `simulate` and `cost`. Parameters stand with their defaults; behind the spec stand those whose
  default depends on the call. Each spec can be copied as it is (a test runs them all).
- **order**: operands are combined in rank order, at least if the operation asks for it. **bits**: all ranks get the
  same bits, floating point included. **sync**: no rank completes before all have entered.
- The last columns are counted from the programs that the plain name has for 8 ranks on 2 nodes and 13 on 3 (4,4 and
  5,5,3), {BYTES // 1024} KiB in each vector or, where a rank has a block of its own, in each block; root 0. *Rounds*: the longest
  chain of puts and waits. *Puts*: those with data, and + signals. *Sent*: by the rank that sends most, in vectors or
  blocks of {BYTES // 1024} KiB. Where all ranks must be on one node (`mapped`), they are; nothing is put there.
"""


def run(*arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=environment)


def ask(command, algorithm, spec, layout, *more):
    """A command about the programs that a spec has on nodes of these sizes."""
    ranks = sum(int(number) for number in layout.split(","))
    if algorithm["one_node"]:
        layout = str(ranks)
    size = [] if algorithm["collective"] == "barrier" else ["--bytes", str(BYTES)]
    return run(command, algorithm["collective"], "--algorithm", spec, "--ranks", str(ranks), "--layout", layout, *size, *more)


def spec_of(algorithm):
    """The spec with all defaults that are values, and the parameters whose defaults are none."""
    given, others = [], []
    for parameter in algorithm["parameters"]:
        word = f"{parameter['name']}={parameter['default'] or '(a4,a2)'}"  # of a schedule there is no default
        parses = ask("show", algorithm, f"{algorithm['algorithm']}:{word}", LAYOUTS[0]).returncode == 0
        (given if parses else others).append(word)
    return ":".join(filter(None, (algorithm["algorithm"], ",".join(given)))), others


def proved(algorithm, layout):
    """What the verifier counts, or None if the plain name has no program for so many ranks."""
    spec = algorithm["algorithm"]
    if any(parameter["default"] == "" for parameter in algorithm["parameters"]):
        spec, _ = spec_of(algorithm)
    done = ask("verify", algorithm, spec, layout, "--json")
    if done.returncode == 2:
        return None  # refused: needs a power of two, or a schedule
    verdict = json.loads(done.stdout)
    if not verdict["valid"]:
        raise AssertionError(f"{algorithm}: {verdict['error']}")
    return verdict


def counted(verdict):
    if verdict is None:
        return "- | - | -"
    puts = " + ".join(str(verdict[kind]) for kind in ("messages", "signals") if verdict[kind]) or "0"
    if not verdict["messages"]:
        puts = f"+ {verdict['signals']}"
    return f"{verdict['rounds']} | {puts} | {verdict['bytes_sent_max'] / BYTES:.3g}"


def row(algorithm):
    spec, others = spec_of(algorithm)
    spec = ", ".join([f"`{spec}`", *(word.replace("=", ": ") for word in others)])
    holds = ", ".join(word for name, word in (("ordered", "order"), ("bit_identical", "bits"), ("synchronizing", "sync"))
                      if algorithm[name])
    numbers = " | ".join(counted(proved(algorithm, layout)) for layout in LAYOUTS)
    return f"| {spec} | {algorithm['summary']} ({algorithm['source']}) | {holds} | {numbers} |"


def page():
    done = run("list", "--json")
    algorithms = json.loads(done.stdout)["algorithms"]
    lines = [HEAD]
    for collective in dict.fromkeys(algorithm["collective"] for algorithm in algorithms):
        lines += [f"## {collective}", "",
                  "| Spec | Idea (source) | Holds | Rounds, 8 | Puts | Sent | Rounds, 13 | Puts | Sent |",
                  "|---|---|---|---|---|---|---|---|---|"]
        lines += [row(algorithm) for algorithm in algorithms if algorithm["collective"] == collective]
        lines.append("")
    return "\n".join(lines)


class Algorithms(unittest.TestCase):
    def test_the_page_is_what_the_programs_say(self):
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
                shown = ask("show", algorithm, spec, LAYOUTS[0])
                self.assertEqual(shown.returncode, 0, f"{collective} {spec}: {shown.stderr}")
                specs += 1
        self.assertEqual(specs, len(algorithms))


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        unittest.main()
