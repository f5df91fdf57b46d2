#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: weft simulate and enumerate have the documented values, fields, statuses and streams.
# Method: run weft and compare its output with values of papers and with values computed by hand.
import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from command import WEFT, answer, check_refusals, weft

FIELDS = ("algorithm ranks bytes model engine makespan_ns earliest_finish_ns skew_ns messages events "
          "generate_s simulate_s")
MODEL = ("--model", "pipelined-postal", "--latency-ns", "500", "--issue-ns", "100",
         "--ns-per-byte", "0.4", "--reduce-ns", "10")

# Ruefenacht et al. 6.2 and 6.3 under the conventions of docs/selection.md:
# ranks, schedule, makespan, earliest finish, skew, messages.
PAPER = (
    (8, "a2,a2,a2", 1839.6, 1839.6, 0, 24),
    (8, "a8", 1292.4, 1292.4, 0, 56),
    (8, "a2,a4", 1452.8, 1452.8, 0, 32),
    (8, "a4,a2", 1452.8, 1452.8, 0, 32),
    (6, "a6", 1066.0, 1066.0, 0, 30),
    (6, "a3,a2", 1339.6, 1339.6, 0, 18),
    (6, "a2,a3", 1339.6, 1339.6, 0, 18),
    (6, "c4m2,a2,a2,e4m2", 1942.8, 1442.8, 500.0, 12),
    (7, "c6m2,a2,a2,e6m2", 2442.8, 1442.8, 1000.0, 14),
    (7, "m1g2a3,n1g3a2", 1452.8, 1339.6, 113.2, 23),
    (7, "m3g2a2,n3g2a2", 1452.8, 1236.4, 216.4, 20),
    (10, "a2,a5", 1566.0, 1566.0, 0, 50),
    (11, "m2g3a3,n2g3a3", 1566.0, 1452.8, 113.2, 48),
    (11, "m1g2a5,n1g5a2", 1679.2, 1566.0, 113.2, 57),
    (13, "m1g4a3,n1g3a4", 1679.2, 1566.0, 113.2, 67),
    (13, "c10m2,a2,a2,a2,e10m2", 3056.0, 2056.0, 1000.0, 34),
)


