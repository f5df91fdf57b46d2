# SPDX-License-Identifier: BSD-3-Clause
"""_torch_job.py - the jobs of this process for weft.torch, and the job of each process group.

Idea     Members of a group exchange the jobs that they are in through torch's Store. A job that all of them are in
         serves the group by a team. Without one, the group starts a job over its Store.
Holds    A job lives until the process ends: leave_all() runs at exit. A rank that leaves announces this, so peers that
         wait for the rank get an error that names it.
"""
import os
import pickle
import sys
import time
import uuid

import torch.distributed as dist

from ._errors import Error, Status
from ._mailbox import Mailbox
from ._native import Runtime

RUNNING, LEFT, FAILED = 0, 1, 2  # states of a rank
jobs = []


class StoreExchange:
    """Allgathers and barriers of the members of a group, over torch's Store."""

    def __init__(self, store, rank, size):
        self.store, self.rank, self.size, self.calls, self.barriers = store, rank, size, 0, 0

    def allgather(self, mine):
        """Returns a list with the bytes of all ranks."""
        self.calls += 1
        key = f"weft/{self.calls}"
        self.store.set(f"{key}/{self.rank}", pickle.dumps(bytes(mine)))
        if self.rank == 0:
            everyone = [pickle.loads(self.store.get(f"{key}/{rank}")) for rank in range(self.size)]
            self.store.set(key, pickle.dumps(everyone))
            return everyone
        return pickle.loads(self.store.get(key))

    def allgather_bytes(self, mine):
        return b"".join(self.allgather(mine))

    def barrier_start(self):
        self.barriers += 1
        self.store.add(f"weft/barrier/{self.barriers}", 1)

    def barrier_test(self):
        return self.store.add(f"weft/barrier/{self.barriers}", 0) >= self.size


class Job:
    """This process's membership in a job that serves process groups."""

    GRACE_S = 2.0  # how long a wait continues after a peer has left: its data may still arrive

    def __init__(self, runtime, name=None, exchange=None):
        self.runtime, self.world, self.exchange = runtime, runtime.world, exchange
        self.rank, self.size, self.process = self.world.rank, self.world.size, os.getpid()
        self.name = name or self.world.broadcast_object(uuid.uuid4().hex)
        self.world_is_used, self.is_leaving, self.store, self.rendezvous_count = False, False, None, 0
        self.states = self.world.zeros(self.size, "u8")
        self.mailbox = Mailbox(self.world)
        runtime.drive_in_background()
        jobs.append(self)

    def team(self, ranks, exchange):
        """Returns a team of these ranks of the world. The first group of all ranks in order gets the world itself."""
        if ranks == list(range(self.size)) and not self.world_is_used:
            self.world_is_used = True
            return self.world
        return self.runtime.team(ranks, exchange.allgather_bytes)

    def announce(self, state):
        """Stores this rank's state on all other ranks."""
        for peer in range(self.size):
            if peer != self.rank:
                self.world.set(self.states[self.rank:self.rank + 1], state, peer)
        self.world.quiet(timeout=self.GRACE_S)

    def gone(self, ranks):
        """Returns a rank among `ranks` that has left the job, or None."""
        return next((rank for rank in ranks if self.states[rank] != RUNNING), None)

    def leave(self, failed):
        """Waits until all ranks leave the job, and ends it. Does not wait if a rank has failed."""
        self.is_leaving = True
        try:
            self.announce(FAILED if failed else LEFT)
            if failed:
                return
            # Not a barrier of the world: it could complete a barrier of a peer that has not left.
            while True:
                self.runtime.progress()
                others = {int(state) for rank, state in enumerate(self.states) if rank != self.rank}
                if FAILED in others:
                    return
                if RUNNING not in others:
                    self.runtime.finalize()
                    return
                time.sleep(0.0005)
        except Error as error:
            print(f"weft: rank {self.rank}: leaving the job failed: {error}", file=sys.stderr)


def leave_all(stop_threads):
    """Leaves all jobs at the end of the process."""
    failed = getattr(sys, "last_type", None) is not None or getattr(sys, "last_exc", None) is not None
    stop_threads()
    for job in jobs:
        if job.process == os.getpid():
            job.leave(failed)
    jobs.clear()


def started_by_launcher():
    """Returns True if a PMIx launcher such as `weft run` has started this process."""
    return "PMIX_RANK" in os.environ and "PMIX_NAMESPACE" in os.environ


def job_of_launcher():
    """Returns the job of the launcher; joins it at the first call."""
    found = next((job for job in jobs if job.exchange is None), None)
    return found or Job(Runtime("multiple"))


def team_of_group(store, rank, size):
    """Returns a process group's job, team, ranks in the job's world, and number, which names the group."""
    exchange = StoreExchange(store, rank, size)
    number = uuid.uuid4().int >> 66  # 62 bits, for the signed 64-bit `channel` of messages; the group uses rank 0's
    rank_in_jobs = {job.name: job.rank for job in jobs if job.process == os.getpid()}
    everyone = [pickle.loads(packed) for packed in exchange.allgather(pickle.dumps((number, rank_in_jobs)))]
    number, names_of_first = everyone[0]  # all members try the jobs in this order
    for name in [name for name in names_of_first if all(name in known for _, known in everyone)]:
        job = next(job for job in jobs if job.name == name)
        ranks = [known[name] for _, known in everyone]
        try:
            return job, job.team(ranks, exchange), ranks, number
        except Error as error:
            if error.status != Status.MEMORY:  # the limit of teams in a job, on all members
                raise
    connected = StoreExchange(dist.PrefixStore("job", store), rank, size)
    runtime = Runtime.connect(rank, size, connected.allgather_bytes, connected.barrier_start, barrier_test_of(connected))
    job = Job(runtime, f"store-{number}", connected)
    job.world_is_used = True
    return job, job.world, list(range(size)), number


def barrier_test_of(exchange):
    """Returns a barrier_test for Runtime.connect(). In the barrier at the end of the job, the rank with the server of
    the Store may end first. It ends after all ranks have entered, so a lost Store then means a complete barrier."""
    def test():
        try:
            return exchange.barrier_test()
        except RuntimeError:
            if not any(job.exchange is exchange and job.is_leaving for job in jobs):
                raise
            return True
    return test
