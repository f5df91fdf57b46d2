# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/startup launches each size as often as requested and prints medians and growth.
Method: run the script with a fake weft that records its calls and prints planned values."""

import unittest

from fakes import Run, check_refusals

# The output of start_up: a rank's memory is 1000 times the next number of the plan, its touched memory 64 times n.
ANSWER = """
[ -n "$PERF_STARTED_NS" ] || exit 5
n=$(option -n "$@")
phases=
for phase in launch join cards map network verdicts barrier allreduce; do
    phases="$phases${phases:+,}\\"$phase\\": $value.5"
done
echo "{\\"ranks\\": $n, \\"nodes\\": 1, \\"provider\\": \\"none\\", \\"pss_bytes\\": $((value * 1000))," \\
     "\\"rss_bytes\\": 9000, \\"segment_touched_bytes\\": $((n * 64)), \\"segment_mapped_bytes\\": 4096," \\
     "\\"phases_s\\": {$phases}}"
"""


def startup(plan, *arguments, programs=("weft", "start_up")):
    return Run("startup", ANSWER, {name: plan for name in programs}, *arguments)


class Startup(unittest.TestCase):
    def test_rows_have_medians_of_the_launches(self):
        job = startup([1, 9, 2], "--ranks", "2,8", "--json")
        self.assertEqual(job.status, 0, job.err)
        found = job.json()
        self.assertEqual([row["ranks"] for row in found["rows"]], [2, 8])
        for row in found["rows"]:
            self.assertEqual((row["pss_bytes"], row["phases_s"]["join"]), (2000, 2.5))
            self.assertEqual(row["segment_touched_bytes"], 64 * row["ranks"])
            self.assertGreater(row["total_s"], 0)
        self.assertEqual([call[1:4] for call in job.calls],
                         [["run", "-n", "2"]] * 3 + [["run", "-n", "8"]] * 3)
        self.assertAlmostEqual(found["growth"]["segment_touched_bytes_exponent"], 1)
        self.assertAlmostEqual(found["growth"]["pss_bytes_exponent"], 0)

    def test_the_table_has_a_line_for_each_size_and_one_for_growth(self):
        job = startup([1], "--ranks", "2,4,8", "--rounds", "1", "--nodes", "2")
        self.assertEqual(job.status, 0, job.err)
        self.assertEqual(len(job.out.splitlines()), 5)
        self.assertIn("touched put targets as n^1.00", job.out)
        self.assertEqual(job.calls[0][1:6], ["run", "-n", "2", "--nodes", "2"])

    def test_a_failing_job_gives_status_3_and_its_message(self):
        job = startup([1, "fail"], "--ranks", "2")
        self.assertEqual(job.status, 3)
        self.assertIn("fails as planned", job.err)
        job = startup([1], programs=("weft",))
        self.assertEqual(job.status, 3)
        self.assertIn("start_up is missing", job.err)

    def test_invalid_arguments_of_startup_are_named(self):
        check_refusals(self, lambda *arguments: startup([1], *arguments), (
            (["--ranks", "2,x"], '--ranks: "x"'), (["--ranks", "0"], '--ranks: "0"'),
            (["--nodes", "3", "--ranks", "2,4"], "--nodes: 3"), (["--rounds", "0"], "--rounds: 0"),
            (["--timeout", "nan"], "--timeout"), (["--nosuch"], "--nosuch")))


if __name__ == "__main__":
    unittest.main()
