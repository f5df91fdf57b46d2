# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/guidelines measures each pair and names the broken guidelines.
Method: run the script with a fake weft that prints given times."""

import unittest

from fakes import Run

# A call takes TIME * (1024 + bytes) us, where TIME is 3 for barrier, 1 for broadcast, 2 for allreduce.
ANSWER = """
[ "$1" = list ] && echo '{"algorithms": [{"collective": "barrier"}, {"collective": "broadcast"}, {"collective": "allreduce"}]}' && exit
collective=$(option bench "$@")
[ "$collective" = FAILS ] && exit 3
case $collective in barrier) time=3 sizes=0 ;; broadcast) time=1 ;; allreduce) time=2 ;; esac
results=
for size in ${sizes-$(option --bytes "$@" | tr , ' ')}; do
    results="$results${results:+,}{\\"bytes\\": $size, \\"median_us\\": $((time * (1024 + size)))}"
done
echo "{\\"results\\": [$results]}"
"""


def guidelines(*arguments, fails="none"):
    return Run("guidelines", ANSWER.replace("FAILS", fails), {"weft": [0]}, *arguments)


class Guidelines(unittest.TestCase):
    def test_ratios_are_computed_for_each_guideline(self):
        done = guidelines("--rounds", "2", "--json")
        self.assertEqual(done.status, 0, done.err)
        rows = done.json()["rows"]
        self.assertEqual(len(rows), 1 + 2 * 3)
        self.assertAlmostEqual(rows[0]["ratio"], 3 / (2 * (1 + 8 / 1024)))
        self.assertTrue(all(row["ratio"] < 1 for row in rows[1:]))

    def test_violated_guidelines_are_named(self):
        done = guidelines("--rounds", "1", "--limit", "1.2")
        self.assertEqual(done.status, 1)
        lines = done.out.splitlines()
        self.assertIn("BROKEN", lines[0])
        self.assertTrue(all("kept" in line for line in lines[1:]))

    def test_a_failing_job_gives_status_3(self):
        done = guidelines("--rounds", "1", fails="broadcast")
        self.assertEqual((done.status, done.out), (3, ""))


if __name__ == "__main__":
    unittest.main()
