# SPDX-License-Identifier: BSD-3-Clause
"""Goal: reproduced figures agree with the numbers in the papers, and docs/papers has the generated pages and files.
Method: run perf/papers with the built command; generate and compare the figures that take only seconds.

    papers_test.py WEFT"""
import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.dom import minidom

sys.dont_write_bytecode = True
WEFT = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[3]
RUN = ROOT / "perf/papers/run"
PAGES = ROOT / "docs/papers"


def load(script):
    loader = importlib.machinery.SourceFileLoader(f"papers_{script.name}", str(script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # for dataclasses
    loader.exec_module(module)
    return module


run, measured = load(RUN), load(RUN.parent / "measured")
# The other figures take longer; some of them are generated with few points (quick()).
COMPARED = ("ruefenacht-table2", "ruefenacht-fig12", "ruefenacht-fig17", "ruefenacht-fig18-23", "huang-formulas",
            "kolmakov-r", "hoefler-table1", "hoefler-table2")
# Calls of libfabric that need a receive at the peer; weft posts receives only for notifications of puts.
TWO_SIDED = re.compile(r"\bfi_t?(send|inject)(v|msg|data)?\(")


class Papers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weft = run.Weft(WEFT)
        cls.figures = {}

    def make(self, name, quick=False):
        if (name, quick) not in self.figures:
            self.figures[name, quick] = run.FIGURES[name].make(self.weft, quick)
        return self.figures[name, quick]

    def test_all_percentages_of_table_2_follow_from_its_times(self):
        rows = self.make("ruefenacht-table2").rows
        self.assertEqual(len(rows), 22)
        for row in rows:
            self.assertAlmostEqual(row[5], row[6], delta=0.5, msg=row)
        self.assertEqual([row[7] for row in rows[::2]],
                         [29.8, 54.8, 19.8, 47.9, 29.8, 46.4, 27.6, 42.5, 26.2, 39.7, 28.2])

    def test_the_least_cost_is_at_four_messages_for_any_number_of_ranks(self):
        rows = self.make("ruefenacht-fig4").rows
        for column in range(1, 6):
            self.assertEqual(min(rows, key=lambda row, column=column: row[column])[0], 4)
        self.assertAlmostEqual(min(row[1] for row in rows), 2, places=9)  # 4.97068 x 0.25 x ln 5

    def test_timelines_end_at_the_published_times(self):
        found = {row.schedule: row.makespan_ns for row in self.make("ruefenacht-fig18-23").rows}
        for _, _, schedule, makespan in run.ruefenacht.TIMELINES:
            if makespan:
                self.assertAlmostEqual(found[schedule], makespan, places=3)

    def test_times_of_kolmakov_and_zhang_are_reproduced(self):
        times = [round(row[1], 1) for row in self.make("kolmakov-r").rows]
        self.assertEqual(times[:8], [160.0, 150.6, 141.8, 134.2, 129.0, 128.7, 138.1, 156.0])
        self.assertEqual([round(time) for time in times[8:]], [166, 2540])

    def test_formulas_of_huang_are_reproduced(self):
        found = {row[0]: row[2] for row in self.make("huang-formulas").rows}
        for name, value in (("rounds between nodes", 2), ("scatter, between nodes, us", 32.2608),
                            ("small allreduce, on a node, us", 1.192), ("small allreduce, between nodes, us", 3.512)):
            self.assertAlmostEqual(found[name], value, places=9)

    def gains_of_huang(self, *cells):
        cells = [(collective, 128, size) for collective, size in cells]
        return [run.huang.gain(call, "single-object") for call in run.huang.predicted(self.weft, cells)]

    def test_stated_speedups_of_huang_are_reproduced(self):
        allgather, scatter, allreduce = self.gains_of_huang(("allgather", 64), ("scatter", 256), ("allreduce", 256))
        self.assertAlmostEqual(allgather, 4.6, delta=0.1)
        self.assertGreater(scatter, 1.4)
        self.assertAlmostEqual(allreduce, 1.31, delta=0.15)

    def test_long_calls_switch_to_the_algorithms_of_huang_for_long_calls(self):
        cells = [("allgather", 128, 1024), ("allgather", 128, 8192), ("allreduce", 32, 1024), ("allreduce", 32, 262144)]
        names = [call.best["multi-object"].algorithm.partition(":")[0]
                 for call in run.huang.predicted(self.weft, cells)]
        self.assertEqual(names, ["multi-object-bruck", "multi-object-ring", "multi-object-small", "multi-object-large"])

    def test_values_of_hoefler_and_moor_are_reproduced(self):
        found = {(row.algorithm, row.bytes): row for row in self.make("hoefler-table1").rows}
        for short, segments, us in (("FT", "", 3320.801), ("KT", "", 694.695), ("BT", "", 379.448), ("PBT", 7, 341.027),
                                    ("DT", 5, 321.824), ("SB", "", 446.968)):
            self.assertEqual(found[short, 65536].segments, segments, short)
            self.assertAlmostEqual(found[short, 65536].time_us, us, delta=0.0006, msg=short)

    def test_stored_files_equal_generated_ones(self):
        for name in COMPARED:
            figure = self.make(name)
            self.assertEqual((PAGES / f"{name}.csv").read_text(encoding="utf-8"), run.csv_text(figure),
                             f"perf/papers/run {name} regenerates it")
            if name == "ruefenacht-fig18-23":
                continue  # weft itself draws these pictures
            for suffix, svg in run.drawings(figure).items():
                self.assertEqual((PAGES / f"{name}{suffix}.svg").read_text(encoding="utf-8"), svg, name)

    def test_pages_have_all_figures_and_no_other_files_exist(self):
        expected = {f"{paper.__name__}.md" for paper in run.PAPERS} | {"delayed.md", "delayed.csv"}  # perf/papers/delayed
        text = (PAGES / "measured.md").read_text(encoding="utf-8")
        for study in measured.STUDIES:
            self.assertIn(f"## {study.title}\n\n{run.wrapped(f'**The paper.** {study.says}')}\n", text)
        expected |= {"measured.md", *(f"measured-{study.name}.{end}" for study in measured.STUDIES for end in ("csv", "svg"))}
        for paper in run.PAPERS:
            text = (PAGES / f"{paper.__name__}.md").read_text(encoding="utf-8")
            for figure in paper.FIGURES:
                self.assertIn(f"## {figure.title}\n", text)
                self.assertIn(run.wrapped(f"**The paper.** {figure.says}"), text)
                expected |= {path.name for path in PAGES.glob(f"{figure.name}*.svg")} | {f"{figure.name}.csv"}
        self.assertEqual({path.name for path in PAGES.iterdir()}, expected)

    def quick(self, name):
        """Generates a figure with few points, and checks that its picture is well-formed."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([RUN, "--weft", WEFT, "--quick", "--output", folder, name], capture_output=True,
                                  text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(name, done.stdout)
            minidom.parse(str(Path(folder) / f"{name}.svg"))
        return self.make(name, True)

    def test_fastest_schedules_on_eight_ranks_depend_on_the_size(self):
        rows = {row[0]: row[1:] for row in self.quick("ruefenacht-fig10").rows}
        self.assertEqual(min(rows[8]), rows[8][3], "a8 is the fastest for 8 bytes")
        self.assertEqual(min(rows[2048]), rows[2048][0], "a2,a2,a2 is the fastest for 2 KB")

    def test_the_map_has_the_fastest_protocols(self):
        for ranks, size, fastest in self.quick("rabenseifner-fig4").rows:
            if size <= 32:  # one direction costs 0.6 of both
                self.assertEqual(fastest, "binary tree" if ranks == 7 else "recursive doubling", ranks)
            self.assertNotEqual((fastest, ranks), ("binary blocks", 64), "64 is a power of two")

    def test_the_best_number_of_omitted_steps_is_never_worse(self):
        for row in self.quick("kolmakov-fig7-10").rows:
            self.assertLessEqual(row.best_us, min(row[row._fields.index("by_formula_us"):]), row)

    def test_the_proposed_algorithm_is_never_slower_than_the_best_of_three(self):
        ratios = {(row.ranks, row.bytes): row.ratio for row in self.quick("kolmakov-fig1").rows}
        self.assertEqual(len(ratios), 6)
        self.assertGreaterEqual(min(ratios.values()), 1)
        self.assertAlmostEqual(ratios[7, 262144], 1.10833, places=5)

    def test_the_sources_have_no_two_sided_sends(self):
        sources = [path for folder in ("src", "providers") for path in (ROOT / folder).rglob("*.[ch]pp")]
        self.assertGreater(len(sources), 100)
        for path in sources:
            self.assertIsNone(TWO_SIDED.search(path.read_text(encoding="utf-8")), path)

    def test_an_unknown_figure_is_refused(self):
        done = subprocess.run([RUN, "nonesuch"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no figure nonesuch", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