class Simulate(unittest.TestCase):
    def outcome(self, *arguments):
        outcome = answer(self, "simulate", *arguments)
        self.assertEqual(list(outcome), FIELDS.split())
        return outcome

    def test_goal_files_take_the_same_time(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "schedule.goal")
            options = ("--model", "loggp", "--latency-ns", "6000", "--overhead-ns", "4700", "--ns-per-byte", "0.73")
            for collective, spec in (("barrier", "dissemination"), ("allreduce", "a4,a4"), ("allreduce", "a16"),
                                     ("allreduce", "reduce-broadcast:tree=(kary:k=2)")):
                simulated = json.loads(weft("simulate", collective, "--algorithm", spec, "--ranks", "16", "--bytes",
                                            "64", *options, "--goal", path, "--json").stdout)
                replayed = json.loads(weft("goal", path, *options, "--json").stdout)
                for field in ("makespan_ns", "earliest_finish_ns", "messages"):
                    self.assertEqual(replayed[field], simulated[field], (spec, field))
                named = json.loads(weft("goal", path, "--params", "infiniband-2007", "--json").stdout)
                self.assertEqual(named["makespan_ns"], simulated["makespan_ns"])
                if collective == "barrier":
                    self.assertEqual(simulated["makespan_ns"], 4 * 15400)
            refused = weft("goal", path, "--params", "infiniband-2007", "--latency-ns", "5")
            self.assertEqual(refused.returncode, 2)
            with open(path, "w") as file:
                file.write("num_ranks 1\nrank 0 {\njump\n}\n")
            refused = weft("goal", path)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("line 3", refused.stderr)

    def test_every_engine_matches_the_examples_of_the_paper(self):
        for ranks, schedule, makespan, earliest, skew, messages in PAPER:
            for engine in ("generic", "events", "structured", "folded"):
                outcome = self.outcome("allreduce", "--algorithm", schedule, "--ranks", str(ranks), *MODEL,
                                       "--placement", "paper", "--engine", engine)
                self.assertEqual((outcome["makespan_ns"], outcome["earliest_finish_ns"], outcome["skew_ns"],
                                  outcome["messages"], outcome["engine"]),
                                 (makespan, earliest, skew, messages, engine), (schedule, engine))

    def test_schedules_cross_at_the_published_sizes(self):
        for size, two, eight in (("344", 2242.8, 2233.2), ("352", 2252.4, 2255.6)):
            for schedule, makespan in (("a2,a2,a2", two), ("a8", eight)):
                outcome = self.outcome("allreduce", "--algorithm", schedule, "--ranks", "8", *MODEL,
                                       "--bytes", size)
                self.assertEqual((outcome["makespan_ns"], outcome["bytes"]), (makespan, int(size)))

    def test_a_million_and_a_billion_ranks_are_simulated(self):
        many = self.outcome("allreduce", "--algorithm", "a4,a4,a4,a5,a5,a5,a5,a5,a5", "--ranks", "1000000",
                            *MODEL, "--engine", "structured")
        self.assertEqual((many["makespan_ns"], many["messages"]), (8235.6, 33000000))
        billion = self.outcome("allreduce", "--algorithm", ",".join(["a10"] * 9), "--ranks", "1000000000", *MODEL)
        self.assertEqual((billion["makespan_ns"], billion["messages"], billion["engine"]),
                         (13669.2, 81000000000, "folded"))

    def test_auto_chooses_a_suitable_engine(self):
        call = ("allreduce", "--algorithm", "a2,a4", "--ranks", "8", *MODEL)
        for more, engine in (((), "folded"), (("--noise", "uniform:20"), "structured"),
                             (("--skew", "3:100"), "structured"), (("--contention", "ports"), "events")):
            self.assertEqual(self.outcome(*call, *more)["engine"], engine)
        tree = ("broadcast", "--algorithm", "binomial", "--ranks", "8", *MODEL)
        self.assertEqual(self.outcome(*tree)["engine"], "generic")

    def test_ranks_that_share_processors_take_turns(self):
        """The two ranks of a node share a processor; expected times are sums by the rules of docs/selection.md."""
        call = ("allreduce", "--algorithm", "hierarchical:node=(a2),net=(a2)", "--ranks", "4", "--layout", "2,2")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.txt")
            with open(path, "w") as file:
                file.write("near_latency_ns 100\nnear_issue_ns 10\nnear_receive_ns 20\nnear_ns_per_byte 1\n"
                           "near_turn_ns 1000\nfar_latency_ns 500\nfar_issue_ns 40\nfar_receive_ns 60\n"
                           "far_ns_per_byte 2\nfar_turn_ns 3000\nreduce_ns_per_byte 0\ncall_ns 0\n")
            call += ("--params", path)
            # With two ranks on a processor, each message arrives two turns later: near, far and near again. Near messages
            # of 8 bytes take 10 + 20 + 8 ns of work, far ones 40 + 60 + 2 * 16, because both ends work for their bytes.
            waits = (100 + 2 * 1000) + (500 + 2 * 3000) + (100 + 2 * 1000)
            work = (6 * 38 + 2 * 132) / 2
            for more, time in ((("--processors", "1"), waits + work),
                               (("--processors", "1", "--hosts", "2"), waits + work),
                               (("--processors", "2", "--hosts", "1"), waits + work),
                               (("--processors", "1", "--hosts", "1"), waits + 2 * (1000 + 3000 + 1000) + 2 * work)):
                found = answer(self, "simulate", *call, *more)
                self.assertEqual(list(found), [*FIELDS.split(), "in_stream_ns"])
                self.assertEqual((found["makespan_ns"], found["in_stream_ns"]), (time, time), more)
                self.assertEqual((found["engine"], found["messages"], found["skew_ns"]), ("turns", 8, None))
                cost = answer(self, "cost", *call, *more)
                self.assertAlmostEqual(cost["time_us"], time / 1000, delta=1e-9)
                self.assertEqual(cost["messages"], 8)
            uneven = ("barrier", "--algorithm", "central", "--ranks", "4", "--layout", "3,1", "--params", path)
            self.assertEqual(answer(self, "simulate", *uneven, "--processors", "3")["engine"], "generic")
            self.assertEqual(answer(self, "simulate", *uneven, "--processors", "2")["engine"], "turns")
            alone = self.outcome(*call)  # each rank has a processor: no turns
            self.assertEqual(alone["makespan_ns"], 138 + 616 + 138)
            for enough in (("--processors", "2"), ("--processors", "4", "--hosts", "1")):
                found = self.outcome(*call, *enough)
                self.assertEqual({**found, "generate_s": 0, "simulate_s": 0}, {**alone, "generate_s": 0, "simulate_s": 0})
            check_refusals(self, (
                ((*call, "--processors", "0"), "--processors: 0 is less than 1"),
                ((*call, "--processors", "1", "--hosts", "3"), "--hosts: 3 is not in 1..2"),
                ((*call, "--hosts", "1"), "needs --processors"),
                ((*call, "--processors", "1", "--noise", "uniform:5"), "are not valid with ranks that share processors"),
                ((*call, "--processors", "1", "--engine", "generic"), "are not valid with ranks that share processors"),
                ((*call, "--processors", "1", "--turn-ns", "5"), "--params has near_turn_ns and far_turn_ns"),
                ((*call[:-2], *MODEL, "--processors", "1", "--copy"), "needs --params with a file of near and far puts"),
                ((*call[:-2], *MODEL, "--turn-ns", "5"), "--turn-ns needs --processors")), "simulate")
            with open(path) as file:
                text = file.read()
            with open(path, "w") as file:
                file.write(text.replace("call_ns 0", "call_ns 45\nprocessors 1"))
            self.assertEqual(answer(self, "simulate", *call)["makespan_ns"], waits + work + 2 * 45)
            self.assertEqual(answer(self, "simulate", *call, "--processors", "2")["makespan_ns"], alone["makespan_ns"])
            check_refusals(self, ((("--params", path, "--processors", "x"), "'x' is not a number"),), "simulate", *call[:-2])

    def test_ranks_can_share_processors_under_any_model(self):
        two = ("allreduce", "--algorithm", "a2", "--ranks", "2", "--processors", "1")
        time = 500 + 2 * 1000 + 2 * (100 + 3.2 + 10)  # two turns, then the work of both ranks
        found = answer(self, "simulate", *two, *MODEL, "--turn-ns", "1000")
        self.assertEqual((found["makespan_ns"], found["in_stream_ns"], found["engine"]), (time, time, "turns"))
        four = ("allreduce", "--algorithm", "a4", "--ranks", "4", "--processors", "1", "--turn-ns", "1000", *MODEL)
        each = 3 * 103.2 + 30
        self.assertEqual(answer(self, "simulate", *four, "--layout", "2,2")["makespan_ns"], 2500 + 2 * each)
        self.assertEqual(answer(self, "simulate", *four)["makespan_ns"], 4500 + 4 * each)
        alone = self.outcome(*four[:5], *MODEL, "--processors", "4", "--turn-ns", "1000")
        self.assertEqual(alone["makespan_ns"], 500 + each)
        work = 2 * (4700 + 5.84 + 4700)  # infiniband-2007 is LogGP, without a cost of turns
        self.assertEqual(answer(self, "simulate", *two, "--params", "infiniband-2007")["makespan_ns"], 6000 + work)
        self.assertAlmostEqual(answer(self, "cost", *two)["time_us"], (6000 + work) / 1000, delta=1e-9)
        self.assertAlmostEqual(answer(self, "cost", *two, "--turn-ns", "0.5")["time_us"], (6001 + work) / 1000, delta=1e-9)
        postal = ("--model", "postal", "--latency-ns", "500")
        gap = ("--model", "logp", "--overhead-ns", "500", "--gap-ns", "5")
        check_refusals(self, (((*two, *postal), "only under pipelined-postal"), ((*two, *gap), "--gap-ns 0"),
                              ((*two, *MODEL, "--turn-ns", "x"), "--turn-ns: 'x' is not a number")), "simulate")

    def test_noise_depends_only_on_the_seed(self):
        call = ("allreduce", "--algorithm", "a3,a3", "--ranks", "9", *MODEL, "--noise", "exponential:80")
        spans = {self.outcome(*call, "--seed", seed, "--engine", engine)["makespan_ns"]
                 for seed in ("1", "2") for engine in ("generic", "events", "structured")}
        self.assertEqual(len(spans), 2)

    def test_topologies_change_the_order_of_stages(self):
        # With the stage within nodes first, fewer messages use the ports of nodes.
        def makespan(schedule):
            return self.outcome("allreduce", "--algorithm", schedule, "--ranks", "96", *MODEL,
                                "--topology", "two-level:ranks=24,near=50", "--contention", "ports",
                                "--bytes", "1K")["makespan_ns"]
        self.assertLess(makespan("a24,a4"), makespan("a4,a24"))

    def test_messages_that_cross_take_longer(self):
        postal = ("--model", "postal", "--latency-ns", "1000", "--ns-per-byte", "1", "--two-way-ns", "500",
                  "--two-way-ns-per-byte", "0.5", "--bytes", "800")
        for spec, makespan in (("reduce-broadcast", 6 * 1800), ("a2,a2,a2", 3 * 2700)):
            found = self.outcome("allreduce", "--algorithm", spec, "--ranks", "8", *postal)
            self.assertEqual((found["makespan_ns"], found["engine"]), (makespan, "generic"))
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write("model postal\nlatency_ns 1000\nns_per_byte 1\ntwo_way_ns 500\ntwo_way_ns_per_byte 0.5\n")
                file.flush()
                cost = answer(self, "cost", "allreduce", "--algorithm", spec, "--ranks", "8", "--bytes", "800",
                              "--params", file.name)
                self.assertAlmostEqual(cost["time_us"], makespan / 1000, places=9)
        check_refusals(self, ((("--engine", "folded"), "two-way costs"),), "simulate", "allreduce", "--algorithm",
                       "a2", "--ranks", "2", *postal)

    def test_models_of_infiniband_charge_runs_of_messages(self):
        call = ("broadcast", "--algorithm", "flat", "--latency-ns", "6", "--overhead-ns", "2")
        for ranks, logfp, lop in ((4, 14, 20.5), (8, 26, 33.791)):
            for more, makespan in ((("logfp", "--gap-ns", "4", "--free-messages", "3"), logfp),
                                   (("lop", "--pipeline-ns", "3", "--saturation-ns", "0.8"), lop)):
                found = self.outcome(*call, "--ranks", str(ranks), "--model", *more)
                self.assertEqual((found["makespan_ns"], found["model"]), (makespan, more[0]), ranks)
        check_refusals(self, ((("--free-messages", "0"), "--free-messages"),), "simulate", *call, "--ranks", "4")

    def test_programs_of_a_file_sleep_and_compute(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "programs.txt")
            call = ("allreduce", "--algorithm", "m1g2a3,n1g3a2", "--ranks", "7")
            shown = weft("show", *call).stdout
            with open(path, "w") as file:
                file.write(shown)
            given = ("allreduce", "--program", path, *MODEL)
            same = self.outcome(*given)
            self.assertEqual((same["algorithm"], same["makespan_ns"]),
                             (call[2], self.outcome(*call, *MODEL)["makespan_ns"]))
            self.assertEqual(answer(self, "verify", *given[:3])["valid"], True)
            for word in ("sleep", "compute"):
                with open(path, "w") as file:
                    file.write(shown.replace("\nrank 3\n", f"\nrank 3\n  {word} 5000 ns\n"))
                for engine in ("generic", "events"):
                    slow = self.outcome(*given, "--engine", engine)
                    self.assertEqual(slow["makespan_ns"],
                                     self.outcome(*call, *MODEL, "--skew", "3:5000")["makespan_ns"])
                goal = os.path.join(folder, "program.goal")
                self.outcome(*given, "--goal", goal)
                self.assertEqual(answer(self, "goal", goal, *MODEL)["makespan_ns"], slow["makespan_ns"])
                self.assertEqual(answer(self, "verify", *given[:3])["valid"], True)
                shown_again = answer(self, "show", *call)["programs"][3]["steps"][0]["text"]
                self.assertNotIn(word, shown_again)
            check_refusals(self, ((("--engine", "folded"), "programs of a file have no stages"),
                                  (("--algorithm", "a7"), "exclude each other"),
                                  (("--ranks", "8"), "--ranks: 8 given")), "simulate", *given)
            with open(path, "w") as file:
                file.write("rank 0\n  put to 5 slot 0 from input\n")
            check_refusals(self, (((), "rank 5, but there are 1 ranks"),), "simulate", *given)

    def test_timelines_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("line.svg", "line.json"):
                path = os.path.join(folder, name)
                self.outcome("allreduce", "--algorithm", "m1g2a3,n1g3a2", "--ranks", "7", *MODEL,
                             "--timeline", path)
                with open(path) as file:
                    text = file.read()
                if name.endswith("json"):
                    spans = json.loads(text)["spans"]
                    self.assertEqual(sum(span["kind"] == "flight" for span in spans), 23)
                else:
                    self.assertTrue(xml.etree.ElementTree.fromstring(text).tag.endswith("svg"))

    def test_invalid_arguments_of_simulate_are_named(self):
        call = ("simulate", "allreduce", "--algorithm", "a2,a4", "--ranks", "8")
        check_refusals(self, ((("--latency-ns", "x"), "--latency-ns"), (("--model", "alpha"), "--model"),
                              (("--noise", "gauss:1"), "--noise"), (("--skew", "9:1"), "--skew"),
                              (("--topology", "ring"), "--topology"), (("--engine", "fast"), "--engine"),
                              (("--timeline", "a.png"), "--timeline"),
                              (("--trace", "a.json", "--engine", "folded", "--latency-ns", "5"), "--trace"),
                              (("--bytes", "1024G", "--ns-per-byte", "1000000"), "the simulator's clock"),
                              (("--engine", "folded", "--skew", "1:5", "--latency-ns", "5"), "--engine folded")), *call)
        refused = weft("simulate", "broadcast", "--algorithm", "flat", "--ranks", "4", "--engine", "structured")
        self.assertEqual(refused.returncode, 2)


