#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: docs/guide/fabrics.md agrees with the profile of each provider.
Method: writes the page from `weft info --provider NAME --json` and compares it with the existing page.

usage: fabrics_test.py WEFT [--write]        --write replaces the page"""
import json
import os
import re
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
PAGE = Path(__file__).resolve().parents[3] / "docs/guide/fabrics.md"
DEADLINE_S = 60

HEAD = """# Fabrics

What weft does on the network of each libfabric provider: how receivers detect puts, which variables weft sets and why,
and known faults. `weft info --provider NAME` prints the same facts, and `weft info` those of this machine.

On a new network, in this order:

1. `fi_info -p NAME` must list the provider. Otherwise install its requirements, which are listed below.
2. `weft doctor` finds limits of pinned memory, missing devices and unusable addresses.
3. `weft run -n 2 --nodes 2 weft info` (or under `mpirun` or `srun` on two nodes) names the provider and the reason.
   `WEFT_PROVIDER` forces another one.
4. `weft fit` in a job of two nodes measures the costs of puts ([parameters](../selection.md#parameters)). Until then
   the costs below are used.
5. `weft tune` measures algorithms, if predictions are not good enough.

**Several network cards.** Each rank uses the card that is nearest to its processors in hwloc's tree of the machine.
Ranks with several equally near cards spread over them evenly. `weft info` lists the cards (`cards`: name, place on the
PCI bus, distance, ranks of this host). This happens if the cards are hardware in one fabric, and for cards with
internet addresses in one network. In other cases, and for kernel interfaces, `WEFT_CARDS=NAME,NAME` must name the
cards; all of them must reach all hosts. Over the providers that can use several cards, a rank opens up to four. It then
cuts puts above a size that follows from the costs, at least 128 KiB, into pieces for all of them. This needs the
strategy *immediate* or *delivery*, and completions that do not depend on the order of writes: over `tcp` and `net`,
set `WEFT_NOTIFY=immediate`. Registered buffers outside the heap use the first card if the provider chooses keys.

A variable that is already set keeps its value. libfabric reads variables at its first call in a process: if another
library has called it before, `WEFT_LOG=info` names those that came too late.

Receivers detect complete puts in one of these ways. *immediate*: the network reports a completion at the receiver.
*cells*: each word of the data has its own tag. *delivery*: a flag follows after the put has completed. *fence* and
*ordered*: a flag follows at once. *counter*: the network counts writes. [One-sided calls](../one-sided.md) have a table
of further guarantees.

`tests/system/cli/fabrics_test.py build/dev/bin/weft --write` writes this page; a test compares it.
"""


def answer(provider):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    return subprocess.run([WEFT, "info", "--provider", provider, "--json"], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False, env=environment)


def providers():
    """Returns the names of all profiles, from the refusal of an unknown name."""
    known = answer("nonesuch").stderr.split("these have one:")[1]
    return re.findall(r'"([^"]+)"', known)


def amount(count):
    return "any number of" if count >= 1 << 62 else f"{count:,}"


def section(name):
    done = answer(name)
    info = json.loads(done.stdout)
    granted, cost = info["granted"], info["cost"]
    polls = "only while the target polls" if info["target_must_progress"] else "also while the target computes"
    sizes = info["notify"]["sizes"]
    used = " and ".join(dict.fromkeys(size["way"] for size in sizes))
    check = f" Check first: {info['check']}." if info["check"] else ""
    lines = [f"## {name}", "",
             f"Needs {info['needs']}.{check} Facts: {info['declared_by']}.", "",
             f"- Puts of up to {amount(granted['inject_bytes'])} bytes are copied at once; one put has at most "
             f"{amount(granted['message_bytes_max'])} bytes. Data arrives {polls}.",
             f"- Receivers detect puts by {used}."]
    if info["several_cards"]:
        lines += ["- A rank can use several cards for long puts."]
    if info["batches_posts"]:
        lines += ["- Puts to several peers in one step are passed to the card together (FI_MORE)."]
    lines += [f"- {way['way']}: {'promised' if way['promised'] else 'not promised'}: {way['reason']}."
              for way in info["notify"]["ways"] if way["way"] not in ("immediate", "counter") or not way["promised"]]
    lines += [f"- Costs of a put ({cost['source']}): latency {cost['latency_ns'] / 1000:g} us, sender "
              f"{cost['issue_ns'] / 1000:g} us, receiver {cost['receive_ns'] / 1000:g} us, "
              f"{cost['byte_ps'] / 1000:g} ns a byte."]
    if info["settings"]:
        lines += ["", "| Variable | Value | Reason |", "|---|---|---|"]
        lines += [f"| `{one['name']}` | {one['value']} | {one['reason']} |" for one in info["settings"]]
    if info["known_bugs"]:
        lines += ["", "| Known fault of | What |", "|---|---|"]
        lines += [f"| {bug['versions']} | {bug['what']} |" for bug in info["known_bugs"]]
    return "\n".join([*map(wrapped, lines), ""])


def wrapped(line):
    """Returns a paragraph or an entry of a list in lines of at most 120 columns; rows of tables stay whole."""
    if line.startswith("|"):
        return line
    return textwrap.fill(line, 120, subsequent_indent="  " if line.startswith("-") else "",
                         break_long_words=False, break_on_hyphens=False)


def page():
    return "\n".join([HEAD, *(section(name) for name in providers())])


class Fabrics(unittest.TestCase):
    def test_the_page_agrees_with_the_profiles(self):
        self.maxDiff = None
        self.assertEqual(PAGE.read_text(encoding="utf-8"), page())

    def test_every_setting_and_fault_of_the_sources_is_on_the_page(self):
        text = PAGE.read_text(encoding="utf-8")
        named = set()
        for source in (Path(__file__).resolve().parents[3] / "providers").glob("*.[ch]pp"):
            named |= set(re.findall(r'\{"(FI_[A-Z0-9_]+)",', source.read_text(encoding="utf-8")))
        self.assertGreater(len(named), 10)
        for name in named:
            self.assertIn(f"| `{name}` |", text)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        unittest.main()
