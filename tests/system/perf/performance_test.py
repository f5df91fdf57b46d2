# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/performance writes all results of a run to a page, equal results to equal pages, and names missing results.
Method: run the script on recorded results (performance/) and on none; compare files byte by byte."""

import copy
import importlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
PERF = HERE.parent.parent.parent / "perf"
RECORDED = HERE / "performance"
sys.path.insert(0, str(PERF))
sys.dont_write_bytecode = True
report = importlib.import_module("comparing.report")
steps = importlib.import_module("comparing.steps")

NAMES = [step.name for step in steps.STEPS]


def recorded():
    return {name: json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8")) for name in NAMES}


def section(page, title):
    """Returns the text after a heading, up to the next heading of its level or above."""
    level = len(title) - len(title.lstrip("#"))
    return re.split(rf"\n#{{1,{level}}} ", page.split(f"{title}\n", 1)[1], maxsplit=1)[0]


def table_rows(text):
    return len(re.findall(r"^\| (?!-)", text, re.MULTILINE)) - len(re.findall(r"^\|---", text, re.MULTILINE))


def drawing_python():
    """Returns a Python interpreter that has Matplotlib, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


class Text(unittest.TestCase):
    def setUp(self):
        self.results = recorded()
        self.page = report.write_text(self.results)

    def test_each_part_has_its_table(self):
        compared = self.results["compare"]["rows"] + self.results["compare_others"]["rows"]
        times = section(self.page, "## Collectives")
        self.assertEqual(table_rows(times), len({(row["collective"], row["ranks"], row["nodes"]) for row in compared}))
        for row in compared:
            shape = rf"{row['collective']} \| {row['ranks']}/{row['nodes']}"
            self.assertIn(f" {report.cell(row)} |", re.search(rf"^\| {shape} .*", times, re.MULTILINE)[0])
        for title, name in (("### On a node", "puts_node"), ("### Between two virtual nodes", "puts_network"),
                            ("### On two virtual nodes", "startup_nodes"), ("### Progress in calls", "overlap_calls"),
                            ("### A progress thread", "overlap_thread"), ("## The simulator", "simulate")):
            rows = self.results[name].get("rows") or self.results[name]["results"]
            self.assertEqual(table_rows(section(self.page, title)), len(rows), title)
        self.assertEqual(table_rows(section(self.page, "## Detecting a slower call")), 2)
        self.assertIn("The largest difference is 71 % (barrier, 2 ranks, 1 nodes, -: 10787.60 and 37093.40).", times)
        self.assertIn(self.results["compare"]["machine"]["processor"], section(self.page, "## Machine"))
        self.assertNotIn("Not measured", self.page)

    def test_numbers_equal_the_results(self):
        row = self.results["compare"]["rows"][0]
        row["weft_us"], row["ratio"] = 1234.56, 78900
        changed = report.write_text(self.results)
        shown = section(changed, "## Collectives")
        self.assertIn("| 1234.56 (78900.00", shown)
        self.assertIn("78900.00 at worst", shown)

    def test_small_rates_and_negative_shares_are_printed_usefully(self):
        self.results["puts_network"]["rows"][0].update(bytes=8, window_us=7.4)
        self.assertIn("| 0.00108 |", section(report.write_text(self.results), "### Between two virtual nodes"))
        row = self.results["overlap_calls"]["results"][0]
        row.update(blocking_us=10.0, computing_us=92.8, hidden_computing=-7.28)
        changed = section(report.write_text(self.results), "### Progress in calls")
        self.assertIn("| none (+72.8 us) |", changed)
        self.assertNotIn("-728", changed)

    def test_no_figure_of_the_page_is_zero_or_negative(self):
        for row in self.results["puts_node"]["rows"] + self.results["puts_network"]["rows"]:
            row.update(window_us=1e5 * row["bytes"])
        for row in self.results["simulate"]["rows"]:
            row.update(least_s=3e-6, median_s=4.04e-6)
        for row in self.results["startup"]["rows"]:
            row["phases_s"] = dict.fromkeys(row["phases_s"], 1e-7)
        for name in ("overlap_calls", "overlap_thread"):
            for row in self.results[name]["results"]:
                row.update(hidden_computing=-7.28, hidden_sleeping=-0.001)
        shown = [section(report.write_text(self.results), title)
                 for title in ("## Puts", "## Start-up", "## Overlap", "## The simulator")]
        for text in shown:
            self.assertNotRegex(text, r"\| -?0(\.0*)? \||-\d+(\.\d+)? %")
        self.assertIn("| 0.000003 | 0.00000404 |", shown[-1])

    def test_a_row_with_a_failed_side_is_shown_and_marked(self):
        row = self.results["compare"]["rows"][0]
        row.update(mpich_us=None, failures=["mpich: no end within 30 s"], flagged_counted=False)
        self.assertIn(f"({row['ratio']:.2f}!) |", section(report.write_text(self.results), "## Collectives"))
        row.update(weft_us=None, ratio=None, ratio_low=None, ratio_high=None, ratio_paired=None, checked=False)
        self.assertIn("| - (-!) WRONG RESULT |", section(report.write_text(self.results), "## Collectives"))

    def test_the_introduction_names_the_machine_and_the_measurement(self):
        first = self.page.split("## Machine")[0]
        machine = self.results["compare"]["machine"]
        self.assertIn(f"One machine with {machine['processors_usable']} processors, and no network", first)
        self.assertIn(f"{machine['weft']} on {self.results['compare']['begun'].split()[0]}", first)
        self.assertIn("1.25 between virtual nodes", first)
        self.assertIn("(performance/summary.svg)", first)

    def test_the_page_explains_missing_times_of_a_peer(self):
        reason = "MPICH has no times between nodes: its launches failed (no end within 30 s)."
        self.assertIn(reason, self.page)
        row = {"nodes": 4, "mpich_us": None, "failures": ["mpich: no end: /opt/weft/build/release/bin/peer"]}
        self.assertIn("(no end).", report.between_nodes([row])[0])
        self.results["compare_others"]["rows"][0]["mpich_us"] = 3.0
        self.assertNotIn("MPICH has no times", report.write_text(self.results))

    def test_missing_results_are_named_with_their_command(self):
        for name in NAMES:
            results = copy.copy(self.results)
            del results[name]
            page = report.write_text(results)
            step = report.COMMANDS[name]
            self.assertIn(f"{step.build()}\n{step.command}\n", page)
        empty = report.write_text({})
        for step in steps.STEPS:
            self.assertIn(f"Not measured in this run. The command, after building its programs:\n\n```sh\n{step.build()}\n"
                          f"{step.command}\n```", empty)
        self.assertNotIn(".svg", empty)

    def test_each_part_names_its_command(self):
        for name, extent in (("compare", "short"), ("overlap_calls", "quick")):
            step = report.COMMANDS[name]
            self.assertGreater(len(step.words("", extent)), len(step.words("", "full")))
            self.results[name]["command"] = step.shown(extent)
            self.assertIn(f"`{step.command} {step.extra_options[extent]}`", report.write_text(self.results))

    def test_the_programs_of_all_commands_exist(self):
        for step in steps.STEPS:
            program = step.command.split()[0]
            self.assertTrue(program.startswith("build/") or (PERF.parent / program).exists(), step.command)


