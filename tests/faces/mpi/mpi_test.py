#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi_test.py - MPI programs run under the layer as they do without it.

usage: mpi_test.py openmpi|mpich FOLDER_OF_PROGRAMS [--long]

Idea     The conformance program compares each call with its PMPI twin; the statistics show that
         weft served calls. The entangled programs must end if both libraries drive each other, and
         hang with WEFT_MPI_PROGRESS=off: the selected protocols need the progress of other ranks.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

MPI, BIN, LONG = sys.argv[1], Path(sys.argv[2]), "--long" in sys.argv[3:]
LAYER = BIN / f"libweft-mpi-{MPI}.so"
YIELD = BIN / "peer_yield_ucx.so"  # for MPICH, whose ranks spin even if they outnumber the processors
PRELOADED = [LAYER, YIELD] if MPI == "mpich" and YIELD.exists() else [LAYER]
DEADLINE_S = 3000 if LONG else 60
HANGS_S = 2  # a program that should hang is ended after this time
ROUNDS = 1000 if LONG else 20
# Protocols whose messages need the sender's progress. No TCP for MPICH: over TCP its own PMPI_Finalize
# sometimes hangs, even without the layer.
SENDER_NEEDED = {"openmpi": {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
                 "mpich": {"UCX_TLS": "posix,self", "MPIR_CVAR_NOLOCAL": "1"}}[MPI]
RANK_TO_RANK = {"WEFT_BROADCAST": "chain"}


def command(ranks, program, settings):
    """Returns the command of a job with the layer. The settings are passed to the ranks, not to the launcher.

    WEFT_MPI_TEAM_AFTER=0: the first call on a communicator makes its team.
    """
    preload = {"LD_PRELOAD": ":".join(map(str, PRELOADED)), "WEFT_MPI_TEAM_AFTER": "0", **settings}
    if MPI == "openmpi":
        options = [word for name, value in preload.items() for word in ("-x", f"{name}={value}")]
        return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), *options, *program]
    options = [word for name, value in preload.items() for word in ("-genv", name, value)]
    return ["mpiexec.mpich", "-np", str(ranks), *options, *program]


def run(ranks, program, settings, deadline_s=DEADLINE_S):
    """Runs a program. Returns its status (None: it hung and was ended), standard output and standard error."""
    words = [str(BIN / f"weft_{program[0]}_{MPI}"), *map(str, program[1:])]
    return launch(ranks, words, settings, deadline_s)


def launch(ranks, words, settings, deadline_s=DEADLINE_S):
    return finish(command(ranks, words, settings), deadline_s)


def finish(words, deadline_s):
    """Runs a launcher and returns the result of run()."""
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, err = started.communicate(timeout=deadline_s)
        return started.returncode, out, err
    except subprocess.TimeoutExpired:
        started.terminate()  # the launcher ends its ranks
        try:
            started.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
        return None, "", ""


