# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/tell-apart detects a slower side, and its rate of false detections is at most the given one.
Method: apply its statistics to random ratios; run the script with fake programs that print planned times."""

import random
import unittest

from fakes import Run, check_refusals

from comparing import significance  # noqa: E402  (fakes adds its folder to the path)

# --delay-ns makes a side slower by that number of nanoseconds.
ANSWER = """
[ "$name" = ping_pong ] && echo '{"half_round_trip_ns": 50}' && exit 0
delay=$(option --delay-ns "$@")
delay=${delay:-0}
time=$((value + ${delay%.*}))
echo "{\\"results\\": [{\\"min_us\\": 0.$((time - 1)), \\"median_us\\": 0.$time, \\"checked\\": true}]}"
"""


def random_ratios(seed, count, factor):
    """Returns random ratios of two sides whose times vary by a tenth; one side is slower by a factor."""
    draw = random.Random(seed)
    return [factor * draw.lognormvariate(0, 0.1) / draw.lognormvariate(0, 0.1) for _ in range(count)]


def call(plans, *arguments):
    times = [501, 502, 500, 503]
    return Run("tell-apart", ANSWER, {"weft": times, "other": times, "ping_pong": [0], **plans}, "--seed", "7", *arguments)


class Statistics(unittest.TestCase):
    def test_the_sign_test_has_binomial_probabilities(self):
        self.assertEqual(significance.sign_test([2] * 10), 2 / 2**10)
        self.assertEqual(significance.sign_test([2] * 9 + [0.5]), 2 * 11 / 2**10)
        self.assertEqual(significance.sign_test([2, 0.5]), 1.0)
        self.assertEqual(significance.sign_test([1.0] * 30), 1.0, "equal rounds are not counted")

    def test_false_detections_stay_within_the_error(self):
        found = sum(significance.verdict("", random_ratios(seed, 60, 1.0), 0.05)["told_apart"] for seed in range(1000))
        self.assertLess(found, 75)  # at most 50 are expected, with a standard deviation of 7
        self.assertGreater(found, 0, "a test that is never wrong detects nothing")

    def test_a_tenth_is_detected_despite_noise_of_a_tenth(self):
        found = sum(significance.verdict("", random_ratios(seed, 100, 1.1), 0.01)["told_apart"] for seed in range(200))
        self.assertGreater(found, 190)

    def test_the_interval_contains_the_true_ratio(self):
        contained = 0
        for seed in range(500):
            low, high = significance.median_interval(random_ratios(seed, 50, 1.1), 0.05)
            contained += low <= 1.1 <= high
        self.assertGreater(contained, 460)
        self.assertLess(contained, 500, "an interval that is never wrong is too wide")


class Script(unittest.TestCase):
    def test_only_a_slowed_side_is_detected(self):
        done = call({}, "--rounds", "20", "--json")
        self.assertEqual(done.status, 0, done.err)
        found = done.json()
        slowed, same = found["answers"]
        self.assertTrue(slowed["told_apart"])
        self.assertAlmostEqual(slowed["ratio"], 1.1, delta=0.01)
        self.assertFalse(same["told_apart"])
        self.assertEqual((len(found["rounds"]), found["seed"]), (20, 7))

    def test_another_build_can_replace_the_slowed_one(self):
        done = call({"other": [600]}, "--rounds", "20", "--other", "FOLDER/other")
        self.assertEqual(done.status, 1, done.err)
        self.assertIn("other: a difference is detected. Slower in 20 of 20 rounds", done.out)
        done = call({}, "--rounds", "20", "--other", "FOLDER/weft")
        self.assertEqual(done.status, 0, done.out)

    def test_a_lost_round_is_repeated_and_many_are_a_failure(self):
        done = call({"weft": [500] * 20 + ["fail"] + [501] * 90}, "--rounds", "20")
        self.assertIn("a round failed and is repeated", done.err)
        self.assertIn("of 20 rounds", done.out)
        self.assertEqual(call({"weft": [500] * 5 + ["fail"] * 9}, "--rounds", "20").status, 3)

    def test_invalid_arguments_of_the_script_are_named(self):
        check_refusals(self, lambda *arguments: call({}, *arguments), (
            (["--rounds", "19"], "--rounds: 19"), (["--percent", "0"], "--percent: 0"), (["--error", "0.9"], "--error: 0.9"),
            (["--nodes", "3"], "--nodes: 3"), (["--other", "/nowhere"], "--other: /nowhere")))


if __name__ == "__main__":
    unittest.main()
