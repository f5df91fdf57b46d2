#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills ranks of jobs that keep going. The survivors must agree, shrink their team and finish with right results.

    tests/hostile/storm/survivors.py --build build --count 1000 [--seed S]

Goal    After the death of one, two or all but one of 4 to 8 ranks, all survivors finish with the same members within
        5 seconds after the end of their computing time. The launcher's status is the number of dead ranks. The job
        leaves no process and no file.
Method  survivor_rank.cpp makes checked calls in rounds. Kills come at random moments. Half of the later kills follow the
        preceding one immediately, so that they interrupt revoke, agree and shrink of the survivors.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import sys
import time

from storm import Job, Watch, WeftError

END_S = 5.0  # maximum time from the end of the computing time to the end of the job
COMPUTE_S = 0.6


def kill_ranks(job, processes, victims, draw):
    """Kills the victims at random moments of the computing time. Returns those that were still alive."""
    killed = []
    for number, rank in enumerate(victims):
        if number == 0 or draw.random() < 0.5:
            time.sleep(draw.random() * COMPUTE_S / len(victims))
        else:
            time.sleep(draw.random() * 0.004)
        if f"rank {rank} done" not in job.output.decode(errors="replace"):
            os.kill(processes[rank], signal.SIGKILL)
            killed.append(rank)
    return killed


def run_job(arguments, seed):
    draw = random.Random(seed)
    ranks = draw.randint(4, 8)
    deaths = draw.choice([1, 2, ranks - 1])
    victims = draw.sample(range(ranks), deaths)
    command = [f"{arguments.build}/bin/weft", "run", "--keep-going", "-n", str(ranks), "--nodes", str(arguments.nodes)]
    command += ["--", f"{arguments.build}/bin/weft_survivor_rank", str(seed), str(COMPUTE_S)]
    job = Job(command)
    try:
        watch = Watch()
        while len(starts := re.findall(rb"rank (\d+) process (\d+)", job.output)) < ranks:
            if watch.seconds() > 30 or job.process.poll() is not None:
                raise WeftError(f"the job does not start: {job.text()}")
            time.sleep(0.002)
        processes = {int(rank): int(pid) for rank, pid in starts}
        killed = kill_ranks(job, processes, victims, draw)
        took = job.wait(COMPUTE_S + END_S)
        check(job, ranks, killed)
        if remaining := job.leftovers():
            raise WeftError(f"left behind: {remaining}")
        return took
    except WeftError as error:
        error.args = (f"{ranks} ranks, killed {victims}: {error}\n{job.output.decode(errors='replace')}",)
        raise
    finally:
        job.clean_up()


def check(job, ranks, killed):
    text = job.text()
    survivors = [rank for rank in range(ranks) if rank not in killed]
    done = {int(rank): members for rank, members in re.findall(r"rank (\d+) done: members ([\d,]+)", text)}
    if missing := [rank for rank in survivors if rank not in done]:
        raise WeftError(f"ranks {missing} did not finish")
    if len({done[rank] for rank in survivors}) != 1:
        raise WeftError("the survivors have different teams")
    members = {int(rank) for rank in done[survivors[0]].split(",")}
    if not set(survivors) <= members:
        raise WeftError(f"survivors {survivors} are not all in the team {members}")
    if (status := job.process.returncode) != len(killed):
        raise WeftError(f"exit status {status}, expected {len(killed)}")
    for rank in killed:
        if f"weft run: rank {rank} was killed by signal 9 (Killed); the job continues" not in text:
            raise WeftError(f"the launcher does not name rank {rank}")


def main():
    parser = argparse.ArgumentParser(description="Kills ranks of jobs that keep going.")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=20, help="number of jobs")
    parser.add_argument("--nodes", type=int, default=1, help="number of virtual nodes")
    parser.add_argument("--seed", type=int, default=None, help="seed of the first job; default: random")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    first = arguments.seed if arguments.seed is not None else random.randrange(1 << 30)
    longest, failed = 0.0, 0
    for seed in range(first, first + arguments.count):
        try:
            longest = max(longest, run_job(arguments, seed))
        except WeftError as error:
            failed += 1
            print(f"seed {seed}: {error}", flush=True)
    print(f"{arguments.count} jobs from seed {first}: {failed} failed; longest time to the end {longest:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