class Files(unittest.TestCase):
    def setUp(self):
        self.python = drawing_python()
        if self.python is None:
            self.skipTest("Matplotlib is not installed")

    def render(self, results, page):
        return subprocess.run([self.python, "-B", str(PERF / "performance"), "--render", "--results", str(results),
                               "--page", str(page)], capture_output=True, text=True, timeout=60, check=False)

    def test_repeated_runs_write_equal_pages_and_plots(self):
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            for folder in (first, second):
                done = self.render(RECORDED, pathlib.Path(folder, "page.md"))
                self.assertEqual(done.returncode, 0, done.stderr)
            files = sorted(path.relative_to(first) for path in pathlib.Path(first).rglob("*") if path.is_file())
            compared = [row for name in ("compare", "compare_others") for row in recorded()[name]["rows"]]
            collectives = sorted({row["collective"] for row in compared})
            self.assertEqual({path.stem for path in files}, {"page", "summary", *collectives, "puts", "startup"})
            for path in files:
                self.assertEqual(pathlib.Path(first, path).read_bytes(), pathlib.Path(second, path).read_bytes(), path)
            page = pathlib.Path(first, "page.md").read_text(encoding="utf-8")
            for path in re.findall(r"\]\((page/\w+\.svg)\)", page):
                self.check_drawing(pathlib.Path(first, path))
            self.assertEqual(page.count("](page/"), len(files) - 1)

    def check_drawing(self, path):
        """Checks that words are drawn as text, and lines as lines."""
        tree = xml.etree.ElementTree.parse(path)
        tags = [element.tag.rsplit("}", 1)[-1] for element in tree.iter()]
        self.assertGreater(tags.count("text"), 5, path)
        self.assertGreater(tags.count("path"), 5, path)
        self.assertNotIn("image", tags, path)
        self.assertLess(path.stat().st_size, 200_000, path)

    def test_text_outside_the_marks_is_kept(self):
        begin, end = report.MARKS
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
            self.assertEqual(self.render(RECORDED, page).returncode, 0)
            text = page.read_text(encoding="utf-8")
            self.assertTrue(text.startswith(f"before\n{begin}\n\n## Results\n") and text.endswith(f"\n{end}\nafter\n"))
            self.assertNotIn("old\n", text)
            page.write_text("no marks\n", encoding="utf-8")
            done = self.render(RECORDED, page)
            self.assertEqual((done.returncode, page.read_text(encoding="utf-8")), (3, "no marks\n"))
            self.assertIn("has no marks", done.stderr)

    def test_missing_results_are_reported_and_old_plots_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            self.assertEqual(self.render(RECORDED, page).returncode, 0)
            done = self.render(folder, page)
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"not measured: {', '.join(NAMES)}", done.stderr)
            self.assertEqual(list(pathlib.Path(folder, "page").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