def processes_with(mark):
    """Returns the ids of the processes whose environment contains `mark`."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes():
                found.append(environment.parent.name)
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


def files_of_jobs(folder):
    """Returns the files in /dev/shm and `folder`, except those that Open MPI, MPICH and UCX leave if a rank is killed."""
    shared = Path("/dev/shm").glob("*")
    return {str(file) for file in (*shared, *Path(folder).rglob("*"))
            if not re.search("vader_segment|mpich|ucx|ompi|pmix|openmpi", str(file))}


@unittest.skipUnless(shutil.which(command(1, [], {})[0]), "no launcher of this MPI")
class MpiTest(unittest.TestCase):
    def test_sums_are_exact_if_asked(self):
        calls = ("allreduce", "complex allreduce", "started allreduce", "reduce", "reduce_scatter_block")
        expected = "".join(f"{name}{comm}: exact\n" for comm in ("", " of a copy") for name in calls)
        for ranks, mode in ((2, "on"), (5, "auto")):
            settings = {"WEFT_MPI_EXACT_SUM": "1", "WEFT_MPI_TEAM_AFTER": "8", "WEFT_MPI": mode}
            self.assertEqual(run(ranks, ["exact_sums"], settings), (0, expected, ""))
        status, out, err = run(5, ["exact_sums"], {})
        self.assertEqual((status, err), (0, ""))
        self.assertIn("rounded", out)

    def test_every_call_agrees_with_the_hosts_call(self):
        cases = 20000 if LONG else 300
        for ranks in range(2, 10) if LONG else (2, 4):
            with self.subTest(ranks=ranks):
                status, out, err = run(ranks, ["conformance", ranks, cases], {"WEFT_MPI_STATS": "1"})
                self.assertEqual((status, out), (0, f"{ranks} ranks: {cases} cases agree\n"), err)
                table = dict(re.findall(r"^weft: (\w+) +\d+ +(\d+)", err, re.MULTILINE))
                self.assertEqual(len(table), 17, err)
                self.assertTrue(all(int(served) > 0 for served in table.values()), err)

    def test_neighbor_calls_agree_with_the_hosts_calls(self):
        for ranks in (1, 2, 3, 5) if LONG else (1, 2, 3):
            with self.subTest(ranks=ranks):
                cases = 5000 if LONG else 200
                status, out, err = run(ranks, ["neighbors", ranks, cases], {"WEFT_MPI_STATS": "1"})
                self.assertEqual((status, out), (0, f"{ranks} ranks: {cases} cases agree\n"), err)
                table = dict(re.findall(r"^weft: (neighbor_\w+) +\d+ +(\d+)", err, re.MULTILINE))
                self.assertEqual(len(table), 5, err)
                self.assertTrue(all(int(served) > 0 for served in table.values()), err)

    def test_blocks_are_copied_only_if_needed(self):
        status, out, err = run(1, ["call_data"], {})
        self.assertEqual(status, 0, out + err)

    def check(self, what, settings, needs_progress):
        status, out, err = run(3, ["entangled", what, ROUNDS], settings)
        self.assertEqual((status, out), (0, f"{what}: all rounds are over\n"), err)
        if needs_progress:
            without_progress = run(3, ["entangled", what, 20], {**settings, "WEFT_MPI_PROGRESS": "off"}, HANGS_S)
            self.assertIsNone(without_progress[0], f"{what} must hang with WEFT_MPI_PROGRESS=off: {without_progress}")

    def test_a_rank_in_a_barrier_answers_messages(self):
        self.check("rendezvous", SENDER_NEEDED, needs_progress=True)

    def test_a_rank_in_a_receive_forwards_data(self):
        self.check("receive", RANK_TO_RANK, needs_progress=True)

    def test_a_rank_in_a_split_forwards_data(self):
        self.check("split", RANK_TO_RANK, needs_progress=True)

    def test_a_rank_that_creates_a_team_forwards_data(self):
        self.check("first_call", RANK_TO_RANK, needs_progress=True)

    def test_a_rank_in_a_barrier_is_a_passive_target(self):
        self.check("passive", {}, needs_progress=False)

    def test_communicators_may_be_freed_in_any_order(self):
        self.check("free", {}, needs_progress=False)

    def test_threads_do_not_wait_for_each_other(self):
        self.check("threads", {}, needs_progress=False)

    def test_mpi_check_reports_the_served_calls(self):
        program = BIN / f"weft_checked_{MPI}"
        done = subprocess.run([BIN / "weft", "mpi-check", "-n", "2", program], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"^MPI: {MPI}, 2 ranks")
        self.assertIn("active: yes; 202 of 202 collective calls served", done.stdout)
        self.assertRegex(done.stdout, r"weft: allreduce +202 +202 .* none\n")

    def test_a_rank_in_finalize_answers_messages(self):
        for _ in range(ROUNDS if LONG else 2):
            status, out, err = run(3, ["entangled", "finalize", 1], SENDER_NEEDED)
            self.assertEqual((status, out), (0, "finalize: all rounds are over\n"), err)
        without_progress = run(3, ["entangled", "finalize", 1], {**SENDER_NEEDED, "WEFT_MPI_PROGRESS": "off"}, HANGS_S)
        self.assertIsNone(without_progress[0], f"finalize must hang with WEFT_MPI_PROGRESS=off: {without_progress}")

    def check_end(self, what):
        """Checks that a job with a failing rank ends and leaves no process or file."""
        mark = f"of_{uuid.uuid4()}"
        with tempfile.TemporaryDirectory() as folder:
            before = files_of_jobs(folder)
            status, _, err = run(3, ["entangled", what, 1], {"MPI_TEST_MARK": mark, "TMPDIR": folder})
            self.assertNotIn(status, (0, None), err)
            end = time.monotonic() + 10
            while True:
                remaining = processes_with(mark.encode()), files_of_jobs(folder) - before
                if remaining == ([], set()) or time.monotonic() > end:
                    break
            self.assertEqual(remaining, ([], set()))

    def test_an_aborted_job_leaves_no_process_or_file(self):
        self.check_end("abort")

    def test_a_job_with_a_killed_rank_leaves_no_process_or_file(self):
        self.check_end("killed")

    def test_a_thousand_communicators_at_once_are_right(self):
        status, out, err = run(2, ["communicators", "alive", 1000], {})
        self.assertEqual((status, out), (0, "1000 communicators: right\n"), err)

    def test_calls_on_many_communicators_are_served(self):
        status, out, err = run(4, ["communicators", "many", 2000 if LONG else 400], {"WEFT_MPI_STATS": "1"})
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"weft: allreduce .* none\n")
        self.assertLess(int(re.search(r"(-?\d+) KiB\n", out)[1]), 1024, out)

    def test_first_started_and_persistent_calls_are_served(self):
        status, _, err = run(2, ["communicators", "started", 50], {"WEFT_MPI_STATS": "1"})
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"weft: allreduce +142 +142 .* none\n")

    def test_rare_calls_and_errors_are_those_of_the_host(self):
        for ranks in (2, 3):
            status, out, err = run(ranks, ["edges"], {"WEFT_MPI_STATS": "1"})
            self.assertEqual((status, out), (0, "right\n"), err)
            self.assertRegex(err, r"weft: scan .* none\n")

    def test_ranks_start_persistent_calls_in_any_order(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                status, _, err = run(ranks, ["communicators", "orders", 60], {"WEFT_MPI_STATS": "1"})
                self.assertEqual(status, 0, err)
                self.assertRegex(err, rf"weft: allreduce +{5 * ranks} +{5 * ranks} .* none\n")

    def test_mpi_run_selects_the_layer(self):
        weft = str(BIN / "weft")
        program = [str(BIN / f"weft_communicators_{MPI}"), "stream", "100"]
        options = ["-n", "2", "-x", "WEFT_MPI_STATS=1"]
        status, _, err = finish([weft, "mpi-run", *options, *program], DEADLINE_S)
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"weft: allreduce +200 +200 ")
        other = {"openmpi": "mpich", "mpich": "openmpi"}[MPI]
        status, _, err = finish([weft, "mpi-run", "--mpi", other, *program], DEADLINE_S)
        self.assertEqual(status, 2, err)
        self.assertIn(f"--mpi {other}: {program[0]} is linked with {MPI}, whose layer is another one\n", err)
        status, _, err = finish([weft, "mpi-run", "no-such-program"], DEADLINE_S)
        self.assertEqual((status, "no-such-program: no such program" in err), (2, True), err)

    def test_freed_communicators_leak_no_memory(self):
        count = 10000 if LONG else 1000
        status, out, err = run(2, ["communicators", "churn", count], {})
        self.assertEqual(status, 0, err)
        grown = re.fullmatch(rf"{count} communicators: (-?\d+) KiB\n", out)
        self.assertLess(int(grown[1]), 1024, out)

    def test_results_agree_if_ranges_choose_the_library(self):
        cases = 2000 if LONG else 300
        status, out, err = run(2, ["conformance", 7, cases], {"WEFT_MPI": "auto"})
        self.assertEqual((status, out), (0, f"2 ranks: {cases} cases agree\n"), err)

    def test_long_calls_go_to_weft_while_buffers_recur(self):
        """The ranks choose a library at calls 16, 32, 64 and 128; the last 64 calls have new buffers."""
        status, _, err = run(2, ["communicators", "long", 64], {"WEFT_MPI": "auto", "WEFT_MPI_STATS": "1"})
        self.assertEqual(status, 0, err)
        # weft serves calls 16 to 127. At call 128, the ranks choose the host.
        self.assertRegex(err, rf"weft: allreduce +{2 * 128} +{2 * 112} ")

    def tune(self, file, *words, **environment):
        command = [BIN / "weft", "tune", "allreduce", "--mpi", "--bytes", "8,64K", "--seconds", "0.02", "--jobs", "1",
                   "--output", file, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                              env={**os.environ, **environment})

    def test_weft_tune_writes_ranges_that_jobs_use(self):
        launcher = command(1, [], {})[0]
        options = " --allow-run-as-root --oversubscribe" if MPI == "openmpi" else ""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ranges"
            file.write_text("other 2 allreduce 0 host\n")
            done = self.tune(file, "--ranks", "2", "--launcher", launcher + options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(re.findall(rf"^{MPI} 2 allreduce +(?:8|64K)  {MPI} [\d.]+ us, weft [\d.]+ us: \w+$",
                                            done.stdout, re.MULTILINE)), 2, done.stdout)
            lines = file.read_text().splitlines()
            self.assertEqual(lines[1], "other 2 allreduce 0 host")
            first = re.fullmatch(rf"{MPI} 2 allreduce 0 (weft|host)", lines[2])
            self.assertIsNotNone(first, lines)
            again = self.tune(file, "--ranks", "2", "--launcher", launcher + options)
            self.assertEqual((again.returncode, again.stdout), (0, ""), again.stderr)
            settings = {"WEFT_MPI": "auto", "WEFT_MPI_STATS": "1", "WEFT_MPI_TUNING": str(file)}
            status, _, err = run(2, ["communicators", "stream", 100], settings)
            self.assertEqual(status, 0, err)
            served = int(re.search(r"^weft: allreduce +200 +(\d+) ", err, re.MULTILINE)[1])
            self.assertEqual(served, 200 if first[1] == "weft" else 0, err)

    def test_weft_tune_refuses_a_missing_mpi_and_a_foreign_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ranges"
            done = self.tune(file, PATH=folder)
            self.assertEqual((done.returncode, file.exists()), (3, False), done.stderr)
            self.assertIn("weft tune: no MPI can be measured: openmpi: ", done.stderr)
            self.assertIn("; mpich: ", done.stderr)
            file.write_text("{}\n")
            done = self.tune(file)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--output: {file} is not a file of ranges: {{}}", done.stderr)
            for words in (("--layout", "2"), ("--exhaustive",)):
                done = self.tune(file, *words)
                self.assertIn("--mpi excludes --layout and --exhaustive", done.stderr)

    def test_a_device_is_refused_as_file_of_ranges(self):
        settings = {"WEFT_MPI": "auto", "WEFT_MPI_TUNING": "/dev/zero"}
        status, _, err = run(2, ["communicators", "stream", 100], settings, 20)
        self.assertEqual(status, 0, err)
        self.assertIn("weft: /dev/zero is not a regular file", err)

    def test_a_reused_handle_is_a_new_communicator(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tuning"
            file.write_text(f"{MPI} 2 allreduce 4 host\n")
            settings = {"WEFT_MPI": "auto", "WEFT_MPI_TUNING": str(file)}
            status, _, err = run(2, ["communicators", "reused", 20], settings, 20)
            self.assertEqual(status, 0, err)

    def test_overlapping_blocks_are_served(self):
        status, _, err = run(3, ["communicators", "overlap", 2], {"WEFT_MPI_STATS": "1"})
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"weft: allgatherv +6 +6 ")

    def test_calls_from_fortran_are_served(self):
        wrapper = shutil.which(f"mpif90.{MPI}")
        if wrapper is None:
            self.skipTest("no Fortran compiler of this MPI")
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/sums"
            source = Path(__file__).resolve().with_name("sums.f90")
            subprocess.run([wrapper, "-O1", "-J", folder, source, "-o", program], check=True, timeout=DEADLINE_S)
            status, out, err = launch(2, [program], {"WEFT_MPI_STATS": "1"})
        self.assertEqual((status, out), (0, "sums: right\n"), err)
        for call, count in (("allreduce", 400), ("broadcast", 200), ("allgather", 200), ("alltoallw", 200),
                            ("neighbor_alltoallw", 200)):
            self.assertRegex(err, rf"weft: {call} +{count} +{count} ")

    def test_results_agree_if_the_layer_is_switched_off(self):
        status, out, err = run(2, ["conformance", 1, 50], {"WEFT_MPI": "off", "WEFT_MPI_STATS": "1"})
        self.assertEqual((status, out), (0, "2 ranks: 50 cases agree\n"), err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
