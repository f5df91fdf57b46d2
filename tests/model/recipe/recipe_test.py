#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Goal: the recipe "Add an algorithm" of collectives/README.md works as written.
Method: runs a weft that was built with the page's file and lines. It must list the algorithm, prove its programs on one
node and on uneven nodes, and execute them with 4 ranks, in one segment and in three.

usage: recipe_test.py WEFT"""
import json
import os
import subprocess
import sys
import unittest

WEFT = sys.argv.pop(1)
DEADLINE_S = 60


def run(*arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    done = subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=environment)
    if done.returncode != 0:
        raise AssertionError(f"weft {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Recipe(unittest.TestCase):
    def test_the_new_algorithm_is_listed(self):
        named = [(entry["collective"], entry["algorithm"]) for entry in json.loads(run("list", "--json"))["algorithms"]]
        self.assertEqual(named.count(("allreduce", "direct")), 1)

    def test_programs_of_the_new_algorithm_are_valid(self):
        for spec in ("direct", "direct:segments=3"):
            for ranks in (1, 2, 7):
                verdict = json.loads(run("verify", "allreduce", "--algorithm", spec, "--ranks", str(ranks), "--json"))
                self.assertTrue(verdict["valid"] and verdict["ordered"] and verdict["bit_identical"], verdict)
        verdict = json.loads(run("verify", "allreduce", "--algorithm", "direct", "--ranks", "8", "--layout", "3,1,4",
                                 "--json"))
        remote, published = 8 * 7 - (3 * 2 + 4 * 3), 3 + 4  # each rank with local peers publishes its data once
        self.assertEqual((verdict["valid"], verdict["rounds"], verdict["messages"]), (True, 1, remote + published))

    def test_four_ranks_execute_the_new_algorithm(self):
        results = json.loads(run("run", "-n", "4", "--", WEFT, "bench", "allreduce", "--algorithm", "direct", "--algorithm",
                                 "direct:segments=3", "--bytes", "8,4K", "--iterations", "20", "--json"))["results"]
        self.assertEqual([row["algorithm"] for row in results], ["direct", "direct:segments=3"] * 2)
        self.assertTrue(all(row["checked"] for row in results), results)


if __name__ == "__main__":
    unittest.main()
