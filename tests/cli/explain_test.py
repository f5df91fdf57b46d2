#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: weft explain keeps what is promised about fields, order, needs and statuses.
# Method: the built executable, called as a person or a script would call it.
import unittest

from command import answer, check_refusals, weft

COLLECTIVES = ("barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall",
               "reduce_scatter", "scan", "exscan")


class Explain(unittest.TestCase):
    def explain(self, *arguments):
        return answer(self, "explain", *arguments)

    def test_fields_and_order(self):
        for collective in COLLECTIVES:
            for more in ((), ("--nodes", "3"), ("--nodes", "9", "--processors", "64"),
                         ("--nodes", "3", "--hosts", "3", "--processors", "4")):
                found = self.explain(collective, "--ranks", "9", "--bytes", "1K", *more)
                for field in ("chosen", "reason", "candidates"):
                    self.assertIn(field, found)
                self.assertGreater(len(found["candidates"]), 1)
                for candidate in found["candidates"]:
                    self.assertEqual(list(candidate), ["algorithm", "predicted_us", "bit_identical", "ordered"])
                times = [candidate["predicted_us"] for candidate in found["candidates"]]
                self.assertEqual(times, sorted(times))
                first = next(candidate for candidate in found["candidates"] if candidate["bit_identical"])
                self.assertEqual(found["chosen"], first["algorithm"])
                self.assertIn(f"{first['predicted_us']:.3f} us", found["reason"])

    def test_calls_with_counts(self):
        for collective, even in (("allgatherv", "allgather"), ("reduce_scatterv", "reduce_scatter")):
            found = self.explain(collective, "--ranks", "9", "--bytes", "1K")
            self.assertEqual(found["chosen"], self.explain(even, "--ranks", "9", "--bytes", "1K")["chosen"])
            self.assertIn("mean count", found["reason"])
        for collective in ("gatherv", "scatterv", "alltoallv"):
            for more in ((), ("--nodes", "3")):
                found = self.explain(collective, "--ranks", "9", "--bytes", "1K", *more)
                self.assertEqual([candidate["algorithm"] for candidate in found["candidates"]], ["direct"])
                self.assertEqual(found["chosen"], "direct")
                self.assertGreater(found["candidates"][0]["predicted_us"], 0)

    def test_every_candidate_is_a_right_program(self):
        for collective in ("barrier", "broadcast", "allreduce"):
            for candidate in self.explain(collective, "--ranks", "12", "--nodes", "3")["candidates"]:
                verdict = answer(self, "verify", collective, "--algorithm", candidate["algorithm"], "--ranks", "12")
                self.assertTrue(verdict["valid"], candidate)
                self.assertTrue(verdict["ordered"] or not candidate["ordered"], candidate)
                self.assertTrue(verdict["bit_identical"] or not candidate["bit_identical"], candidate)

    def test_the_reason_says_what_decides(self):
        crowded = self.explain("allreduce", "--ranks", "8", "--processors", "2")
        self.assertIn("8 ranks of a host share 2 processors", crowded["reason"])
        alone = self.explain("allreduce", "--ranks", "8", "--processors", "8")
        self.assertNotIn("share", alone["reason"])
        text = weft("explain", "allreduce", "--ranks", "8").stdout.splitlines()
        self.assertIn("least predicted time", text[0])

    def test_unusable_arguments(self):
        check_refusals(self, ((("teleport", "--ranks", "4"), "unknown collective"), (("barrier",), "--ranks"),
                              (("barrier", "--ranks", "0"), "--ranks: 0"),
                              (("barrier", "--ranks", "4", "--nodes", "5"), "--nodes: 5"),
                              (("barrier", "--ranks", "4", "--hosts", "2"), "--hosts: 2"),
                              (("allreduce", "--ranks", "4", "--bytes", "7"), "--bytes: 7"),
                              (("allreduce", "--ranks", "4", "--type", "word"), "--type")), "explain")


if __name__ == "__main__":
    unittest.main()
