#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""guest_test.py - the layer decides about calls equally on all ranks, and leaves programs unchanged.

usage: guest_test.py openmpi|mpich FOLDER_OF_PROGRAMS

Idea     One rank gets arguments or variables that the other ranks do not have. A layer whose decisions depend on these
         hangs or fails the job; each case has a deadline of DEADLINE_S.
"""
import os
import re
import tempfile
import unittest
from pathlib import Path

import mpi_test
from mpi_test import BIN, LAYER, MPI, launch, run

OTHER_MPI, OTHER_NAME = {"openmpi": ("mpich", "MPICH"), "mpich": ("openmpi", "Open MPI")}[MPI]
OTHER_LAYER = BIN / f"libweft-mpi-{OTHER_MPI}.so"
TOOL = BIN / f"libweft_tool_{MPI}.so"
DEADLINE_S = 20
COLLECTIVES = """BARRIER BROADCAST ALLREDUCE REDUCE GATHER SCATTER ALLGATHER ALLTOALL REDUCE_SCATTER_BLOCK SCAN EXSCAN
    GATHERV SCATTERV ALLGATHERV ALLTOALLV ALLTOALLW REDUCE_SCATTER""".split()
OWN_CALLS = [str(BIN / f"weft_communicators_{MPI}"), "own", "60"]


def handed_back(err):
    """Returns, for each collective in the statistics, why calls went to the host MPI."""
    return dict(re.findall(r"^weft: (\w+) +\d+ +\d+ +\d+ +[\d.]+ +[\d.]+ +(.*)$", err, re.MULTILINE))


def preload(*libraries):
    """Returns a value for LD_PRELOAD: `libraries` and, for MPICH on too few processors, the library that yields."""
    return ":".join(map(str, (*libraries, *mpi_test.PRELOADED[1:])))


class Memory(unittest.TestCase):
    def test_buffers_stay_private_memory(self):
        status, out, err = run(2, ["remapped"], {}, DEADLINE_S)
        self.assertEqual(status, 0, err)
        if out.startswith("remapped 0"):
            self.skipTest("no memory is remapped here")
        # MADV_DONTNEED cleared the remapped buffer, and mremap() kept its data.
        self.assertEqual(out, "remapped 1, cleared 1, moved 1\n", err)


class FactsOfOneRank(unittest.TestCase):
    def check(self, what, ranks=3, rounds=12, **settings):
        status, out, err = run(ranks, ["one_rank", what, rounds], {"WEFT_MPI_STATS": "1", **settings}, DEADLINE_S)
        self.assertEqual((status, out), (0, f"{what}: right\n"), err)
        return handed_back(err)

    def check_served(self, what):
        reasons = self.check(what)
        self.assertGreater(len(reasons), 0)
        self.assertEqual(set(reasons.values()), {"none"}, reasons)

    def test_zero_elements_of_a_null_type_are_served(self):
        self.check_served("empty")

    def test_zero_elements_of_a_huge_type_are_served(self):
        self.check_served("huge")

    def test_absolute_addresses_on_one_rank_are_served(self):
        self.check_served("bottom")

    def test_a_different_type_layout_on_one_rank_is_served(self):
        self.check_served("layout")

    def test_unaligned_addresses_on_one_rank_are_served(self):
        self.check_served("unaligned")

    def test_new_buffers_of_one_rank_keep_long_calls_with_the_host(self):
        # The ranks choose a library at calls 16, 32, 64 and 128, by the calls since the last choice. After 40 rounds
        # buffers recur, so the choice at call 64 is weft; after 64 rounds not before the choice at call 128.
        reasons = self.check("buffers", 3, 40, WEFT_MPI="auto")
        self.assertEqual(reasons["allreduce"], f"{3 * 63} host is quicker")
        reasons = self.check("buffers", 3, 64, WEFT_MPI="auto")
        self.assertEqual(reasons["allreduce"], f"{3 * 127} host is quicker")

    def test_threads_of_one_rank_give_right_results(self):
        self.assertEqual(self.check("threads")["allreduce"], "none")


class SettingsOfOneRank(unittest.TestCase):
    def launch_unequal(self, name, value):
        """Launches two ranks; only rank 0 has the variable."""
        common = {"LD_PRELOAD": preload(LAYER)}
        if MPI == "openmpi":
            words = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]
            option = [word for key, text in common.items() for word in ("-x", f"{key}={text}")]
            first = [*option, "-x", f"{name}={value}"]
            words += ["-np", "1", *first, *OWN_CALLS, ":", "-np", "1", *option, *OWN_CALLS]
        else:
            option = [word for key, text in common.items() for word in ("-env", key, text)]
            first = [*option, "-env", name, value]
            words = ["mpiexec.mpich", "-np", "1", *first, *OWN_CALLS, ":", "-np", "1", *option, *OWN_CALLS]
        return mpi_test.finish(words, DEADLINE_S)

    def check(self, name, value):
        with self.subTest(name=name, value=value):
            status, out, err = self.launch_unequal(name, value)
            self.assertEqual((status, out), (0, "60 calls: right\n"), err)
            self.assertIn(f"weft: collectives stay with MPI: {name} is '{value}' on rank 0 and not set on rank 1; "
                          "all ranks need the same value\n", err)

    def test_each_variable_may_differ_on_one_rank(self):
        for name, value in (("WEFT_MPI", "off"), ("WEFT_MPI", "auto"), ("WEFT_MPI_TEAM_AFTER", "4"),
                            ("WEFT_MPI_STATS", "1"), ("WEFT_MPI_EXACT_SUM", "1"), ("WEFT_MPI_TUNING", "/nowhere/file"),
                            ("WEFT_MPI_PROGRESS", "off")):
            self.check(name, value)
        for collective in COLLECTIVES:
            self.check(f"WEFT_MPI_{collective}", "off")

    def test_invalid_values_are_reported(self):
        for name, value, expected in (("WEFT_MPI", "of", "on or off or auto"),
                                      ("WEFT_MPI_ALLREDUCE", "1", "on or off or auto"),
                                      ("WEFT_MPI_STATS", "yes", "0 or 1"),
                                      ("WEFT_MPI_EXACT_SUM", "on", "0 or 1"),
                                      ("WEFT_MPI_PROGRESS", "0", "on or off"),
                                      ("WEFT_MPI_TEAM_AFTER", "two", "a whole number from 0 to 1000000000"),
                                      ("WEFT_MPI_TEAM_AFTER", "-1", "a whole number from 0 to 1000000000")):
            with self.subTest(name=name, value=value):
                status, out, err = run(2, ["communicators", "own", 60], {name: value}, DEADLINE_S)
                self.assertEqual((status, out), (0, "60 calls: right\n"), err)
                self.assertEqual(err.count("weft:"), 1, err)
                self.assertIn(f"weft: collectives stay with MPI: {name} is '{value}'; expected: {expected}\n", err)

    def test_unknown_names_are_reported_once(self):
        status, _, err = run(2, ["communicators", "own", 60], {"WEFT_MPI_ALREDUCE": "off"}, DEADLINE_S)
        self.assertEqual((status, err.count("weft: WEFT_MPI_ALREDUCE is not a variable of weft\n")), (0, 1), err)


class OtherPrograms(unittest.TestCase):
    def test_spawned_processes_are_in_no_team(self):
        for layer in ("with", "without"):
            status, out, err = run(2, ["spawned", layer], {}, DEADLINE_S)
            expected = {"openmpi": ("right\n",), "mpich": ("right\n", "no process can be spawned\n")}[MPI]
            self.assertEqual((status, out in expected), (0, True), (layer, out, err))

    def test_a_program_that_only_uses_sessions_runs(self):
        status, _, err = run(1, ["sessions"], {"WEFT_MPI_STATS": "1"}, DEADLINE_S)
        self.assertEqual(status, 0, err)
        status, out, err = run(2, ["sessions"], {"WEFT_MPI_STATS": "1"}, DEADLINE_S)
        self.assertEqual(status, 0, err)
        if MPI == "mpich":
            self.assertEqual(handed_back(err), {"barrier": "none", "allreduce": "none"}, err)
        self.assertEqual(set(out.split("\n")) - {""},
                         {{"openmpi": "this MPI has no sessions", "mpich": "right"}[MPI]})

    def test_a_barrier_makes_progress_on_windows(self):
        status, _, err = run(2, ["communicators", "window", 2000], {}, DEADLINE_S)
        self.assertEqual(status, 0, err)

    def test_freed_operations_leak_no_memory(self):
        status, out, err = run(2, ["communicators", "operations", 40000], {}, DEADLINE_S)
        self.assertEqual(status, 0, err)
        grown = re.fullmatch(r"40000 operations: (-?\d+) KiB\n", out)
        self.assertLess(int(grown[1]), 400, out)  # 40 bytes leaked by each of 36,000 operations would be 1,406 KiB

    @unittest.skipUnless(OTHER_LAYER.exists(), "no layer for the other MPI")
    def test_a_layer_for_the_other_mpi_is_inactive(self):
        for libraries in ((OTHER_LAYER,), (OTHER_LAYER, LAYER)):
            settings = {"LD_PRELOAD": preload(*libraries), "WEFT_MPI_STATS": "1"}
            status, out, err = run(2, ["communicators", "own", 60], settings, DEADLINE_S)
            self.assertEqual((status, out), (0, "60 calls: right\n"), err)
            name = {"openmpi": "Open MPI", "mpich": "MPICH"}[MPI]
            self.assertIn(f"weft: {OTHER_LAYER} is not for this program, which uses {name}: preload {LAYER.name}; "
                          "the program runs without the layer\n", err)
            self.assertEqual("allreduce" in handed_back(err), LAYER in libraries, err)

    def test_a_layer_behind_a_tool_reports_that_it_is_inactive(self):
        status, out, err = run(2, ["communicators", "own", 60], {"LD_PRELOAD": preload(TOOL, LAYER)}, DEADLINE_S)
        self.assertEqual((status, out), (0, "60 calls: right\n"), err)
        self.assertEqual(len(re.findall(rf"weft: no collective was served: \S*{TOOL.name} takes the program's calls "
                                        rf"of MPI before {LAYER}; preload the layer first\n", err)), 1, err)

    def test_a_tool_behind_the_layer_changes_nothing(self):
        settings = {"LD_PRELOAD": preload(LAYER, TOOL), "WEFT_MPI_STATS": "1"}
        status, out, err = run(2, ["communicators", "own", 60], settings, DEADLINE_S)
        self.assertEqual((status, out), (0, "60 calls: right\n"), err)
        self.assertEqual(handed_back(err)["allreduce"], "none")


class FilesOfRanges(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = Path(self.folder.name) / "ranges"
        self.settings = {"WEFT_MPI": "auto", "WEFT_MPI_TUNING": str(self.file)}

    def served(self, *lines):
        """Writes a file of ranges. Returns how many of two ranks' 200 calls weft served, and standard error."""
        self.file.write_text("".join(line + "\n" for line in lines))
        status, _, err = run(2, ["communicators", "stream", 100], {**self.settings, "WEFT_MPI_STATS": "1"}, DEADLINE_S)
        self.assertEqual(status, 0, err)
        return int(re.search(r"^weft: allreduce +200 +(\d+) ", err, re.MULTILINE)[1]), err

    def test_ranges_select_the_library(self):
        self.assertEqual(self.served(f"{MPI} 2 allreduce 0 host", f"{MPI} 2 allreduce 1024 weft")[0], 0)
        self.assertEqual(self.served(f"{MPI} 2 allreduce 0 weft", f"{MPI} 2 allreduce 1024 host")[0], 200)
        self.assertEqual(self.served(f"{MPI} 3 allreduce 0 host", f"{OTHER_MPI} 2 allreduce 0 host")[0], 200)

    def test_a_malformed_line_is_reported_once(self):
        served, err = self.served(f"{MPI} 2 allreduce 0 host", "nonsense")
        self.assertEqual(served, 0)
        self.assertEqual(err.count(f"weft: {self.file}: this line is not understood: nonsense\n"), 1, err)

    def test_a_missing_file_is_reported_once(self):
        status, out, err = run(2, ["communicators", "own", 60], self.settings, DEADLINE_S)
        self.assertEqual((status, out), (0, "60 calls: right\n"), err)
        self.assertEqual(err, f"weft: {self.file} does not exist\n")

    def test_files_that_differ_between_ranks_are_refused(self):
        settings = {"WEFT_MPI": "auto", "WEFT_MPI_TUNING": "/proc/self/stat", "WEFT_MPI_STATS": "1"}
        status, out, err = run(2, ["communicators", "own", 60], settings, DEADLINE_S)
        self.assertEqual((status, out), (0, "60 calls: right\n"), err)
        self.assertEqual(len(re.findall(
            r"^weft: collectives stay with MPI: the content of the file in WEFT_MPI_TUNING is of \d+ bytes and hash \w+ "
            r"on rank 0 and of \d+ bytes and hash \w+ on rank 1; all ranks need the same value$",
            err, re.MULTILINE)), 1, err)

    def test_a_fifo_is_refused_as_file_of_ranges(self):
        os.mkfifo(self.file)
        status, out, err = run(2, ["communicators", "own", 60], self.settings, DEADLINE_S)
        self.assertEqual((status, out), (0, "60 calls: right\n"), err)
        self.assertIn(f"weft: {self.file} is not a regular file\n", err)


if __name__ == "__main__":
    unittest.main(argv=["guest_test.py"])
