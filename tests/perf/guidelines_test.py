# SPDX-License-Identifier: BSD-3-Clause
"""Goal: perf/guidelines measures each pair and says which guidelines are broken.
Method: the script itself with a fake weft whose times are given."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "perf" / "guidelines"

FAKE = """#!/usr/bin/env python3
import json
import sys
times = {"barrier": 3.0, "broadcast": 1.0, "allreduce": 2.0}
if sys.argv[1] == "list":
    print(json.dumps({"algorithms": [{"collective": name} for name in times]}))
    sys.exit(0)
at = sys.argv.index("bench")
name = sys.argv[at + 1]
if name == "FAILS":
    sys.exit(3)
sizes = [0] if name == "barrier" else map(int, sys.argv[sys.argv.index("--bytes") + 1].split(","))
print(json.dumps({"results": [{"bytes": size, "median_us": times[name] * (1 + size / 1024)} for size in sizes]}))
"""


def guidelines(*arguments, fails="none"):
    with tempfile.TemporaryDirectory() as folder:
        weft = pathlib.Path(folder) / "weft"
        weft.write_text(FAKE.replace("FAILS", fails))
        weft.chmod(0o755)
        return subprocess.run([sys.executable, SCRIPT, "--bin", folder, *arguments], capture_output=True, text=True,
                              timeout=50)


class Guidelines(unittest.TestCase):
    def test_ratios(self):
        done = guidelines("--rounds", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual(len(rows), 1 + 2 * 3)
        self.assertAlmostEqual(rows[0]["ratio"], 3 / (2 * (1 + 8 / 1024)))
        self.assertTrue(all(row["ratio"] < 1 for row in rows[1:]))

    def test_what_is_broken_is_named(self):
        done = guidelines("--rounds", "1", "--limit", "1.2")
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        self.assertIn("BROKEN", lines[0])
        self.assertTrue(all("kept" in line for line in lines[1:]))

    def test_a_job_that_fails(self):
        done = guidelines("--rounds", "1", fails="broadcast")
        self.assertEqual((done.returncode, done.stdout), (3, ""))


if __name__ == "__main__":
    unittest.main()
