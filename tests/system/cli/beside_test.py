#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: values that commands print beside weft's times are right: times of MPI libraries (bench --compare), predictions
#       (explain --measure), and shares of a call's time that the ranks' own work hides (bench overlap).
# Method: jobs of two ranks. Scripts beside a copy of weft replace the MPI libraries' benches and print known times.
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

from command import WEFT, answer, check_refusals, run, weft

PEER = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
[ -e "$(dirname "$0")/broken" ] && { echo ------; echo "no network"; exit 17; }
echo a line of a launcher
echo '{"results": [{"bytes": 8, "median_us": 1000000, "checked": true}, {"bytes": 1024, "median_us": 0.001, "checked": true}]}'
"""
# Replaces mpirun: drops the options before the bench and executes the bench.
LAUNCHER = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in */peer_*) exec "$@" ;; *) shift ;; esac; done
"""


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weft-beside."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        shutil.copy(WEFT, self.folder / "weft")
        for name, text in (("peer_openmpi", PEER), ("peer_mpich", PEER), ("mpirun.openmpi", LAUNCHER),
                           ("mpiexec.mpich", LAUNCHER)):
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o755)

    def bench(self, *words):
        return run(str(self.folder / "weft"), "bench", "allreduce", "-n", "2", "--bytes", "8,1K", "--seconds", "0.02",
                   *words, settings={"PATH": f"{self.folder}:{os.environ['PATH']}"})

    def test_each_size_has_a_time_for_each_library_and_a_ratio(self):
        done = self.bench("--compare", "openmpi,mpich", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([row["bytes"] for row in found["results"]], [8, 1024])
        for row, time in zip(found["results"], (1e6, 1e-3)):
            self.assertEqual((row["openmpi_us"], row["mpich_us"]), (time, time))
            self.assertAlmostEqual(row["ratio"] * time, row["weft_us"], delta=1e-3 * row["weft_us"])
            self.assertGreater(row["weft_us"], 0)
        calls = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(calls), 2 * found["rounds"])
        for call in calls:
            self.assertIn("--collective allreduce --bytes 8,1024 --type double --op sum", call)
        table = self.bench("--compare", "openmpi")
        self.assertRegex(table.stdout, r"(?m)^ +8 +[0-9.]+ +1000000.000 +0.000$")

    def test_a_library_that_fails_is_named_once(self):
        (self.folder / "broken").touch()
        done = self.bench("--compare", "openmpi", "--json")
        self.assertEqual((done.returncode, done.stderr), (3, "weft bench: openmpi: no network\n"))
        found = json.loads(done.stdout)
        self.assertEqual(found["failures"], ["openmpi: no network"])
        self.assertIsNone(found["results"][0]["openmpi_us"])
        self.assertGreater(found["results"][0]["weft_us"], 0)

    def test_unsupported_comparisons_are_refused(self):
        (self.folder / "peer_mpich").unlink()
        done = self.bench("--compare", "mpich")
        self.assertEqual(done.returncode, 3)
        self.assertIn("peer_mpich is missing; where the library", done.stderr)
        two = ("bench", "put-rate", "-n", "2")
        check_refusals(self, (((*two, "--compare", "openmpi"), "--compare: put-rate is not timed"),
                              (("bench", "allreduce", "--compare", "openmpi"), "needs -n"),
                              (("bench", "allreduce", "-n", "2", "--compare", "openmpj"), "did you mean 'openmpi'?"),
                              (("bench", "allreduce", "-n", "2", "--compare", "openmpi", "--osu"), "--osu")))


class Measure(unittest.TestCase):
    def test_each_candidate_has_a_measured_time_and_a_prediction(self):
        call = ("explain", "broadcast", "--ranks", "2", "--bytes", "1K")
        plain, found = answer(self, *call), answer(self, *call, "--measure")
        self.assertEqual(plain["chosen"], found["chosen"])
        for before, candidate in zip(plain["candidates"], found["candidates"]):
            self.assertEqual(list(candidate), [*before, "measured_us"])
            self.assertEqual(candidate["predicted_us"], before["predicted_us"])
        times = [candidate["measured_us"] for candidate in found["candidates"]]
        self.assertTrue(all(time is None or time > 0 for time in times), times)
        self.assertTrue(any(times))
        text = weft(*call, "--measure").stdout
        self.assertRegex(text, r"predicted_us +measured_us +order")

    def test_only_jobs_of_this_machine_are_measured(self):
        check_refusals(self, ((("explain", "barrier", "--ranks", "4", "--nodes", "2", "--hosts", "2", "--measure"),
                               "--measure: jobs run on this machine alone"),))


class Overlap(unittest.TestCase):
    def test_hidden_shares_follow_from_the_times(self):
        for words in ((), ("--nodes", "2", "--of", "broadcast")):
            found = answer(self, "bench", "overlap", "-n", "2", "--bytes", "8,64K", "--iterations", "4", *words)
            self.assertEqual((found["of"], found["progress"]), (words[-1] if words else "allreduce", "calls"))
            self.assertEqual([row["bytes"] for row in found["results"]], [8, 65536])
            for row in found["results"]:
                self.assertTrue(row["checked"])
                self.assertEqual(row["iterations"], 4)
                for kind in ("computing", "sleeping"):
                    # The ranks' own work takes as long as the call, so call and work together take at least as long.
                    self.assertGreaterEqual(row[f"{kind}_us"], row["blocking_us"] - 0.01)
                    hidden = (2 * row["blocking_us"] - row[f"{kind}_us"]) / row["blocking_us"]
                    self.assertAlmostEqual(row[f"hidden_{kind}"], hidden, places=3)

    def test_invalid_arguments_of_overlap_are_refused(self):
        two = ("bench", "overlap", "-n", "2")
        check_refusals(self, (((*two, "--of", "barrier"), "--of: barrier has no data"),
                              ((*two, "--of", "alreduce"), "did you mean 'allreduce'?"),
                              ((*two, "--algorithm", "all"), "--algorithm: overlap takes one algorithm"),
                              (("bench", "barrier", "-n", "2", "--of", "reduce"), "--of is only valid with 'overlap'")))


if __name__ == "__main__":
    unittest.main()
