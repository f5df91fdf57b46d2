#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: mistyped words and invalid values are refused with a suggestion or the expected values; calls with counts work.
# Method: run weft with mistyped and invalid arguments.
import subprocess
import tempfile
import unittest

from command import WEFT, answer, check_refusals, weft

COUNTED = {"gatherv": "gather", "scatterv": "scatter", "allgatherv": "allgather", "alltoallv": "alltoall",
           "reduce_scatterv": "reduce_scatter"}
PAIRWISE = ("gatherv", "scatterv", "alltoallv")


class Suggestions(unittest.TestCase):
    def test_each_kind_of_misspelled_word_gets_a_suggestion(self):
        four = ("allreduce", "--ranks", "4")
        check_refusals(self, (
            (("bnech", "allreduce"), "unknown command 'bnech'; did you mean 'bench'?"),
            (("bench", "allreduce", "--sceonds", "1"), "option --sceonds of weft bench; did you mean '--seconds'?"),
            (("run", "-n", "2", "--lable", "true"), "option --lable of weft run; did you mean '--label'?"),
            (("--verison",), "unknown option --verison; did you mean '--version'?"),
            (("bench", "alreduce"), "did you mean 'allreduce'?"),
            (("verify", "alreduce", "--ranks", "4"), "did you mean 'allreduce'?"),
            (("explain", "gatherrv", "--ranks", "4"), "did you mean 'gatherv'?"),
            (("verify", *four, "--algorithm", "rign"), "did you mean 'ring'?"),
            (("verify", *four, "--algorithm", "ring:segmnts=2"), "did you mean 'segments'?"),
            (("verify", *four, "--algorithm", "a4", "--type", "duoble"), "did you mean 'double'?"),
            (("explain", *four, "--op", "summ"), "did you mean 'sum'?"),
            (("simulate", *four, "--algorithm", "a4", "--engine", "genric"), "did you mean 'generic'?"),
            (("explain", *four, "--provider", "tpc"), "did you mean 'tcp'?")))

    def test_words_unlike_any_other_get_no_suggestion(self):
        for arguments in (("weave",), ("verify", "teleport", "--ranks", "4"), ("bench", "x")):
            refused = weft(*arguments)
            self.assertEqual(refused.returncode, 2)
            self.assertNotIn("did you mean", refused.stderr)

    def test_missing_or_malformed_values_are_named_with_an_example(self):
        check_refusals(self, (
            (("bench",), "weft bench: collective is required\n  weft help bench has the options; an example: weft run -n 4"),
            (("run", "-n", "x", "true"), "weft run: --ranks: 'x' is not a number"),
            (("run", "-n"), "weft run: --ranks: its value is missing"),
            (("explain", "allreduce"), "weft explain: --ranks is required"),
            (("verify", "allreduce", "--ranks", "4"), "weft list has the algorithms"),
            (("./a.out",), "weft run -n 4 PROGRAM starts a program"),
            (("-n", "4", "./a.out"), "unknown option -n\n")))

    def test_an_extra_argument_is_named(self):
        check_refusals(self, ((("list", "allreduce", "more"), "unexpected word 'more' after weft list"),))

    def test_unknown_variables_get_a_suggestion(self):
        errors = weft("run", "-n", "2", "env", "WEFT_TMEOUT=3", "WEFT_QZXJY=1", WEFT, "info").stderr
        self.assertIn("WEFT_TMEOUT (did you mean WEFT_TIMEOUT?)", errors)
        self.assertNotIn("WEFT_QZXJY (", errors)


