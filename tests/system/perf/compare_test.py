# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/compare alternates both sides, counts rounds as described and computes ratios from medians.
Method: run the script with fake programs that record their calls and print planned times."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from fakes import PERF, Run, check_refusals

ANSWER = """
[ "$name" = ping_pong ] && echo "{\\"half_round_trip_ns\\": $value}" && exit 0
right=true
[ "$value" -lt 0 ] && right=false && value=$((0 - value))
results=
for size in $(option --bytes "$@" | tr , ' '); do
    results="$results${results:+,}{\\"bytes\\": $size, \\"median_us\\": $((value * (1 + size))), \\"checked\\": $right}"
done
echo "{\\"results\\": [$results]}"
[ $right = true ]
"""


def load_script():
    loader = importlib.machinery.SourceFileLoader("compare", str(PERF / "compare"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


class Job(Run):
    """A run of perf/compare with fake programs, which print the values of the plan."""

    def __init__(self, plan, *arguments, undisturbed=False):
        plan = {"weft": [1], "mpirun": [2], "ping_pong": [50], "peer_openmpi": [], **plan}
        if "mpiexec" in plan:
            plan = {"peer_mpich": [], "peer_yield_ucx.so": [], **plan}
        # Tests that count rounds need the planned number of rounds, even if other programs disturb the machine.
        arguments = (*arguments, "--minutes", "1e-6") if undisturbed else arguments
        super().__init__("compare", ANSWER, plan, "--mpirun", "FOLDER/mpirun", "--mpiexec", "FOLDER/mpiexec", *arguments)

    def rows(self):
        return self.json()["rows"]


BARRIER = ("--collectives", "barrier", "--ranks", "2")


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "Matplotlib is not installed")
class Results(unittest.TestCase):
    def test_results_are_written_to_the_given_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            job = Job({"mpiexec": [3]}, "--collectives", "barrier,allreduce", "--ranks", "2,4", "--bytes", "8,1K", "--json",
                      "--results", f"{folder}/found")
            self.assertEqual(job.status, 0, job.err)
            found = pathlib.Path(folder, "found")
            self.assertEqual(json.loads((found / "compare.json").read_text()), job.json())
            self.assertEqual(len((found / "table.md").read_text().splitlines()), 2 + 6)
            for collective, word in (("barrier", " ranks,<"), ("allreduce", " ranks, one node")):
                drawing = (found / f"{collective}.svg").read_text()
                self.assertEqual(drawing.count(word), 2, collective)
                self.assertIn("MPICH", drawing)

    def test_measured_cells_are_not_measured_again(self):
        with tempfile.TemporaryDirectory() as folder:
            options = ("--ranks", "2", "--json", "--results", folder)
            first = Job({"weft": [3]}, "--collectives", "barrier", *options)
            again = Job({"weft": [7]}, "--collectives", "barrier,allreduce", *options)
            self.assertEqual([row["weft_us"] for row in again.rows()], [3, 63])
            self.assertEqual(first.rows(), again.rows()[:1])
            changed = Job({"weft": [7]}, "--collectives", "barrier", "--seconds", "0.3", *options)
            self.assertEqual(changed.rows()[0]["weft_us"], 7)


class Rounds(unittest.TestCase):
    def setUp(self):
        self.compare = load_script()
        self.jobs = importlib.import_module("comparing.jobs")
        self.rounds = importlib.import_module("comparing.rounds")

    def test_the_ratio_uses_medians_of_undisturbed_rounds(self):
        cell = self.rounds.Cell("allreduce", 4, 0, [8])
        rounds = [{"before_ns": 50, "after_ns": 50, "foreign": 0.0, "flagged": flags,
                   "times": [{8: (weft, True)}, {8: (openmpi, True)}]}
                  for weft, openmpi, flags in [(1, 2, []), (3, 4, []), (9, 5, []), (500, 1, ["load"])]]
        options = self.compare.read_arguments([])
        options.rounds = 3
        row = self.rounds.make_row(cell, 8, rounds, ["openmpi"], options)
        self.assertEqual((row["weft_us"], row["openmpi_us"], row["ratio"]), (3, 4, 0.75))
        self.assertEqual(row["ratio_paired"], 0.75)
        self.assertEqual((row["flagged_rounds"], row["flagged_counted"], len(row["rounds"])), (1, False, 4))
        options.rounds = 4
        row = self.rounds.make_row(cell, 8, rounds, ["openmpi"], options)
        self.assertEqual((row["weft_us"], row["openmpi_us"]), (6, 3))
        self.assertTrue(row["flagged_counted"])

    def test_flags_come_from_calibrators_and_other_programs(self):
        self.assertEqual(self.rounds.reasons_of_flag(50, 60, 0.05), [])
        self.assertEqual(self.rounds.reasons_of_flag(50, 250, 0.0), ["calibrator"])
        self.assertEqual(self.rounds.reasons_of_flag(250, 50, 0.5), ["calibrator", "load"])

    def test_only_the_work_of_other_programs_is_noticed(self):
        burn = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
        other_load = self.jobs.OtherLoad()
        other = subprocess.Popen([sys.executable, "-c", burn])
        while self.jobs.OtherLoad.read()[1] - other_load.begin[1] < 0.2:
            self.assertIsNone(other.poll(), "the work of a running child of the test is counted")
        other.wait()
        self.assertEqual(other.returncode, 0)


class WholeRuns(unittest.TestCase):
    def test_sides_alternate_with_a_calibrator_between_rounds(self):
        job = Job({}, "--collectives", "allreduce", "--ranks", "4", "--bytes", "8,1K", "--json")
        self.assertEqual(job.status, 0, job.err)
        names = [call[0] for call in job.calls]
        rounds = len(names) // 3
        self.assertGreaterEqual(rounds, 9)
        self.assertEqual(names, ["ping_pong"] + ["weft", "mpirun", "ping_pong"] * rounds)
        weft = next(call for call in job.calls if call[0] == "weft")
        self.assertEqual(weft[1:4], ["run", "-n", "4"])
        self.assertEqual([os.path.basename(weft[5])] + weft[6:],
                         ["weft", "bench", "allreduce", "--bytes", "8,1024", "--loop", "back-to-back",
                          "--seconds", "0.1", "--json", "yield=none"], "two sizes share the time")
        mpirun = next(call for call in job.calls if call[0] == "mpirun")
        self.assertIn("--oversubscribe", mpirun)
        self.assertNotIn("tcp,self", mpirun)
        self.assertEqual(mpirun[-1], "yield=none", "an inherited setting to yield must reach no side")

    def test_all_sides_get_fresh_buffers_and_weft_can_be_a_peer(self):
        job = Job({"weft": [3, 4]}, "--collectives", "allreduce", "--ranks", "4", "--json", "--buffers", "fresh",
                  "--peers", "openmpi,copy")
        self.assertEqual(job.status, 0, job.err)
        sides = [call for call in job.calls if call[0] != "ping_pong"][:3]
        for call in sides:
            self.assertEqual(call[call.index("--buffers") + 1], "fresh")
        self.assertEqual([call[0] for call in sides], ["weft", "mpirun", "weft"])
        self.assertNotIn("WEFT_DIRECT=copy", sides[0])
        self.assertEqual(sides[2][1:5], ["run", "-x", "WEFT_DIRECT=copy", "-n"])
        row = job.rows()[0]
        # ANSWER prints value * (1 + bytes): the second run of weft prints 4 * (1 + 8).
        self.assertEqual((row["buffers"], row["best_peer"], row["copy_us"]), ("fresh", "openmpi", 36))

    def test_stdout_has_only_json_with_a_row_for_each_size(self):
        job = Job({"weft": [3], "mpirun": [4]}, "--ranks", "2,4", "--bytes", "8,1K", "--json")
        found = job.json()
        self.assertEqual([(row["collective"], row["ranks"], row["nodes"], row["bytes"]) for row in found["rows"]],
                         [("barrier", 2, 1, 0), ("barrier", 4, 1, 0),
                          ("allreduce", 2, 1, 8), ("allreduce", 2, 1, 1024),
                          ("allreduce", 4, 1, 8), ("allreduce", 4, 1, 1024)])
        for row in found["rows"]:
            self.assertEqual((row["ratio"], row["loop"], row["mpich_us"]), (0.75, "back-to-back", None))
            self.assertEqual(row["weft_us"], 3 * (1 + row["bytes"]))
        self.assertEqual(found["calibrator_ns"], 50)
        self.assertIn("processor", found["machine"])

    def test_virtual_nodes_put_both_sides_on_the_network(self):
        job = Job({}, "--collectives", "barrier", "--ranks", "2,4", "--nodes", "4", "--json")
        self.assertEqual([row["nodes"] for row in job.rows()], [4])
        self.assertIn("skipped", job.err)
        weft = next(call for call in job.calls if call[0] == "weft")
        self.assertEqual(weft[2:6], ["-n", "4", "--nodes", "4"])
        mpirun = next(call for call in job.calls if call[0] == "mpirun")
        self.assertEqual(mpirun[mpirun.index("--oversubscribe") + 1:mpirun.index("-np")],
                         ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"])

    def test_mpich_is_the_third_side_and_the_best_peer_is_used(self):
        job = Job({"weft": [3], "mpirun": [4], "mpiexec": [6]}, "--collectives", "barrier", "--ranks", "2,4096", "--json")
        self.assertEqual(job.status, 0, job.err)
        for row in job.rows():
            self.assertEqual((row["openmpi_us"], row["mpich_us"], row["best_peer"], row["ratio"]), (4, 6, "openmpi", 0.75))
        names = [call[0] for call in job.calls]
        self.assertEqual(names[:5], ["ping_pong", "weft", "mpirun", "mpiexec", "ping_pong"])
        mpich = [call for call in job.calls if call[0] == "mpiexec"]
        self.assertEqual(mpich[0][1:3], ["-np", "2"], "with a processor for each rank no library is preloaded")
        oversubscribed = next(call for call in mpich if "4096" in call)
        self.assertEqual(oversubscribed[1:3], ["-genv", "LD_PRELOAD"])
        self.assertTrue(oversubscribed[3].endswith("/peer_yield_ucx.so"))
        job = Job({"weft": [3], "mpirun": [6], "mpiexec": [4]}, "--collectives", "barrier", "--ranks", "4", "--nodes", "4", "--json")
        self.assertEqual((job.rows()[0]["best_peer"], job.rows()[0]["ratio"]), ("mpich", 0.75))
        mpich = next(call for call in job.calls if call[0] == "mpiexec")
        self.assertEqual(mpich[1:7], ["-genv", "UCX_TLS", "tcp,self", "-genv", "MPIR_CVAR_NOLOCAL", "1"])

    def test_tuned_peers_run_with_their_settings_and_can_be_the_best(self):
        job = Job({"weft": [3], "mpirun": [6, 4], "mpiexec": [5]}, *BARRIER, "--json",
                  "--peers", "openmpi,openmpi-sm,mpich-release")
        self.assertEqual(job.status, 0, job.err)
        row = job.rows()[0]
        self.assertEqual((row["best_peer"], row["ratio"], row["openmpi_us"]), ("openmpi-sm", 0.75, 6))
        self.assertEqual(row["peers_us"], {"openmpi": 6, "openmpi-sm": 4, "mpich-release": 5})
        plain, tuned = [call for call in job.calls if call[0] == "mpirun"][:2]
        self.assertEqual([word for word in tuned if word not in plain], ["--mca", "coll_sm_priority", "90"])
        mpich = next(call for call in job.calls if call[0] == "mpiexec")
        self.assertEqual(mpich[1:4], ["-genv", "MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", "release_gather"])

    @unittest.skipUnless(os.geteuid() == 0, "only the superuser can enter another root")
    def test_peers_of_another_root_run_the_same_program_there(self):
        with tempfile.TemporaryDirectory() as root:
            launcher = pathlib.Path(root, "usr/bin/mpirun")
            launcher.parent.mkdir(parents=True)
            launcher.touch()
            options = load_script().read_arguments(["--root", root, "--mpirun", "mpirun", "--bin", str(launcher.parent)])
            self.assertEqual(options.peers, ["openmpi", "mpich", "root-openmpi", "root-mpich"])
            variants = importlib.import_module("comparing.variants")
            side = variants.IN_ROOT["root-openmpi"](options)
            self.assertIsNone(side.missing_launcher())
            command = side.command(importlib.import_module("comparing.rounds").Cell("barrier", 2, 0, [0]))
            self.assertEqual(command[:4], ["unshare", "--mount", "--propagation", "private"])
            launch = command[command.index("mpirun"):]
            self.assertIn("/mnt/peer_openmpi", launch)
            launcher.unlink()
            self.assertEqual(side.missing_launcher(), f"mpirun is not installed in {root}")

    def test_a_missing_peer_is_omitted_with_a_message(self):
        job = Job({}, *BARRIER, "--json")
        self.assertIn("mpich is left out: ", job.err)
        job = Job({}, *BARRIER, "--peers", "mpich")
        self.assertEqual(job.status, 3)
        self.assertIn("no peer is available", job.err)

    def test_disturbed_rounds_are_repeated_or_flagged(self):
        job = Job({"ping_pong": [50, 250]}, *BARRIER, "--json")
        row = job.rows()[0]
        self.assertEqual((len(row["rounds"]), row["flagged_rounds"], row["flagged_counted"]), (18, 18, True))
        self.assertIn("FLAGGED: calibrator", job.err)

    def test_the_self_test_fails_if_a_peer_differs_from_itself(self):
        job = Job({}, "--self-test", *BARRIER, "--json")
        self.assertEqual(job.status, 0, job.err)
        self.assertNotIn("weft", [call[0] for call in job.calls])
        job = Job({"mpirun": [1, 3]}, "--self-test", *BARRIER)
        self.assertEqual(job.status, 1)
        self.assertIn("expected about 1", job.err)

    def test_a_layer_is_preloaded_into_the_program_of_its_mpi(self):
        layer = "libweft-mpi-openmpi.so"
        job = Job({"mpirun": [1, 4], layer: []}, "--mpi", "openmpi", *BARRIER, "--json")
        self.assertEqual(job.status, 0, job.err)
        row = job.rows()[0]
        self.assertEqual((row["ratio"], row["best_peer"], row["mpich_us"]), (0.25, "openmpi", None))
        launches = [call for call in job.calls if call[0] == "mpirun"]
        self.assertEqual([any(word.endswith("/" + layer) for word in call) for call in launches],
                         [True, False] * (len(launches) // 2))
        job = Job({"mpirun": [1, 4]}, "--mpi", "openmpi", *BARRIER)
        self.assertEqual(job.status, 3)
        self.assertIn(f"{layer} is missing", job.err)

    def test_a_wrong_result_is_named_and_gives_status_1(self):
        job = Job({"weft": [1, 1, -1, 1]}, *BARRIER)
        self.assertEqual(job.status, 1)
        self.assertIn("WRONG RESULT", job.out)

    def test_a_ratio_above_the_limit_is_named_and_gives_status_1(self):
        plan = {"weft": [3], "mpirun": [4]}
        options = (*BARRIER, "--json")
        for limit, status in ((["--limit", "0.75"], 0), (["--limit", "0.74"], 1), ([], 0)):
            job = Job(plan, *options, *limit)
            self.assertEqual(job.status, status, job.err)
            self.assertEqual("barrier, 2 ranks, nodes 1, 0 bytes: ratio 0.750 is above the limit 0.74"
                             in job.err, status == 1)
            self.assertEqual(len(job.rows()), 1, "the rows are printed in any case")

    def test_a_failing_side_gives_status_3_and_its_message(self):
        job = Job({"weft": ["fail"]}, *BARRIER)
        self.assertEqual(job.status, 3)
        self.assertIn("weft fails as planned", job.err)
        job = Job({}, *BARRIER, "--bin", "/nowhere")
        self.assertEqual(job.status, 3)
        self.assertIn("/nowhere/ping_pong is missing", job.err)

    def test_a_side_that_fails_twice_is_omitted_from_its_cell(self):
        for program in ("mpiexec", "weft"):
            side = {"mpiexec": "mpich"}.get(program, program)
            # The first cell has nine launches without failure. In the second cell a launch and its repetition fail.
            job = Job({"weft": [3], "mpirun": [4], "mpiexec": [6], program: [6] * 9 + ["fail"] * 2 + [6] * 9},
                      "--collectives", "barrier", "--ranks", "2,4,8", "--json", undisturbed=True)
            self.assertEqual(job.status, 3)
            good, bad, last = job.rows()
            self.assertIsNone(bad[f"{side}_us"])
            self.assertEqual(bad["openmpi_us"], 4)
            self.assertEqual(len(bad["failures"]), 2)
            self.assertEqual((bad["ratio"] is None), program == "weft")
            for row in (good, last):
                self.assertEqual((row[f"{side}_us"], row["failures"]), (6, []))

    def test_an_omitted_side_gets_one_try_in_later_cells(self):
        job = Job({"mpirun": [4], "mpiexec": ["fail"]}, "--collectives", "barrier", "--ranks", "2,4,8", "--json")
        self.assertEqual([len(row["failures"]) for row in job.rows()], [2, 1, 1])

    def test_a_launch_that_fails_once_is_repeated_and_named(self):
        job = Job({"weft": [3] * 4 + ["fail"] + [3] * 30}, *BARRIER, "--json")
        self.assertEqual(job.status, 0, job.err)
        self.assertEqual(job.rows()[0]["weft_us"], 3)
        self.assertEqual(len(job.rows()[0]["failures"]), 1)

    def test_a_hanging_job_is_ended(self):
        begin = time.monotonic()
        job = Job({"mpirun": [4], "mpiexec": ["hang"]}, *BARRIER, "--json",
                  "--timeout", "0.5")
        self.assertLess(time.monotonic() - begin, 40)
        self.assertEqual(job.status, 3)
        self.assertIn("no end within 0.5 s", job.err)
        self.assertIsNone(job.rows()[0]["mpich_us"])
        self.assertEqual(job.rows()[0]["best_peer"], "openmpi")

    def test_an_ended_run_ends_its_jobs(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("weft", "peer_openmpi", "ping_pong"):
                program = pathlib.Path(folder, name)
                program.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && exit\necho $$ > {folder}/job\nexec sleep 60\n")
                program.chmod(0o755)
            run = subprocess.Popen([sys.executable, str(PERF / "compare"), "--bin", folder, "--mpirun", "true", "--peers", "openmpi"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            job = pathlib.Path(folder, "job")
            deadline = time.monotonic() + 40
            while not (job.exists() and job.read_text().strip()) and time.monotonic() < deadline:
                time.sleep(0.02)
            run.terminate()
            self.assertEqual(run.wait(timeout=20), 143)
            self.assertRaises(ProcessLookupError, os.kill, int(job.read_text()), 0)

    def test_disturbed_rounds_are_not_repeated_without_time(self):
        job = Job({"ping_pong": [50, 250]}, *BARRIER, "--json", "--minutes", "1e-6")
        self.assertEqual(len(job.rows()[0]["rounds"]), 9)
        self.assertIn("no time left", job.err)

    def test_ranks_may_be_given_with_their_nodes(self):
        job = Job({}, "--collectives", "barrier", "--ranks", "2,4/2,4/4", "--json")
        self.assertEqual([(row["ranks"], row["nodes"]) for row in job.rows()], [(2, 1), (4, 2), (4, 4)])

    def test_the_full_set_has_all_cells(self):
        options = load_script().read_arguments(["--full"])
        self.assertEqual(options.shapes, [(2, 0), (4, 0), (8, 0), (16, 0), (4, 4), (8, 4), (8, 8)])
        self.assertEqual(options.bytes, [8, 64, 512, 4096, 32768, 262144, 1048576])
        self.assertEqual(options.collectives, ["barrier", "broadcast", "allreduce"])
        self.assertEqual(options.seconds, 0.03)

    def test_repeated_runs_are_compared(self):
        # The first run takes nine rounds, and the second run takes the next nine.
        job = Job({"weft": [100] * 9 + [110] * 9, "mpirun": [100]}, *BARRIER, "--json",
                  "--repeat", "2", undisturbed=True)
        self.assertEqual(job.status, 0, job.err)
        found = job.json()
        self.assertEqual(len(found["repeats"]), 1)
        self.assertAlmostEqual(found["spread"]["median"], 1 - 100 / 110)
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder, "compare.json")
            other.write_text(job.out)
            job = Job({"weft": [200], "mpirun": [100]}, *BARRIER, "--against", str(other))
            self.assertEqual(job.status, 1)
            self.assertIn("differ by 100.0 % in the median", job.out)
            self.assertIn("barrier, 2 ranks, nodes 1, 0 bytes: 2.000 and 1.000", job.out)

    def test_invalid_arguments_of_compare_are_named(self):
        check_refusals(self, lambda *arguments: Job({}, *arguments), (
            (["--rounds", "8"], "--rounds: 8"), (["--bytes", "8,x"], '--bytes: "x"'), (["--bytes", "12"], "--bytes: 12"),
            (["--ranks", "0"], '--ranks: "0"'), (["--limit", "0"], "--limit: 0"), (["--limit", "nan"], "--limit: nan"),
            (["--collectives", "gossip"], '--collectives: "gossip"'), (["--peers", "openmpi,x"], '--peers: "x"'),
            (["--seconds", "0"], "--seconds: 0"), (["--ranks", "2", "--nodes", "4"], "--nodes"), (["--nosuch"], "--nosuch"),
            (["--ranks", "8/x"], '--ranks: "x"'), (["--full", "--quick"], "exclude"), (["--repeat", "0"], "--repeat: 0"),
            (["--minutes", "0"], "--minutes: 0"), (["--peers", "root-mpich"], "need --root"),
            (["--root", "/nowhere"], "--root: /nowhere"), (["--against", "/nowhere.json"], "--against: /nowhere.json")))


if __name__ == "__main__":
    unittest.main()
