# SPDX-License-Identifier: BSD-3-Clause
"""figure - a figure or table of a paper: values from the output of weft commands, a drawing, and text for the page."""
import csv
import io
import json
import os
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PUBLISHED = Path(__file__).resolve().parent / "published"


@dataclass
class Made:
    """The result of making a figure."""
    columns: tuple  # names of the columns
    rows: list  # tuples of values, for the CSV file
    got: str  # statement about the result, for the page
    svg: str = ""  # one drawing, or {suffix of the file name: drawing}
    shown: int = 0  # number of rows that the page also shows


@dataclass
class Figure:
    name: str  # name of its files, and argument of perf/papers/run
    title: str
    says: str  # the paper's statement
    why: str  # reasons for differences, and parts that are not shown
    make: object  # function make(weft, quick) that returns Made; quick: fewer points


class Weft:
    """Runs the weft command; equal commands run once."""

    def __init__(self, path):
        self.path = str(path)
        self.known = {}

    def __call__(self, *words):
        """Returns the JSON object that a command prints."""
        words = tuple(str(word) for word in words)
        if words not in self.known:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
            done = subprocess.run([self.path, *words, "--json"], capture_output=True, text=True, timeout=600,
                                  check=False, env=environment)
            if done.returncode != 0:
                raise RuntimeError(f"weft {' '.join(words)}: {done.stderr.strip()}")
            self.known[words] = json.loads(done.stdout)
        return self.known[words]

    def all(self, commands):
        """Runs many commands, some at the same time, and returns their objects in order."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(lambda words: self(*words), commands))

    def text(self, *words):
        """Runs a command that writes files."""
        subprocess.run([self.path, *map(str, words)], capture_output=True, text=True, timeout=600, check=True)


def published(name):
    """Returns the rows of a file of published/, as dictionaries; texts that are numbers become float."""
    lines = [line for line in (PUBLISHED / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]

    def value(text):
        try:
            return float(text)
        except ValueError:
            return text

    return [{key: value(text) for key, text in row.items()} for row in csv.DictReader(lines)]


def wrapped(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def csv_text(made):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(made.columns)
    for row in made.rows:
        writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
    return out.getvalue()
