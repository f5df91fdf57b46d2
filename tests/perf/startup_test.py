# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/startup launches each size as often as asked and prints medians and growth.
Method: the script itself with a fake weft that records how it was called and prints figures by plan."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "perf" / "startup"

# Answers as start_up would: memory of a rank is 1000 times its plan's next number, touched memory n times 64.
FAKE = """#!/bin/sh
folder='FOLDER'
echo "$*" >> "$folder/calls"
[ -n "$PERF_STARTED_NS" ] || exit 5
count=0
[ -f "$folder/count" ] && read -r count < "$folder/count"
echo $((count + 1)) > "$folder/count"
read -r plan < "$folder/plan"
n=$3
set -- $plan
shift $((count % $#))
[ "$1" = fail ] && echo "out of order" >&2 && exit 3
phases=
for name in launch join cards map network verdicts barrier allreduce; do
    phases="$phases${phases:+,}\\"$name\\": $1.5"
done
echo "{\\"ranks\\": $n, \\"nodes\\": 1, \\"provider\\": \\"none\\", \\"pss_bytes\\": $(($1 * 1000))," \\
     "\\"rss_bytes\\": 9000, \\"segment_touched_bytes\\": $((n * 64)), \\"segment_mapped_bytes\\": 4096," \\
     "\\"phases_s\\": {$phases}}"
"""


class Job:
    def __init__(self, plan, *arguments, programs=("weft", "start_up")):
        with tempfile.TemporaryDirectory() as folder:
            for name in programs:
                program = pathlib.Path(folder, name)
                program.write_text(FAKE.replace("FOLDER", folder))
                program.chmod(0o755)
            pathlib.Path(folder, "plan").write_text(" ".join(map(str, plan)) + "\n")
            self.result = subprocess.run([sys.executable, str(SCRIPT), "--bin", folder, *arguments],
                                         capture_output=True, text=True, timeout=50, check=False)
            calls = pathlib.Path(folder, "calls")
            self.calls = [line.split(" ") for line in calls.read_text().splitlines()] if calls.exists() else []


class Startup(unittest.TestCase):
    def test_rows_have_the_medians_of_the_launches(self):
        job = Job([1, 9, 2], "--ranks", "2,8", "--json")
        self.assertEqual(job.result.returncode, 0, job.result.stderr)
        found = json.loads(job.result.stdout)
        self.assertEqual([row["ranks"] for row in found["rows"]], [2, 8])
        for row in found["rows"]:
            self.assertEqual((row["pss_bytes"], row["phases_s"]["join"]), (2000, 2.5))
            self.assertEqual(row["segment_touched_bytes"], 64 * row["ranks"])
            self.assertGreater(row["total_s"], 0)
        self.assertEqual([call[:3] for call in job.calls],
                         [["run", "-n", "2"]] * 3 + [["run", "-n", "8"]] * 3)
        self.assertAlmostEqual(found["growth"]["segment_touched_bytes_exponent"], 1)
        self.assertAlmostEqual(found["growth"]["pss_bytes_exponent"], 0)

    def test_the_table_has_a_line_for_each_size_and_one_for_growth(self):
        job = Job([1], "--ranks", "2,4,8", "--rounds", "1", "--nodes", "2")
        self.assertEqual(job.result.returncode, 0, job.result.stderr)
        self.assertEqual(len(job.result.stdout.splitlines()), 5)
        self.assertIn("touched put targets as n^1.00", job.result.stdout)
        self.assertEqual(job.calls[0][:5], ["run", "-n", "2", "--nodes", "2"])

    def test_a_job_that_fails_gives_status_3_and_its_words(self):
        job = Job([1, "fail"], "--ranks", "2")
        self.assertEqual(job.result.returncode, 3)
        self.assertIn("out of order", job.result.stderr)
        job = Job([1], programs=("weft",))
        self.assertEqual(job.result.returncode, 3)
        self.assertIn("start_up is missing", job.result.stderr)

    def test_unusable_arguments_give_status_2_and_name_the_argument(self):
        for arguments, complaint in [(["--ranks", "2,x"], '--ranks: "x"'), (["--ranks", "0"], '--ranks: "0"'),
                                     (["--nodes", "3", "--ranks", "2,4"], "--nodes: 3"),
                                     (["--rounds", "0"], "--rounds: 0"), (["--timeout", "nan"], "--timeout"),
                                     (["--nosuch"], "--nosuch")]:
            job = Job([1], *arguments)
            self.assertEqual(job.result.returncode, 2, arguments)
            self.assertIn(complaint, job.result.stderr)
            self.assertEqual(job.calls, [])


if __name__ == "__main__":
    unittest.main()