class Enumerate(unittest.TestCase):
    # ranks: factored, split, merged
    COUNTS = {6: (3, 9, 1), 7: (1, 12, 3), 8: (4, 18, 3), 10: (3, 32, 7), 12: (8, 48, 9), 16: (8, 92, 20),
              24: (20, 232, 45), 32: (16, 417, 89), 48: (48, 1081, 186), 64: (32, 1803, 346),
              96: (112, 4835, 699), 97: (1, 2290, 810), 127: (1, 3771, 1251), 128: (64, 7503, 1251),
              524288: (262144, None, None), 1000000: (287648, None, None)}

    def test_counts_equal_the_known_numbers(self):
        for ranks, row in self.COUNTS.items():
            for kind, expected in zip(("factored", "split", "merged"), row):
                if expected is None:
                    continue
                self.assertEqual(answer(self, "enumerate", "--ranks", str(ranks), "--kind", kind, "--count"),
                                 {"ranks": ranks, "kind": kind, "count": expected})

    def test_lists_have_the_counted_length_and_are_valid(self):
        for kind, expected in (("factored", 20), ("split", 232), ("merged", 45)):
            lines = weft("enumerate", "--ranks", "24", "--kind", kind).stdout.splitlines()
            self.assertEqual((len(lines), len(set(lines))), (expected, expected))
            self.assertEqual(answer(self, "enumerate", "--ranks", "24", "--kind", kind),
                             {"ranks": 24, "kind": kind, "count": expected, "schedules": lines})
            self.assertTrue(answer(self, "verify", "allreduce", "--algorithm", lines[-1], "--ranks", "24")["valid"])

    def test_a_reader_may_close_the_output_early(self):
        with subprocess.Popen([WEFT, "enumerate", "--ranks", "65536", "--kind", "factored"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            self.assertTrue(process.stdout.readline().startswith("a"))
            process.stdout.close()
            process.wait(timeout=20)

    def test_invalid_arguments_of_enumerate_are_refused(self):
        for arguments in (("--ranks", "0", "--kind", "factored"), ("--ranks", "8", "--kind", "nested"),
                          ("--kind", "factored")):
            self.assertEqual(weft("enumerate", *arguments).returncode, 2)


if __name__ == "__main__":
    unittest.main()
