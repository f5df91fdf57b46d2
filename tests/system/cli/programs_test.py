#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: weft verify, show and list have the documented statuses, fields and streams.
# Method: run weft and compare its output with known values and with its other forms.
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree

from command import answer, check_refusals, weft

VERDICT = ("algorithm ranks valid rounds messages signals bytes_total bytes_sent_max "
           "reduced_bytes_max ordered bit_identical synchronizing slots_max descriptors_max error")


class Verify(unittest.TestCase):
    def verdict(self, *arguments, status=0):
        return answer(self, "verify", *arguments, status=status)

    def test_a_valid_schedule_has_all_fields(self):
        verdict = self.verdict("allreduce", "--algorithm", "m1g2a3,n1g3a2", "--ranks", "7",
                               "--bytes", "1K", "--type", "float")
        self.assertEqual(list(verdict), VERDICT.split())
        self.assertTrue(verdict["valid"] and verdict["ordered"] and verdict["bit_identical"])
        self.assertEqual((verdict["ranks"], verdict["rounds"], verdict["messages"]), (7, 2, 23))
        self.assertEqual(verdict["bytes_total"], 23 * 1024)
        self.assertEqual(verdict["error"], "")

    def test_units_must_fit_the_ranks(self):
        programs = weft("show", "allgather", "--algorithm", "ring", "--ranks", "3").stdout
        self.assertIn("units 3\n", programs)
        for units, expected in ((0, "units is 0, expected 1 or more"), (2, "expected a multiple of the 3 ranks")):
            idle = [line for line in programs.replace("units 3\n", f"units {units}\n").splitlines()
                    if not line.startswith("  ")]
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write("\n".join(idle) + "\n")
                file.flush()
                verdict = self.verdict("allgather", "--program", file.name, "--bytes", "24", status=1)
            self.assertIn(expected, verdict["error"])

    def test_placement_paper_breaks_rank_order(self):
        arguments = ("allreduce", "--algorithm", "m3g2a2,n3g2a2", "--ranks", "7")
        self.assertTrue(self.verdict(*arguments)["ordered"])
        self.assertFalse(self.verdict(*arguments, "--placement", "paper")["ordered"])

    def test_ordered_requests_combine_in_rank_order(self):
        arguments = ("allreduce", "--algorithm", "ring", "--ranks", "8")
        refused = weft("verify", *arguments, "--ordered")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("combines ranks out of order", refused.stderr)
        reduction = ("reduce", "--algorithm", "binomial", "--ranks", "7", "--root", "3")
        self.assertTrue(self.verdict(*reduction, "--ordered")["ordered"])
        self.assertEqual(weft("show", *reduction, "--ordered").returncode, 0)

    def test_fractional_parameters_and_named_groups_are_accepted(self):
        tree = ("broadcast", "--ranks", "40", "--algorithm")
        whole = weft("show", *tree, "logp-optimal:latency=5,overhead=1,gap=2").stdout
        scaled = weft("show", *tree, "logp-optimal:latency=1.25,overhead=0.25,gap=0.5").stdout
        self.assertEqual(whole.replace("latency=5,overhead=1,gap=2", ""),
                         scaled.replace("latency=1.25,overhead=0.25,gap=0.5", ""))
        for wrong in ("latency=1.2345", "gap=.5", "gap=2.", "overhead=1e3", "latency=0"):
            self.assertEqual(weft("show", *tree, "logp-optimal:" + wrong).returncode, 2, wrong)
        group = ("allreduce", "--ranks", "12", "--algorithm")
        self.assertEqual(weft("show", *group, "generalized:group=primes").stdout.replace("primes", "2x2x3"),
                         weft("show", *group, "generalized:group=2x2x3").stdout)
        self.assertEqual(weft("show", *group, "generalized:group=n").stdout.replace(":group=n", ""),
                         weft("show", *group, "generalized").stdout)

    def test_ranks_publish_to_local_peers_of_a_layout(self):
        arguments = ("allreduce", "--algorithm", "a8", "--ranks", "8")
        self.assertEqual(self.verdict(*arguments)["messages"], 56)
        # one message for each of 7 ranks with local peers, and one for each of 38 pairs on different nodes
        self.assertEqual(self.verdict(*arguments, "--layout", "3,1,4")["messages"], 7 + 38)
        self.assertEqual(self.verdict(*arguments, "--layout", "3,1,4", "--bytes", "1K")["messages"],
                         56)

    def test_programs_are_shown_as_graph_picture_and_json(self):
        call = ("show", "allreduce", "--algorithm", "a2,a2", "--ranks", "4")
        shown = answer(self, *call)
        self.assertEqual([program["rank"] for program in shown["programs"]], [0, 1, 2, 3])
        steps = [step for program in shown["programs"] for step in program["steps"]]
        self.assertEqual(sum(step["kind"] == "put" for step in steps), 8)
        self.assertEqual(steps[0]["text"], "put to 1 slot 0 from input[0+1] shared")
        graph = weft(*call, "--dot").stdout
        self.assertEqual(graph.count("subgraph cluster_"), 4)
        self.assertEqual(graph.count("constraint=false"), 8, "an edge for each message")
        picture = xml.etree.ElementTree.fromstring(weft(*call, "--svg").stdout)
        texts = [text.text for text in picture.iter() if text.tag.endswith("text")]
        self.assertIn("message under way", texts)
        self.assertTrue(any("allreduce by a2,a2 of 4 ranks" in text for text in texts))
        check_refusals(self, ((("--dot", "--svg"), "exclude each other"), (("--svg", "--rank", "1"), "--svg")),
                       *call)

    def test_a_shown_program_is_valid_and_a_damaged_one_is_not(self):
        shown = weft("show", "broadcast", "--algorithm", "binomial", "--ranks", "4")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "programs.txt")
            with open(path, "w") as file:
                file.write(shown.stdout)
            self.assertTrue(self.verdict("broadcast", "--program", path, "--ranks", "4")["valid"])
            with open(path, "w") as file:
                file.write(shown.stdout.replace("put to 2", "put to 3", 1))
            verdict = self.verdict("broadcast", "--program", path, status=1)
            self.assertFalse(verdict["valid"])
            self.assertRegex(verdict["error"], r"rank \d+ step \d+")
            refused = weft("verify", "broadcast", "--program", path, "--ranks", "5")
            self.assertEqual(refused.returncode, 2)

    def test_options_that_contradict_the_file_are_refused(self):
        shown = weft("show", "broadcast", "--algorithm", "binomial", "--ranks", "4", "--root", "2")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "programs.txt")
            with open(path, "w") as file:
                file.write(shown.stdout)
            self.assertTrue(self.verdict("broadcast", "--program", path)["valid"])
            self.assertTrue(self.verdict("broadcast", "--program", path, "--root", "2")["valid"])
            check_refusals(self, ((("broadcast", "--root", "0", "--program", path), "--root: 0 given"),
                                  (("allreduce", "--program", path), "programs of broadcast")), "verify")

    def test_neighbor_collectives_on_a_grid_are_valid(self):
        grid = ("--grid", "3x3x3", "--periodic")
        for collective in ("neighbor_allgather", "neighbor_alltoall"):
            for algorithm, messages, rounds in (("direct", 26, 1), ("combined", 6, 3)):
                call = (collective, "--algorithm", algorithm, *grid)
                verdict = answer(self, "verify", *call)
                self.assertEqual((verdict["valid"], verdict["ranks"], verdict["messages"], verdict["rounds"]),
                                 (True, 27, 27 * messages, rounds), call)
                self.assertTrue(answer(self, "verify", *call, "--layout", "9x3")["valid"])
                simulated = answer(self, "simulate", *call, "--latency-ns", "1000", "--issue-ns", "10")
                self.assertEqual(simulated["messages"], 27 * messages)
        self.assertIn("neighbor_alltoall", weft("show", "neighbor_alltoall", "--algorithm", "combined", "--grid", "2x2",
                                                "--rank", "0").stdout)
        star = answer(self, "verify", "neighbor_alltoall", "--algorithm", "direct", "--grid", "4", "--star",
                      "--reach", "2")
        self.assertEqual((star["valid"], star["messages"]), (True, 10))
        call = ("neighbor_alltoall", "--algorithm", "combined")
        check_refusals(self, ((call, "--grid is missing"), ((*call, "--grid", "3x"), "--grid 3x"),
                              ((*call, "--grid", "3", "--ranks", "4"), "has 3"),
                              ((*call, "--grid", "3", "--reach", "0"), "--reach"),
                              (("neighbor_alltoall", "--algorithm", "ring", "--grid", "3"), "direct and combined")),
                       "verify")

    def test_words_after_two_dashes_are_refused(self):
        check_refusals(self, ((("verify", "allreduce", "--algorithm", "a2", "--ranks", "2", "--", "foo"), "foo"),
                              (("bench", "barrier", "--", "foo"), "foo"), (("list", "--", "foo"), "foo")))

    def test_a_missing_command_gives_the_list_of_commands(self):
        done = weft()
        self.assertEqual(done.returncode, 2)
        named = done.stderr.split("(")[1].split(")")[0].split(", ")
        self.assertGreaterEqual(len(named), 13)
        for command in named:
            self.assertEqual(weft(command, "--help").returncode, 0, command)

    def test_invalid_arguments_of_verify_are_refused_with_the_reason(self):
        check_refusals(self, (
                (("allreduce", "--algorithm", "c5m2,a2,e5m2", "--ranks", "7"),
                 "character 4: T=5 is not divisible by B=2"),
                (("allreduce", "--algorithm", "a2;a2", "--ranks", "4"), "character 3:"),
                (("allreduce", "--algorithm", "rings", "--ranks", "4"), "rings"),
                (("nothing", "--algorithm", "a2", "--ranks", "4"), "nothing"),
                (("allreduce", "--algorithm", "a2"), "--ranks"),
                (("allreduce", "--ranks", "2"), "--algorithm"),
                (("allreduce", "--algorithm", "a2", "--ranks", "2", "--bytes", "7"), "--bytes"),
                (("allreduce", "--algorithm", "a2", "--ranks", "2", "--type", "real"), "--type"),
                (("broadcast", "--algorithm", "flat", "--ranks", "4", "--root", "4"), "root"),
                (("allreduce", "--algorithm", "a2", "--ranks", "2", "--layout", "1,2"), "--layout"),
                (("allreduce", "--program", "/does/not/exist"), "/does/not/exist")), "verify")


