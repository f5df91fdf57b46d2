# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/tell-apart finds a slower side and does not find one that is alike, as often as it says.
Method: its statistics on drawn ratios, and the script between programs that print times by plan."""

import importlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

PERF = pathlib.Path(__file__).resolve().parent.parent.parent / "perf"
sys.path.insert(0, str(PERF))
sys.dont_write_bytecode = True
telling = importlib.import_module("comparing.telling")

# Answers with the next number of its plan; one that is slowed, with as many nanoseconds more.
FAKE = """#!/bin/sh
folder=${0%/*}
name=${0##*/}
[ "$name" = ping_pong ] && echo '{"half_round_trip_ns": 50}' && exit 0
delay=0
previous=
for argument in "$@"; do
    [ "$previous" = --delay-ns ] && delay=$argument
    previous=$argument
done
count=0
[ -f "$folder/count.$name" ] && read -r count < "$folder/count.$name"
echo $((count + 1)) > "$folder/count.$name"
read -r plan < "$folder/plan.$name"
set -- $plan
shift $((count % $#))
[ "$1" = fail ] && exit 5
time=$(($1 + ${delay%.*}))
echo "{\\"results\\": [{\\"min_us\\": 0.$((time - 1)), \\"median_us\\": 0.$time, \\"checked\\": true}]}"
"""


def drawn(seed, count, factor):
    """Ratios of two sides whose times vary by a tenth, the one slower by a factor."""
    draw = random.Random(seed)
    return [factor * draw.lognormvariate(0, 0.1) / draw.lognormvariate(0, 0.1) for _ in range(count)]


def call(plan, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("weft", "other", "ping_pong"):
            program = pathlib.Path(folder, name)
            program.write_text(FAKE, encoding="utf-8")
            program.chmod(0o755)
            pathlib.Path(folder, f"plan.{name}").write_text(plan.get(name, "501 502 500 503") + "\n", encoding="utf-8")
        given = [word.replace("FOLDER", folder) for word in arguments]
        return subprocess.run([sys.executable, str(PERF / "tell-apart"), "--bin", folder, "--seed", "7", *given],
                              capture_output=True, text=True, timeout=50, check=False)


class Statistics(unittest.TestCase):
    def test_the_chance_is_that_of_a_coin(self):
        self.assertEqual(telling.sign_test([2] * 10), 2 / 2**10)
        self.assertEqual(telling.sign_test([2] * 9 + [0.5]), 2 * 11 / 2**10)
        self.assertEqual(telling.sign_test([2, 0.5]), 1.0)
        self.assertEqual(telling.sign_test([1.0] * 30), 1.0, "rounds that are equal say nothing")

    def test_alike_sides_are_told_apart_no_more_often_than_the_error_says(self):
        found = sum(telling.tell("", drawn(seed, 60, 1.0), 0.05)["told_apart"] for seed in range(1000))
        self.assertLess(found, 75)  # 50 expected at most, of a spread of 7
        self.assertGreater(found, 0, "a test that is never wrong never says anything")

    def test_a_tenth_is_found_among_times_that_vary_by_a_tenth(self):
        found = sum(telling.tell("", drawn(seed, 100, 1.1), 0.01)["told_apart"] for seed in range(200))
        self.assertGreater(found, 190)

    def test_the_interval_holds_the_true_ratio(self):
        held = 0
        for seed in range(500):
            low, high = telling.median_interval(drawn(seed, 50, 1.1), 0.05)
            held += low <= 1.1 <= high
        self.assertGreater(held, 460)
        self.assertLess(held, 500, "an interval that is never wrong is too wide")


class Script(unittest.TestCase):
    def test_a_slowed_side_is_told_apart_and_the_same_one_is_not(self):
        done = call({}, "--rounds", "20", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        slowed, same = found["answers"]
        self.assertTrue(slowed["told_apart"])
        self.assertAlmostEqual(slowed["ratio"], 1.1, delta=0.01)
        self.assertFalse(same["told_apart"])
        self.assertEqual((len(found["rounds"]), found["seed"]), (20, 7))

    def test_another_build_takes_the_place_of_the_slowed_one(self):
        done = call({"other": "600"}, "--rounds", "20", "--other", "FOLDER/other")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("other: told apart. Slower in 20 of 20 rounds", done.stdout)
        done = call({}, "--rounds", "20", "--other", "FOLDER/weft")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_lost_round_is_made_again_and_many_are_a_failure(self):
        done = call({"weft": "500 " * 20 + "fail " + "501 " * 90}, "--rounds", "20")
        self.assertIn("a round was lost", done.stderr)
        self.assertIn("of 20 rounds", done.stdout)
        self.assertEqual(call({"weft": "500 " * 5 + "fail " * 9}, "--rounds", "20").returncode, 3)

    def test_unusable_arguments_are_named(self):
        for arguments, complaint in ((["--rounds", "19"], "--rounds: 19"), (["--percent", "0"], "--percent: 0"),
                                     (["--error", "0.9"], "--error: 0.9"), (["--nodes", "3"], "--nodes: 3"),
                                     (["--other", "/nowhere"], "--other: /nowhere")):
            done = call({}, *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(complaint, done.stderr)


if __name__ == "__main__":
    unittest.main()
