#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Goal: make_mesh.py writes the same matrix on every machine; the matrix is symmetric positive definite.
# Method: compare a digest; factor the matrix (Cholesky).
import hashlib
import subprocess
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "perf/apps/matrices"


def write(*arguments):
    return subprocess.run([sys.executable, FOLDER / "make_mesh.py", *arguments], check=True,
                          capture_output=True, text=True, timeout=30).stdout


def lower_triangle(text):
    lines = [line.split() for line in text.splitlines() if not line.startswith("%")]
    rows = [[0.0] * (i + 1) for i in range(int(lines[0][0]))]
    for i, j, value in lines[1:]:
        rows[int(i) - 1][int(j) - 1] = float(value)
    return rows


def smallest_pivot(rows):
    """Returns the smallest pivot of the Cholesky factor. It is positive only if the matrix is positive definite."""
    smallest = float("inf")
    for j, row in enumerate(rows):
        for k in range(j):
            row[k] = (row[k] - sum(a * b for a, b in zip(row[:k], rows[k]))) / rows[k][k]
        row[j] -= sum(a * a for a in row[:j])
        smallest = min(smallest, row[j])
        if smallest <= 0:
            break
        row[j] **= 0.5
    return smallest


class Mesh(unittest.TestCase):
    def test_equal_arguments_give_equal_files(self):
        digest = hashlib.sha256(write("300", "7").encode()).hexdigest()
        self.assertEqual(digest, "3e1673db934b20905b82fb3f8c78cb71d720c526198dc7a5774d9c3b6ea07c46")
        self.assertNotEqual(write("40", "1"), write("40", "2"))

    def test_the_matrix_is_positive_definite(self):
        rows = lower_triangle(write("300", "7"))
        self.assertGreater(smallest_pivot(rows), 0)
        rows = lower_triangle(write("40"))
        rows[20][20] = -rows[20][20]
        self.assertLessEqual(smallest_pivot(rows), 0)


if __name__ == "__main__":
    unittest.main()