class ShowAndList(unittest.TestCase):
    def test_show_prints_one_rank_or_all(self):
        everything = weft("show", "allreduce", "--algorithm", "a2,a2", "--ranks", "4").stdout
        one = weft("show", "allreduce", "--algorithm", "a2,a2", "--ranks", "4", "--rank", "2").stdout
        self.assertEqual(everything.count("\nrank "), 4)
        self.assertEqual(one.count("\nrank "), 1)
        self.assertIn("rank 2\n", one)

    def test_list_names_every_algorithm_with_its_parameters(self):
        listed = answer(self, "list")["algorithms"]
        names = {(entry["collective"], entry["algorithm"]) for entry in listed}
        self.assertLessEqual({("allreduce", "multiplying"), ("barrier", "dissemination"),
                              ("broadcast", "binomial")}, names)
        for entry in listed:
            self.assertTrue(entry["summary"] and entry["source"])
            for parameter in entry["parameters"]:
                self.assertEqual(set(parameter), {"name", "default", "help"})
                self.assertTrue(parameter["name"] and parameter["help"])
            for flag in ("ordered", "bit_identical", "synchronizing", "rooted", "power_of_two", "notation"):
                self.assertIsInstance(entry[flag], bool)
        # Every collective except the v-collectives has algorithms, and the text agrees with the object.
        commands = {command["name"]: command for command in answer(self, "help")["commands"]}
        collectives = {name for name in commands["list"]["arguments"][0]["choices"] if not name.endswith("v")}
        self.assertEqual({collective for collective, _ in names}, collectives)
        everything = weft("list").stdout
        for entry in listed:
            text_of_entry = everything.split(f"{entry['collective']} {entry['algorithm']}: {entry['summary']}\n", 1)[1]
            text_of_entry = re.split(r"^\S", text_of_entry, maxsplit=1, flags=re.MULTILINE)[0]
            self.assertIn(f"from {entry['source']}\n", text_of_entry)
            self.assertEqual("rooted" in text_of_entry, entry["rooted"])
            for parameter in entry["parameters"]:
                self.assertIn(f"    {parameter['name']}={parameter['default'] or '...'}  {parameter['help']}\n", text_of_entry)
        text = weft("list", "barrier").stdout
        self.assertIn("dissemination", text)
        self.assertNotIn("broadcast", text)
        self.assertEqual(weft("list", "nothing").returncode, 2)


if __name__ == "__main__":
    unittest.main()
