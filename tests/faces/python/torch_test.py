#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torch_test.py - the backend "weft" of torch.distributed, under launchers.

usage: torch_test.py SOURCE_FOLDER BUILD_FOLDER
Status: 77 (skipped) if torch is not installed.

Idea     torch_cases.py runs as the ranks of jobs: 1 to 4 ranks on one node, two virtual nodes, mpirun and torchrun.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
WEFT, PACKAGES = BUILD / "bin/weft", BUILD / "bin/python3/dist-packages"
CASES = SOURCE / "tests/faces/python/torch_cases.py"
ALL = ("reductions", "data_movement", "tensor_lists", "traced", "messages", "late_message", "groups", "works", "ddp",
       "mistakes", "second_default_group")
SOME = ("reductions", "tensor_lists", "messages", "works", "ddp")
DEADLINE_S = 240
TORCHRUN = shutil.which("torchrun")


def weft_run(ranks, nodes=1):
    return [WEFT, "run", "-n", ranks, "--nodes", nodes, "--", sys.executable, "-B"]


def torchrun(ranks, logs):
    # Debian's torchrun fails under Python 3.11 unless standard output is redirected (-r 1).
    return [TORCHRUN, "--nproc_per_node", ranks, "--log_dir", logs, "-r", "1", "-t", "1", "--master_port", "0",
            "--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0"]


def job(launcher, *cases, program=CASES, **settings):
    """Runs torch_cases.py or another program. Returns its status and output."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", **settings}
    ended = subprocess.run([str(word) for word in (*launcher, program, *cases)], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.STDOUT, timeout=DEADLINE_S, check=False, env=environment)
    return ended.returncode, ended.stdout


class Jobs(unittest.TestCase):
    def expect_success(self, ranks, launcher, *cases, **settings):
        with self.subTest(ranks=ranks, cases=cases, launcher=launcher[0]):
            status, out = job(launcher, *cases, **settings)
            self.assertEqual(status, 0, out)
            self.assertIn(f"{len(cases)} cases, {ranks} ranks: right\n", out)
        return out

    def test_calls_under_weft_run(self):
        for ranks in (1, 2, 3, 4):
            self.expect_success(ranks, weft_run(ranks), *ALL)

    def test_calls_on_two_nodes(self):
        self.expect_success(4, weft_run(4, nodes=2), *SOME)

    @unittest.skipUnless(shutil.which("mpirun.openmpi"), "mpirun.openmpi is not installed")
    def test_calls_under_mpirun(self):
        launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", 2, sys.executable, "-B"]
        self.expect_success(2, launcher, *SOME)

    @unittest.skipUnless(TORCHRUN, "torchrun is not installed")
    def test_calls_under_torchrun(self):
        with tempfile.TemporaryDirectory() as logs:
            for ranks in (1, 3):
                self.expect_success(ranks, torchrun(ranks, logs), *SOME, "mistakes")

    def test_repeated_calls_do_not_use_more_memory(self):
        self.expect_success(2, weft_run(2), "memory_is_flat")

    def test_the_example_has_the_same_loss_with_weft_and_gloo(self):
        example = SOURCE / "perf/apps/python/ddp.py"
        losses = []
        for backend in ("weft", "gloo"):
            status, out = job(weft_run(2), "--backend", backend, "--steps", "5", "--width", "100", program=example)
            self.assertEqual(status, 0, out)
            losses.append(re.search(rf"{backend}: loss (\S+),", out)[1])
        self.assertEqual(losses[0], losses[1])

    def test_backends_are_compared(self):
        program = [SOURCE / "perf/compare", "--torch", "--bin", BUILD / "bin", "--python", sys.executable, "--ranks", "2",
                   "--bytes", "4K,16K", "--rounds", "1", "--seconds", "0.001", "--json"]
        ended = subprocess.run([str(word) for word in program], stdout=subprocess.PIPE, text=True, timeout=DEADLINE_S,
                               check=True)
        found = json.loads(ended.stdout)
        self.assertEqual([(row["collective"], row["bytes"]) for row in found["rows"]],
                         [(name, size) for name in ("allreduce", "allgather", "reduce_scatter", "broadcast", "alltoall")
                          for size in (4096, 16384)])
        for row in [*found["rows"], *found["ddp"]]:
            self.assertTrue(row.get("checked", True), row)
            self.assertAlmostEqual(row["ratio"], row["weft_us"] / row["gloo_us"])
        self.assertLess(min(row["ratio"] for row in found["rows"]), found["means"][0]["mean"])

    def test_a_rank_that_ends_early_is_named(self):
        status, out = job(weft_run(2), "exits_on_last_rank")
        self.assertIn(status, (1, 7), out)  # status of the rank that waits, or of the rank that ends
        self.assertIn("rank 1 has left the job, and barrier waits for it", out)

    def test_an_exception_ends_the_job(self):
        status, out = job(weft_run(3), "fails_on_last_rank")
        self.assertEqual(status, 1, out)
        self.assertIn("ValueError: planted", out)
        self.assertNotIn("right", out)

    def test_buffers_are_remapped_if_the_library_is_preloaded(self):
        library = BUILD / "bin/libweft.so"
        preloaded = [WEFT, "run", "-n", 2, "-x", f"LD_PRELOAD={library}", "--", sys.executable, "-B"]
        out = self.expect_success(2, preloaded, "large_buffers", WEFT_LOG="info", WEFT_DIRECT="adopt")
        self.assertRegex(out, r"buffers of this rank: \d+ in the segment, [1-9]\d* adopted")


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
