# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/papers/measured times each call in each job and keeps means, standard deviations and pictures.
Method: run the script with fake programs. A fake weft answers with the next number of its plan plus the length of the
name of each algorithm."""
import os
import tempfile
import unittest
from pathlib import Path
from xml.dom import minidom

from fakes import Run, check_refusals

ANSWER = """
results=
while [ $# -gt 0 ]; do
    [ "$1" = --algorithm ] && results="$results${results:+,}{\\"median_us\\": $((value + ${#2}))}"
    shift
done
[ -z "$results" ] && results="{\\"median_us\\": $value}"
echo "{\\"results\\": [$results]}"
"""


class Measured(unittest.TestCase):
    def measured(self, study, *arguments, weft=(100,)):
        """Runs a study. Returns the statement, and the rows of the CSV file by call."""
        with tempfile.TemporaryDirectory() as output:
            done = Run("papers/measured", ANSWER, {"weft": weft, "mpiexec": [200]}, "--mpiexec", "FOLDER/mpiexec",
                       "--output", output, "--jobs", "2", study, *arguments)
            self.assertEqual(done.status, 0, done.err)
            self.assertEqual(sorted(os.listdir(output)), [f"measured-{study}.csv", f"measured-{study}.svg"])
            minidom.parse(str(Path(output, f"measured-{study}.svg")))
            lines = Path(output, f"measured-{study}.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[0], "ranks,bytes,call,jobs,mean_us,deviation_us,least_us")
        return done.out.partition(": ")[2].strip(), lines[1:]

    def test_rows_have_means_and_deviations_over_jobs(self):
        text, rows = self.measured("fig13", weft=(100, 140))  # five calls: each gets 100 in one job, 140 in the other
        self.assertEqual(rows, [f'8,8,"a2,a4 {size}",2,125,28.3,105' for size in (1, 2, 5, 10, 20)])
        self.assertIn("1 calls 125 (28), 2 calls 125 (28)", text)

    def test_the_best_schedule_and_mpi_are_compared_with_recursive_doubling(self):
        text, rows = self.measured("fig16", "--ranks", "4", "6")
        self.assertEqual(text, "Means relative to recursive doubling: 4 ranks: a4 -3 %, MPICH +90 %; "
                               "6 ranks: a6 -14 %, MPICH +69 %.")
        self.assertEqual(rows[:3], ['4,8,"a2,a2",2,105,0,105', "4,8,a4,2,102,0,102", "4,8,MPICH,2,200,0,200"])

    def test_sizes_are_swept_over_all_schedules(self):
        text, rows = self.measured("fig10", "--bytes-max", "64")
        self.assertEqual(len(rows), 2 * 3)
        self.assertTrue(text.startswith("Fastest by more than two standard errors: a8 (8 ranks, 8 bytes), a8"), text)

    def test_the_model_of_rounds_and_messages_is_fitted_to_all_schedules(self):
        text, rows = self.measured("fig12", "--ranks", "4", "8")
        self.assertEqual([row.split(",2,1")[0] for row in rows], ['4,8,"a2,a2"', "4,8,a4", '8,8,"a2,a2,a2"', '8,8,"a2,a4"', "8,8,a8"])
        self.assertIn("pairs of schedules are in the model's order", text)

    def test_exchanges_with_more_peers_give_a_line(self):
        text, rows = self.measured("fig8")
        self.assertEqual(len(rows), 8)
        self.assertEqual(text, "A line through the means has 102 us + 0 (+- 0) us for each message.")

    def test_pairs_are_compared_with_sums_and_with_mpi(self):
        text, _ = self.measured("maxloc", "--bytes-max", "1024")
        self.assertEqual(text, "MAXLOC over a sum, and over MPICH's MAXLOC: 16 bytes: 1.00 +- 0.00 and 0.52 +- 0.00; "
                               "1K bytes: 1.00 +- 0.00 and 0.52 +- 0.00.")

    def test_protocols_of_rabenseifner_are_swept(self):
        text, rows = self.measured("protocols", "--bytes-max", "4096")
        self.assertEqual(len(rows), 4 * 6)
        self.assertIn("ring (7 ranks, 4K bytes)", text)

    def test_omitted_steps_are_swept_over_sizes(self):
        text, rows = self.measured("generalized", "--bytes-max", "448")
        self.assertEqual([row.split(",")[2] for row in rows[:7]],
                         [*(f"generalized:r={r}" for r in range(4)), "ring", "halving-doubling", "recursive-doubling"])
        self.assertEqual(text, "Best r, over recursive halving, over the ring: 56 bytes: r=0, 0.99 +- 0.00, 1.11 +- 0.00; "
                               "448 bytes: r=0, 0.99 +- 0.00, 1.11 +- 0.00.")

    def test_invalid_arguments_are_refused(self):
        check_refusals(self, lambda *words: Run("papers/measured", ANSWER, {"weft": [1]}, *words),
                       ((("--jobs", "1"), "needs at least 2"), (("gone",), "no study gone")))


if __name__ == "__main__":
    unittest.main()
