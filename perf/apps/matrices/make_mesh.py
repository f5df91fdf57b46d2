#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_mesh.py - writes an irregular symmetric positive definite matrix for cg.

usage: make_mesh.py [POINTS] [SEED] > mesh.mtx

Idea     Points are scattered over a square. A spring of random strength connects each point with each of its nearest
         points, and another spring holds the point at its position. The matrix is the stiffness of this net: the
         graph's Laplacian plus a small diagonal. Points are numbered in stripes. So a block of rows is a region with
         few neighbors, which are not always the two adjacent blocks.
Holds    Equal arguments give the same file on every machine, because only integers are used.
"""
import sys

NEAREST = 5
SIDE = 1 << 20


def mix(word):
    """Hashes a word as SplitMix does (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators)."""
    mask = (1 << 64) - 1
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)


def scatter(points, seed):
    """Returns the points' positions, in stripes from left to right, each stripe from bottom to top."""
    stripes = max(1, round(points ** 0.5) // 2)
    places = [(mix(seed * 1000003 + 2 * i) % SIDE, mix(seed * 1000003 + 2 * i + 1) % SIDE)
              for i in range(points)]
    return sorted(places, key=lambda place: (place[0] * stripes // SIDE, place[1], place[0]))


def joints(places):
    """Returns the pairs (i, j), i > j, of points where one is among the nearest points of the other."""
    pairs = set()
    for i, (x, y) in enumerate(places):
        others = sorted((j for j in range(len(places)) if j != i),
                        key=lambda j: ((places[j][0] - x) ** 2 + (places[j][1] - y) ** 2, j))
        pairs.update((max(i, j), min(i, j)) for j in others[:NEAREST])
    return sorted(pairs)


def main(arguments):
    points = int(arguments[0]) if arguments else 300
    seed = int(arguments[1]) if len(arguments) > 1 else 7
    # Values are integers in hundredths, so that every machine computes the same values.
    diagonal = [2 + mix(seed ^ (i << 20)) % 9 for i in range(points)]
    entries = {}
    for i, j in joints(scatter(points, seed)):
        strength = 50 + mix(seed + i * points + j) % 451
        entries[i, j] = -strength
        diagonal[i] += strength
        diagonal[j] += strength
    entries.update({(i, i): value for i, value in enumerate(diagonal)})
    print("%%MatrixMarket matrix coordinate real symmetric")
    print(f"% A net of {points} points, written by make_mesh.py {points} {seed}: see there.")
    print(points, points, len(entries))
    for (i, j), value in sorted(entries.items(), key=lambda entry: (entry[0][1], entry[0][0])):
        sign = "-" if value < 0 else ""
        print(f"{i + 1} {j + 1} {sign}{abs(value) // 100}.{abs(value) % 100:02d}")


if __name__ == "__main__":
    main(sys.argv[1:])
