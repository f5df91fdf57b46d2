#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: weft explain prints the documented fields, sorts candidates by predicted time, chooses a candidate with equal
# bits on all ranks, and rejects invalid arguments with status 2.
# Method: run weft and compare its output with other commands and with known values.
import json
import os
import tempfile
import unittest
from pathlib import Path

from command import answer, check_refusals, weft

COLLECTIVES = ("barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall",
               "reduce_scatter", "scan", "exscan")
HUANG_MACHINE = str(Path(__file__).resolve().parents[3] / "perf/papers/published/huang_machine.txt")


def times_us(explanation):
    """Returns the predicted time of each candidate."""
    return {candidate["algorithm"]: candidate["predicted_us"] for candidate in explanation["candidates"]}


class Explain(unittest.TestCase):
    def explain(self, *arguments):
        return answer(self, "explain", *arguments)

    def test_candidates_have_all_fields_and_are_in_order(self):
        for collective in COLLECTIVES:
            for options in ((), ("--nodes", "3"), ("--nodes", "9", "--processors", "64"),
                            ("--nodes", "3", "--hosts", "3", "--processors", "4")):
                with self.subTest(collective=collective, options=options):
                    self.check_candidates(self.explain(collective, "--ranks", "9", "--bytes", "1K", *options))

    def check_candidates(self, explanation):
        for field in ("chosen", "reason", "candidates"):
            self.assertIn(field, explanation)
        self.assertGreater(len(explanation["candidates"]), 1)
        for candidate in explanation["candidates"]:
            self.assertEqual(list(candidate), ["algorithm", "predicted_us", "alone_us", "bit_identical", "ordered"])
            self.assertGreaterEqual(candidate["alone_us"], candidate["predicted_us"])
        times = [candidate["predicted_us"] for candidate in explanation["candidates"]]
        self.assertEqual(times, sorted(times))
        first = next(candidate for candidate in explanation["candidates"] if candidate["bit_identical"])
        self.assertEqual(explanation["chosen"], first["algorithm"])
        self.assertIn(f"{first['predicted_us']:.3f} us", explanation["reason"])

    def test_calls_with_counts_are_explained(self):
        for collective, even in (("allgatherv", "allgather"), ("reduce_scatterv", "reduce_scatter")):
            explanation = self.explain(collective, "--ranks", "9", "--bytes", "1K")
            self.assertEqual(explanation["chosen"], self.explain(even, "--ranks", "9", "--bytes", "1K")["chosen"])
            self.assertIn("mean count", explanation["reason"])
        for collective in ("gatherv", "scatterv", "alltoallv"):
            for options in ((), ("--nodes", "3")):
                with self.subTest(collective=collective, options=options):
                    explanation = self.explain(collective, "--ranks", "9", "--bytes", "1K", *options)
                    self.assertEqual([candidate["algorithm"] for candidate in explanation["candidates"]], ["direct"])
                    self.assertEqual(explanation["chosen"], "direct")
                    self.assertGreater(explanation["candidates"][0]["predicted_us"], 0)

    def test_every_candidate_is_a_valid_program(self):
        for collective in ("barrier", "broadcast", "allreduce"):
            for candidate in self.explain(collective, "--ranks", "12", "--nodes", "3")["candidates"]:
                verdict = answer(self, "verify", collective, "--algorithm", candidate["algorithm"], "--ranks", "12",
                                 "--layout", "4,4,4")
                self.assertTrue(verdict["valid"], candidate)
                self.assertTrue(verdict["ordered"] or not candidate["ordered"], candidate)
                self.assertTrue(verdict["bit_identical"] or not candidate["bit_identical"], candidate)

    def test_other_algorithms_are_predicted_on_request(self):
        call = ("allreduce", "--ranks", "12", "--nodes", "12")
        default = self.explain(*call)
        explanation = self.explain(*call, "--algorithm", "a2,a3,a2", "--algorithm", default["chosen"])
        self.assertEqual(explanation["chosen"], default["chosen"])
        names = [candidate["algorithm"] for candidate in explanation["candidates"]]
        defaults = [candidate["algorithm"] for candidate in default["candidates"]]
        self.assertEqual(sorted(names), sorted([*defaults, "a2,a3,a2"]))
        times = [candidate["predicted_us"] for candidate in explanation["candidates"]]
        self.assertEqual(times, sorted(times))

    def test_short_allgathers_choose_multi_object_bruck(self):
        """With the machine of Huang et al., and 18 ranks on each of 128 nodes."""
        for size in ("16", "32", "64", "512"):
            explanation = self.explain("allgather", "--ranks", "2304", "--layout", "18x128", "--hosts", "128",
                                       "--processors", "18", "--bytes", size, "--type", "int32",
                                       "--params", HUANG_MACHINE)
            times = times_us(explanation)
            multi_object_us = min(time for name, time in times.items() if name.startswith("multi-object-bruck"))
            hierarchical_us = min(time for name, time in times.items() if name.startswith("hierarchical"))
            self.assertTrue(explanation["chosen"].startswith("multi-object-bruck"), explanation["chosen"])
            self.assertLess(3 * multi_object_us, hierarchical_us, size)

    def test_explain_simulate_and_cost_add_the_slot_cost_beyond_a_cell(self):
        # {bytes: us}: issue + bytes + latency + receive, and the cost of a slot for data that exceeds a cell
        near = {"48": 0.08384, "56": 0.08448 + 0.015}
        far = {"48": 1.1448, "56": 1.1456 + 0.12}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.txt")
            with open(path, "w") as file:
                file.write("near_latency_ns 50\nnear_issue_ns 10\nnear_receive_ns 20\nnear_ns_per_byte 0.08\n"
                           "near_slot_ns 15\nfar_latency_ns 1000\nfar_issue_ns 100\nfar_receive_ns 40\n"
                           "far_ns_per_byte 0.1\nfar_slot_ns 120\nreduce_ns_per_byte 0\n")
            for layout, expected in (("2", near), ("1,1", far)):
                for size, us in expected.items():
                    call = ("allreduce", "--ranks", "2", "--layout", layout, "--bytes", size, "--params", path)
                    times = times_us(self.explain(*call, "--processors", "2", "--algorithm", "a2"))
                    self.assertAlmostEqual(times["a2"], us, delta=1e-6)
                    simulated = answer(self, "simulate", *call, "--algorithm", "a2")
                    self.assertAlmostEqual(simulated["makespan_ns"], us * 1000, delta=1e-3)
                    self.assertAlmostEqual(answer(self, "cost", *call, "--algorithm", "a2")["time_us"], us, delta=1e-6)
            with open(path, "a") as file:
                file.write("cell_bytes 56\n")
            call = ("allreduce", "--algorithm", "a2", "--ranks", "2", "--bytes", "56", "--params", path)
            self.assertAlmostEqual(answer(self, "simulate", *call)["makespan_ns"], 84.48, delta=1e-3)
            with open(path, "a") as file:
                file.write("far_cell_ns 1\n")
            check_refusals(self, ((call, "far_cell_ns: unknown key"),), "simulate")

    def test_simulate_and_cost_agree_with_predictions(self):
        """Explain, simulate and cost predict equal times from one file, also if ranks share processors."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.txt")
            with open(path, "w") as file:  # other costs have their defaults
                file.write("near_latency_ns 50\nnear_issue_ns 10\nnear_receive_ns 20\nnear_ns_per_byte 0.08\n"
                           "near_slot_ns 15\nnear_turn_ns 900\nprocessors 2\n")
            compared = 0
            for words in (("--ranks", "6"), ("--ranks", "8", "--layout", "4,4"), ("--ranks", "8", "--layout", "3,1,4"),
                          ("--ranks", "8", "--layout", "4,4", "--hosts", "1"),
                          ("--ranks", "4", "--layout", "1,1,1,1", "--processors", "1", "--hosts", "2")):
                for collective, size in (("barrier", "0"), ("allreduce", "8"), ("allreduce", "4K"), ("broadcast", "64"),
                                         ("scan", "64K"), ("alltoall", "64")):
                    options = (collective, *words, "--params", path, *(() if size == "0" else ("--bytes", size)))
                    for candidate in self.explain(*options)["candidates"]:
                        call = (*options, "--algorithm", candidate["algorithm"])
                        simulation = answer(self, "simulate", *call)
                        for simulated, explained in (("makespan_ns", "alone_us"), ("in_stream_ns", "predicted_us")):
                            expected = candidate[explained] * 1000
                            self.assertAlmostEqual(simulation[simulated], expected, delta=1e-6 * expected, msg=call)
                        cost = answer(self, "cost", *call)
                        self.assertAlmostEqual(cost["time_us"], candidate["alone_us"], delta=1e-6, msg=call)
                        compared += 1
            self.assertGreater(compared, 200)

    def test_a_measured_choice_replaces_the_model(self):
        choice = {"collective": "allreduce", "layout": "4,4", "provider": "net", "same_bits": True, "from_bytes": 5,
                  "to_bytes": 64, "algorithm": "ring", "median_us": 12.5}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tuning.json")
            with open(path, "w") as file:
                json.dump({"schema": "weft-tuning-1", "choices": [choice]}, file)
            call = ("allreduce", "--ranks", "8", "--tuning", path)
            explanation = self.explain(*call, "--bytes", "64", "--nodes", "2")
            self.assertEqual(explanation["chosen"], "ring")
            self.assertEqual((explanation["source"], explanation["measured_us"]), ("measured", 12.5))
            self.assertIn(f"measured ({path}): 12.500 us; without it ", explanation["reason"])
            for options in (("--nodes", "1", "--bytes", "64"), ("--nodes", "2", "--bytes", "64", "--provider", "tcp"),
                            ("--nodes", "2", "--bytes", "128")):
                explanation = self.explain(*call, *options)
                self.assertEqual((explanation["source"], explanation["measured_us"]), ("model", None), options)
                self.assertNotIn("measured", explanation["reason"])
            with open(path, "w") as file:
                json.dump({"schema": "weft-tuning-1", "choices": [dict(choice, algorithm="ring:")]}, file)
            check_refusals(self, ((call, "choice 0"),), "explain")

    def test_the_reason_names_the_deciding_facts(self):
        oversubscribed = self.explain("allreduce", "--ranks", "8", "--processors", "2")
        self.assertIn("8 ranks of a host share 2 processors", oversubscribed["reason"])
        enough = self.explain("allreduce", "--ranks", "8", "--processors", "8")
        self.assertNotIn("share", enough["reason"])
        text = weft("explain", "allreduce", "--ranks", "8").stdout.splitlines()
        self.assertIn("least predicted time", text[0])

    def test_local_and_remote_costs_of_a_file_are_used(self):
        job = ("--ranks", "2304", "--nodes", "128", "--hosts", "128", "--processors", "18", "--params", HUANG_MACHINE)
        for size in ("16", "128", "512"):
            times = times_us(self.explain("allgather", *job, "--bytes", size))
            self.assertLess(times["multi-object-bruck"], times["bruck"], size)
            self.assertLess(3 * times["multi-object-bruck"], times["hierarchical"], size)
        times = times_us(self.explain("allgather", *job, "--bytes", "16K"))
        self.assertLess(times["multi-object-ring"], times["multi-object-bruck"])
        call = ("allreduce", "--ranks", "12", "--bytes", "4K", "--params", HUANG_MACHINE)
        times = times_us(self.explain(*call, "--nodes", "3", "--hosts", "3", "--processors", "4"))
        for algorithm in ("multi-object-small", "ring", "recursive-doubling"):
            forced = (*call, "--layout", "4,4,4", "--algorithm", algorithm)
            simulated_us = answer(self, "simulate", *forced)["makespan_ns"] / 1000
            self.assertAlmostEqual(simulated_us, times[algorithm], delta=0.001, msg=algorithm)
            cost_us = answer(self, "cost", *forced)["time_us"]
            self.assertAlmostEqual(cost_us, times[algorithm], delta=0.001, msg=algorithm)

    def test_copy_excludes_mapped(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.txt")
            with open(path, "w") as file:
                file.write(Path(HUANG_MACHINE).read_text())
                file.write("mapped_ns 100\nmapped_ns_per_byte 0.01\nkernel_ns 900000\n")
            call = ("broadcast", "--ranks", "2", "--processors", "2", "--bytes", "64K", "--params", path)
            self.assertEqual(self.explain(*call)["chosen"], "mapped")
            self.assertNotEqual(self.explain(*call, "--copy")["chosen"], "mapped")

    def test_parameter_files_may_be_json_and_need_a_schema_and_costs_of_puts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.json")
            with open(path, "w") as file:
                json.dump({"schema": "weft-parameters-1", "parameters": {"near_latency_ns": 300.5}}, file)
            self.assertEqual(answer(self, "simulate", "barrier", "--algorithm", "dissemination", "--ranks", "2",
                                    "--params", path)["makespan_ns"], 300.5)
            call = ("barrier", "--ranks", "2", "--params")
            check_refusals(self, (((*call, "infiniband-2007"), "has no costs of local and remote puts"),), "explain")
            deep = '{"schema": "weft-parameters-1", "parameters": {"a": %s}}' % ("[" * 200000 + "]" * 200000)
            for text in ("{}", '{"schema": 5, "parameters": {}}', deep):
                with open(path, "w") as file:
                    file.write(text)
                check_refusals(self, (((*call, path), "expected a JSON object with the schema weft-parameters-1"),), "explain")

    def test_equal_layouts_give_equal_answers(self):
        call = ("allreduce", "--ranks", "12", "--bytes", "1K", "--hosts", "3", "--processors", "4")
        even = self.explain(*call, "--nodes", "3")
        self.assertEqual(even["nodes"], 3)
        for layout in ("4,4,4", "4x3", "4x2,4"):
            self.assertEqual(self.explain(*call, "--layout", layout), even)
        self.assertNotEqual(self.explain(*call, "--layout", "10,1x2")["candidates"], even["candidates"])

    def test_invalid_arguments_of_explain_are_refused(self):
        check_refusals(self, ((("teleport", "--ranks", "4"), "unknown collective"), (("barrier",), "--ranks"),
                              (("barrier", "--ranks", "0"), "--ranks: 0"),
                              (("barrier", "--ranks", "4", "--nodes", "5"), "--nodes: 5"),
                              (("barrier", "--ranks", "4", "--hosts", "2"), "--hosts: 2"),
                              (("barrier", "--ranks", "4", "--layout", "3x1"), "expected 4"),
                              (("barrier", "--ranks", "4", "--layout", "3,x"), "entry 1"),
                              (("barrier", "--ranks", "4", "--layout", "2x2", "--nodes", "2"), "exclude"),
                              (("allreduce", "--ranks", "4", "--bytes", "7"), "--bytes: 7"),
                              (("allreduce", "--ranks", "4", "--type", "word"), "--type")), "explain")


if __name__ == "__main__":
    unittest.main()
