#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: docs/interfaces.md agrees with the programs and the headers.
Method: generate the lists that programs or headers contain, and compare them with the page. Compare the fields of JSON
objects on the page with objects that the programs print.

usage: interfaces_test.py WEFT [--write]        --write puts the generated lists into the page"""
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/interfaces.md"
HEADERS = [ROOT / "include/weft" / name
           for name in ("core.h", "failures.h", "threads.h", "onesided.h", "messages.h", "near.h", "neighbors.h",
                        "exact_sum.h")]
DEADLINE_S = 60
WRITTEN = re.compile(r"(<!-- written: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

FOUR_RANKS = ["--algorithm", "a2,a2", "--ranks", "4"]
GOAL = "FILE"  # placeholder for a GOAL file that the test writes
SAMPLES = {  # arguments for each command that prints JSON, so that all fields occur
    "verify": [["allreduce", *FOUR_RANKS]],
    "list": [[]],
    "show": [["allreduce", *FOUR_RANKS]],
    "bench": [["allreduce", "--bytes", "8", "--iterations", "20", "--histogram"],
              ["allreduce", "--bytes", "8", "--iterations", "20", "--algorithm", "auto", "--algorithm", "auto"],
              ["put-latency", "--bytes", "8", "--iterations", "20"]],
    "info": [[], ["--environment"]],
    "enumerate": [["--ranks", "6", "--kind", "factored"], ["--ranks", "6", "--best"],
                  ["--ranks", "30", "--best", "--up-to"],
                  ["--ranks", "30", "--kind", "factored", "--count", "--unordered", "--up-to"]],
    "simulate": [["allreduce", *FOUR_RANKS, "--latency-ns", "1000"]],
    "goal": [[GOAL, "--params", "infiniband-2007"]],
    "cost": [["allreduce", *FOUR_RANKS], ["allreduce", "--ranks", "4", "--pareto"]],
    "doctor": [[]],
    "formula": [[]],
    "explain": [["allreduce", "--ranks", "4"]],
    "help": [[]],
}

WITHOUT_FIXED_FIELDS = ("arguments", "phases_s", "environment", "peers_us")  # objects whose field names are data


def run(*command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=environment)
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}: {done.stderr}")
    return done.stdout


def reference():
    return json.loads(run(WEFT, "help", "--json"))


# ---- Generated lists --------------------------------------------------------------------------------


def cell(text):
    return text.replace("|", "\\|")


def option_table(options):
    lines = ["| Option | Value | Default | Meaning |", "|---|---|---|---|"]
    for option in options:
        value = option["value"]
        if option["choices"]:
            value = ", ".join(option["choices"])
        elif option["range"]:
            value = f"{value}, {option['range']}"
        default = f"`{option['default']}`" if option["default"] else ""
        default = "required" if option["required"] else default
        names = ", ".join(f"`{name}`" for name in option["names"])
        lines.append(f"| {names} | {cell(value)} | {default} | {cell(option['help'])} |")
    return lines


def script_options(script):
    shown = run(sys.executable, str(ROOT / script), "--help")
    names = re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.MULTILINE)
    return [" ".join(f"`{name}`" for name in names)]


def settings():
    table = json.loads(run(WEFT, "info", "--environment", "--json"))["environment"]
    return [f"- `{line['name']}`: {line['meaning']}" for line in table]


def header_text():
    whole = "".join(header.read_text(encoding="utf-8") for header in HEADERS)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", whole, flags=re.DOTALL)
    return re.sub(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.MULTILINE)


def prototypes():
    found = re.findall(r"WEFT_API\s+([^;{]*\))\s*;", header_text())
    return ["```c", *(" ".join(one.split()) + ";" for one in found), "```"]


def constants():
    lines = []
    for name, body in re.findall(r"typedef enum (\w+)[^{]*\{(.*?)\}", header_text(), re.DOTALL):
        words = re.findall(r"\b(WEFT_\w+)\b(?=\s*(?:=|,|$|\n|\Z))", body)
        lines.append(f"- `{name}`: " + " ".join(f"`{word}`" for word in words if not word.endswith("_RANGE")))
    return lines


def write_list(name, known):
    kind, _, subject = name.partition(":")
    if kind == "options":
        command = next(one for one in known["commands"] if one["name"] == subject)
        return option_table(command["arguments"] + command["options"])
    if kind == "script":
        return script_options(subject)
    return {"commands": lambda: [f"- `weft {one['name']}`: {one['summary']}" for one in known["commands"]],
            "environment": settings, "prototypes": prototypes, "constants": constants}[kind]()


def write_page(text):
    known = reference()
    return WRITTEN.sub(lambda m: m[1] + "\n".join(write_list(m[2], known)) + "\n" + m[4], text)


# ---- Fields of objects ------------------------------------------------------------------------------


def fields_of(page, title):
    """Returns {path: fields} of the objects in the section `title` of the page; None: no such section."""
    section = re.search(rf"^### `{re.escape(title)}`\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    if section is None:
        return None
    lines = re.findall(r"^- JSON(?:, `([^`]+)`)?: (.*\n(?:  .*\n)*)", section[1], re.MULTILINE)
    return {path or ".": re.findall(r"`(\w+)`", fields) for path, fields in lines}


def at_path(value, path):
    """Returns all objects at a path such as results[].histogram[]."""
    found = [value]
    for part in [] if path == "." else path.split("."):
        name, many = part.removesuffix("[]"), part.endswith("[]")
        found = [one[name] for one in found if isinstance(one, dict) and name in one]
        if many:
            found = [item for one in found for item in one]
    return [one for one in found if isinstance(one, dict)]


class Interfaces(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.page = PAGE.read_text(encoding="utf-8")
        cls.known = reference()

    def test_lists_of_the_page_agree_with_programs_and_header(self):
        for _, name, text, _ in WRITTEN.findall(self.page):
            with self.subTest(list=name):
                self.assertEqual(text.splitlines(), write_list(name, self.known),
                                 "python3 tests/system/cli/interfaces_test.py WEFT --write generates it")

    def test_every_command_has_its_options_and_fields(self):
        lists = {name for _, name, _, _ in WRITTEN.findall(self.page)}
        self.assertLessEqual({"commands", "environment", "prototypes", "constants"}, lists)
        for command in self.known["commands"]:
            name = command["name"]
            self.assertIn(f"options:{name}", lists)
            prints_json = any("--json" in option["names"] for option in command["options"])
            self.assertEqual(prints_json, bool(fields_of(self.page, f"weft {name}")), name)
            self.assertEqual(prints_json, name in SAMPLES, name)

    def check_fields(self, title, objects):
        documented = fields_of(self.page, title)
        for path, fields in documented.items():
            found = {field for value in objects for one in at_path(value, path) for field in one}
            self.assertEqual(found, set(fields), f"{title}: {path}")
        # Each object that another object contains must also be on the page.
        for value in objects:
            self.check_paths(title, value, "", documented)

    def check_paths(self, title, value, path, documented):
        for name, inner in value.items():
            inner_path = f"{path}.{name}" if path else name
            if isinstance(inner, dict) and name not in WITHOUT_FIXED_FIELDS:
                self.assertIn(inner_path, documented, title)
                self.check_paths(title, inner, inner_path, documented)
            elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
                self.assertIn(inner_path + "[]", documented, title)
                self.check_paths(title, inner[0], inner_path + "[]", documented)

    def test_objects_have_the_fields_of_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            goal = str(Path(folder, "schedule.goal"))
            run(WEFT, "simulate", "allreduce", *FOUR_RANKS, "--goal", goal)
            for name, calls in SAMPLES.items():
                with self.subTest(command=name):
                    written = [[goal if word == GOAL else word for word in call] for call in calls]
                    self.check_fields(f"weft {name}",
                                      [json.loads(run(WEFT, name, *call, "--json")) for call in written])

    def test_objects_of_the_scripts_have_the_fields_of_the_page(self):
        """Runs the scripts as tests/system/perf does: with fake programs that print given times."""
        sys.path.insert(0, str(ROOT / "tests/system/perf"))
        for name, call, plan, arguments in (
                ("compare", "Job", {"mpiexec": [3]}, ("--quick", "--collectives", "barrier")),
                ("startup", "startup", [1], ("--ranks", "2,8", "--rounds", "1")),
                ("tell_apart", "call", {}, ("--rounds", "20"))):
            done = getattr(importlib.import_module(f"{name}_test"), call)(plan, *arguments, "--json")
            self.assertEqual(done.status, 0, done.err)
            self.check_fields(f"perf/{name.replace('_', '-')}", [done.json()])


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(write_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        unittest.main()