class Refusals(unittest.TestCase):
    def test_output_that_cannot_be_written_is_an_error(self):
        for arguments in (("--version",), ("help", "run"), ("explain", "allreduce", "--ranks", "4", "--json")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([WEFT, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30,
                                      check=False)
            self.assertEqual(done.returncode, 3, arguments)
            self.assertIn("weft: cannot write to stdout: No space left on device", done.stderr)

    def test_numbers_of_ranks_and_pairs_are_checked(self):
        check_refusals(self, (
            (("run", "--layout", "2147483647,2147483647", "true"), "4294967294 ranks, at most"),
            (("bench", "barrier", "--nodes", "2"), "--nodes needs -n"),
            (("bench", "put-rate", "-n", "2", "--pairs", "0"), "--pairs: 0, expected 1 or more")))

    def test_an_unknown_provider_is_refused(self):
        check_refusals(self, ((("explain", "allreduce", "--ranks", "4", "--provider", "nosuch"),
                               "--provider: no cost data for provider 'nosuch'; known: cxi,"),))
        refused = weft("explain", "allreduce", "--ranks", "4", settings={"WEFT_PROVIDER": "nosuch"})
        self.assertEqual(refused.returncode, 2)
        self.assertIn("WEFT_PROVIDER: no cost data for provider 'nosuch'", refused.stderr)

    def test_a_simulation_without_costs_is_refused(self):
        call = ("simulate", "allreduce", "--ranks", "4", "--algorithm", "a4")
        check_refusals(self, ((call, "all costs are 0: give --params"), ((*call, "--latency-ns", "0"), "all costs are 0")))
        for costs in (("--latency-ns", "1"), ("--params", "infiniband-2007"), ("--skew", "1:5"), ("--noise", "uniform:5")):
            self.assertGreater(answer(self, *call, *costs)["makespan_ns"], 0, costs)

    def test_more_nodes_than_ranks_are_refused(self):
        program = (WEFT, "info", "--json")
        done = weft("run", "-n", "4", *program, settings={"WEFT_NODES": "9"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("WEFT_NODES=9: expected 1 to 4 (the ranks of the job)", done.stderr)
        self.assertEqual(weft("run", "-n", "4", *program, settings={"WEFT_NODES": "4"}).returncode, 0)
        self.assertEqual(weft("info", settings={"WEFT_NODES": "9"}).returncode, 0, "without a job, WEFT_NODES has no effect")


class CallsWithCounts(unittest.TestCase):
    def test_algorithms_with_counts_are_listed(self):
        for collective, even in COUNTED.items():
            names = {entry["algorithm"] for entry in answer(self, "list", collective)["algorithms"]}
            if collective in PAIRWISE:
                self.assertIn(f"{collective} direct: ", weft("list", collective).stdout)
                self.assertEqual(len(names), 1)
            else:
                even_names = {entry["algorithm"] for entry in answer(self, "list", even)["algorithms"]}
                self.assertEqual(names, even_names)

    def test_programs_with_counts_are_shown_verified_and_simulated(self):
        for collective in COUNTED:
            algorithm = () if collective in PAIRWISE else ("--algorithm", "ring")
            call = (collective, "--ranks", "4", *algorithm)
            for counts in ("3,0,5,1", "0,0,0,0", "2,2,2,2"):
                verdict = answer(self, "verify", *call, "--counts", counts)
                self.assertTrue(verdict["valid"], verdict)
                shown = weft("show", *call, "--counts", counts)
                self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertGreater(answer(self, "simulate", *call, "--latency-ns", "100")["makespan_ns"], 0)

    def test_bytes_follow_from_the_counts(self):
        for collective, sent in (("gatherv", 3 + 5), ("scatterv", 3 + 5), ("allgatherv", 2 * 9), ("alltoallv", 2 * 9)):
            algorithm = () if collective in PAIRWISE else ("--algorithm", "direct")
            verdict = answer(self, "verify", collective, "--ranks", "3", "--counts", "1,3,5", *algorithm)
            self.assertEqual(verdict["bytes_total"], 8 * sent, collective)
        simulated = answer(self, "simulate", "gatherv", "--ranks", "3", "--counts", "1,3,5", "--ns-per-byte", "1")
        self.assertEqual(simulated["makespan_ns"], 5 * 8)

    def test_a_wrong_program_is_detected(self):
        program = weft("show", "scatterv", "--ranks", "3", "--counts", "1,2,3").stdout
        self.assertIn("output", program)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            for text, right in ((program, True), (program.replace("input[2+1]", "input[1+1]"), False)):
                file.seek(0)
                file.truncate()
                file.write(text)
                file.flush()
                done = weft("verify", "scatterv", "--program", file.name, "--counts", "1,2,3")
                self.assertEqual(done.returncode == 0, right, done.stdout + done.stderr)

    def test_programs_with_other_counts_than_the_call_are_refused(self):
        calls = (("allgatherv", "ring"), ("scatterv", "direct"), ("alltoallv", "direct"))
        for collective, algorithm in calls:
            shown = weft("show", collective, "--algorithm", algorithm, "--ranks", "3", "--counts", "1,5,3").stdout
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write(shown)
                file.flush()
                call = ("verify", collective, "--program", file.name)
                self.assertTrue(answer(self, *call, "--counts", "1,5,3")["valid"])
                check_refusals(self, (((*call, "--counts", "3,3,3"), "for rank 0, expected '"),))
                if collective == "allgatherv":
                    check_refusals(self, ((("verify", "allgather", *call[2:], "--bytes", "24"),
                                           "has the counts '1 5 3' for rank 0, expected '3 3 3'"),))

    def test_invalid_counts_are_refused(self):
        gather = ("verify", "gatherv", "--ranks", "3")
        check_refusals(self, (
            ((*gather, "--counts", "1,2"), "--counts: 2 given, expected one for each of 3 ranks"),
            ((*gather, "--counts", "1,2,x"), "--counts"), ((*gather, "--algorithm", "ring"), "gatherv has only 'direct'"),
            (("verify", "gather", "--ranks", "3", "--algorithm", "flat", "--counts", "1,2,3"), "blocks of gather are equal"),
            (("simulate", "alltoallv", "--ranks", "3", "--counts", "1,2,3", "--latency-ns", "1"), "not simulated")))


class Texts(unittest.TestCase):
    def test_numbers_have_no_meaningless_digits(self):
        for command in (("cost", "allreduce", "--ranks", "8"),
                        ("simulate", "allreduce", "--algorithm", "a4", "--ranks", "4", "--params", "infiniband-2007")):
            self.assertNotRegex(weft(*command).stdout, r"\d{12}")

    def test_text_output_contains_no_json(self):
        for command in (("cost", "allreduce", "--algorithm", "a4", "--ranks", "4"), ("cost", "allgatherv", "--ranks", "4"),
                        ("simulate", "allreduce", "--algorithm", "a4", "--ranks", "4", "--latency-ns", "1"),
                        ("verify", "allreduce", "--algorithm", "a4", "--ranks", "4")):
            output = weft(*command).stdout
            self.assertNotRegex(output, r"[{}\"\[\]]|null", command)
        self.assertRegex(weft("cost", "allreduce", "--algorithm", "a4", "--ranks", "4").stdout, r"(?m)^formula time_us +\d")


if __name__ == "__main__":
    unittest.main()
