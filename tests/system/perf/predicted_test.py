# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/predicted measures the choices of weft explain and counts how many of 20 predictions are close.
Method: run the script with a fake weft that prints given times."""

import unittest

from fakes import Run

# The prediction for two nodes (layout 1,1) is 10 us, else 4 us.
ANSWER = """
case "$*" in
*" fit "*) echo '{}' > "$(option --output "$@")" ;;
explain*)
    time=4
    [ "$(option --layout "$@")" = 1,1 ] && time=10
    [ "$2" = FAILS ] && exit 2
    other='{"algorithm": "flat", "alone_us": 7}'
    echo '{"chosen": "a2", "candidates": ['"$other"', {"algorithm": "a2", "alone_us": '$time'}]}' ;;
*) echo '{"results": [{"median_us": '"$value"'}]}' ;;
esac
"""


def predicted(*arguments, fails="none"):
    # For each of 20 calls a round runs `weft explain`, which ignores its value (0), and `weft bench`, whose value is the
    # measured time. The second of three rounds measures 90 us.
    times = [value for round_us in (4, 90, 4) for value in 20 * [0, round_us]]
    return Run("predicted", ANSWER.replace("FAILS", fails), {"weft": times}, "--rounds", "3", *arguments)


class Predicted(unittest.TestCase):
    def test_ratios_compare_chosen_algorithms_with_measurements(self):
        done = predicted("--params", "FOLDER/fit.json", "--json")
        self.assertEqual(done.status, 0, done.err)
        rows = done.json()["rows"]
        self.assertEqual(len(rows), 20)
        self.assertEqual({row["ratio"] for row in rows if row["layout"] == "2"}, {1.0})
        self.assertEqual({row["ratio"] for row in rows if row["layout"] == "1,1"}, {2.5})
        jobs = [call for call in done.calls if call[1] == "run"]
        self.assertEqual(len(jobs), 60)
        self.assertTrue(all("separated" in call and "a2" in call for call in jobs))

    def test_the_table_has_predicted_and_measured_times(self):
        done = predicted("--params", "FOLDER/fit.json")
        self.assertIn("| 1+1 | alltoall | 65536 | a2 | 10.00 | 4.00 | 2.50 |", done.out)
        self.assertIn("10 of 20 within 30%, median 1.75; in single rounds 0 to 10 of 20", done.out)

    def test_each_round_fits_costs(self):
        self.assertEqual(sum("fit" in call for call in predicted().calls), 3)

    def test_invalid_runs_give_status_2(self):
        self.assertEqual(predicted("--params", "FOLDER/fit.json", fails="reduce").status, 2)
        self.assertEqual(predicted("--rounds", "0").status, 2)


if __name__ == "__main__":
    unittest.main()
