#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""heat.py - heat on a plate, in time steps; each rank has a band of rows.

usage: weft run -n 4 -- python3 heat.py [--rows 400] [--columns 400] [--steps 200] [--check]

Idea     Each rank puts its first and last row into halo rows of its neighbors, with a signal that holds the number of
         the step. Two halo rows for each side alternate, so a rank never overwrites a row that its neighbor still reads.
Status: 0; 1 if --check finds a cell that differs from a computation by rank 0 alone.
"""
import argparse
import sys

import numpy
import weft


def start_plate(rows, columns):
    """Returns a cold plate with a hot upper edge and a hot spot."""
    plate = numpy.zeros((rows, columns))
    plate[0] = 100.0
    plate[rows // 2, columns // 3] = 50.0
    return plate


def step(band, above, below):
    """Returns a band of rows after one time step. above, below: the rows next to it."""
    padded = numpy.vstack([above, band, below])
    new = padded.copy()
    new[1:-1, 1:-1] += 0.2 * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
                              - 4 * padded[1:-1, 1:-1])
    return new[1:-1]


def main():
    parser = argparse.ArgumentParser(description="heat on a plate, in time steps")
    for name, value in (("--rows", 400), ("--columns", 400), ("--steps", 200)):
        parser.add_argument(name, type=int, default=value)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with weft.Runtime() as job:
        world = job.world
        me, size, plate = world.rank, world.size, start_plate(options.rows, options.columns)
        if options.rows < size:
            parser.error(f"--rows {options.rows} must be at least the number of ranks, {size}")
        bounds = [options.rows * rank // size for rank in range(size + 1)]
        band = plate[bounds[me]:bounds[me + 1]].copy()
        halos = world.zeros((2, 2, options.columns))  # above and below, for even and odd steps
        arrived = world.zeros((2, 2), "u8")  # for each halo row: number of its last step, counted from 1
        above = me - 1 if me > 0 else None
        below = me + 1 if me + 1 < size else None
        for number in range(options.steps):
            parity = number % 2
            # A target is named by this rank's array: the row arrives in the upper neighbor's halo below its band.
            if above is not None:
                world.put_signal(halos[1, parity], band[0], arrived[1, parity:parity + 1], number + 1, above)
            if below is not None:
                world.put_signal(halos[0, parity], band[-1], arrived[0, parity:parity + 1], number + 1, below)
            if above is not None:
                world.wait_until(arrived[0, parity:parity + 1], weft.GE, number + 1)
            if below is not None:
                world.wait_until(arrived[1, parity:parity + 1], weft.GE, number + 1)
            new = step(band, halos[0, parity] if above is not None else band[0],
                       halos[1, parity] if below is not None else band[-1])
            if above is None:
                new[0] = band[0]  # edges keep their heat
            if below is None:
                new[-1] = band[-1]
            band = new
        counts = [options.columns * (end - begin) for begin, end in zip(bounds, bounds[1:])]
        whole = world.gatherv(band, counts=counts)
        if me > 0:
            return 0
        print(f"{options.steps} steps on {size} ranks: mean {whole.mean():.6f}, highest {whole.max():.6f}")
        if not options.check:
            return 0
        for _ in range(options.steps):
            plate[1:-1] = step(plate, plate[0], plate[-1])[1:-1]
        right = numpy.array_equal(plate.ravel(), whole)
        print("right" if right else f"wrong: {numpy.count_nonzero(plate.ravel() != whole)} cells differ")
        return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
