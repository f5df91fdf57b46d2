#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cases.py - one rank of a job that checks the package weft: buffers, requests, mistakes, and the cases of calls.py.

usage: cases.py CASE...      functions of both files, which run in the order given
"""
import array
import asyncio
import gc
import os
import signal
import sys
import threading
import time
import weakref

import calls
import numpy
import weft
from support import data, refused, same


class OverInterface:
    """An object whose memory is only available through numpy's interface."""

    def __init__(self, values):
        self.__array_interface__ = values.__array_interface__
        self.values = values


class OverDlpack:
    """An object whose memory is only available through DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **_):
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def buffers(world):
    size = world.size
    raw = bytearray(b"\1\2")
    world.allreduce(raw, raw)
    assert raw == bytearray([size, 2 * size]), raw
    numbers = array.array("d", [1.5, 2.5])
    same(world.allreduce(numbers), numpy.array([1.5, 2.5]) * size)
    world.allreduce(memoryview(numbers)[0:1], memoryview(numbers)[1:2])
    assert list(numbers) == [1.5, 1.5 * size]
    values = numpy.ones(3, "i4")
    same(world.allreduce(OverInterface(values)), numpy.full(3, size, "i4"))
    same(world.allreduce(OverDlpack(values)), numpy.full(3, size, "i4"))
    own = OverInterface(values)
    world.allreduce(own, own)
    same(values, numpy.full(3, size, "i4"))
    same(world.allreduce(numpy.ones((0, 2))), numpy.ones((0, 2)))

    refused("send is not contiguous; pass numpy.ascontiguousarray(send)", world.allreduce, numpy.ones((3, 2))[:, 0])
    refused("recv is not contiguous; pass numpy.ascontiguousarray(recv) and copy the result back", world.allreduce,
            numpy.ones(3), numpy.ones((3, 2))[:, 0])
    refused("recv is read-only", world.allreduce, numpy.ones(2, "u1"), b"ab")
    refused("recv has 2 elements, expected 3", world.allreduce, numpy.ones(3), numpy.ones(2))
    refused("recv has elements of type int32, expected float64", world.allreduce, numpy.ones(1), numpy.ones(1, "i4"))
    refused("send and recv overlap", world.allreduce, values[0:2], values[1:3])
    refused("expected a buffer such as a numpy array", world.allreduce, [1, 2])
    refused("weft has no type for elements of format", world.allreduce, numpy.ones(2, ">f8"))
    refused("pairs need numpy.dtype(..., align=True)", world.allreduce, numpy.ones(1, [("a", "i8"), ("b", "i4")]), op=weft.MINLOC)
    refused("op: expected an operation", world.allreduce, values, op="sum")
    refused("", world.allreduce, numpy.ones(1), op=weft.MINLOC)
    refused("counts: -1 is negative", world.allgatherv, values, counts=[-1] * size)
    refused(f"counts: 0 values, expected {size}", world.allgatherv, values)
    refused("expected at least", world.alltoallv, values[:0], send_counts=[1] * size, recv_counts=[0] * size)
    refused(f"expected ({size}, ...): a block for each rank", world.reduce_scatter, numpy.ones(size + 1))
    refused("", world.broadcast, values, root=size)


def tensors(world):
    import torch  # the driver runs this case where torch is installed
    size = world.size
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32,
                  torch.int64, torch.uint8):
        tensor = torch.ones(2, 3, dtype=dtype)
        got = world.allreduce(tensor)
        assert isinstance(got, torch.Tensor) and got.dtype == dtype and torch.equal(got, tensor * size), got
        assert world.allreduce(tensor, tensor) is tensor and torch.equal(got, tensor)
        gathered = world.allgather(tensor)
        assert gathered.shape == (size, 2, 3)
    flags = torch.tensor([True, False])
    assert torch.equal(world.allreduce(flags, op=weft.LOR), flags)
    refused("send is not contiguous", world.allreduce, torch.ones(2, 3).t())
    weights = torch.ones(2, requires_grad=True)
    assert world.allreduce(weights)[0] == size
    refused("requires grad; pass recv.detach()", world.allreduce, torch.ones(2), weights)
    refused("no numpy type for bfloat16", world.allreduce, torch.ones(2, dtype=torch.bfloat16), op=weft.Op(numpy.add))


def user_operations(world):
    largest = weft.Op(numpy.maximum)
    same(world.allreduce(data(world.rank, 5), op=largest),
         numpy.max([data(rank, 5) for rank in range(world.size)], axis=0))
    same(world.allreduce(numpy.full(2, world.rank, "i4"), op=largest), numpy.full(2, world.size - 1, "i4"))

    for function, rank in ((lambda lower, upper: lower, 0), (lambda lower, upper: upper, world.size - 1)):
        same(world.allreduce(data(world.rank, 5), op=weft.Op(function, commutative=False)), data(rank, 5))

    if world.size > 1:
        def fails(lower, upper):
            raise ZeroDivisionError("planted")

        team = world.split(0)
        error = refused("", team.allreduce, numpy.ones(1), op=weft.Op(fails))
        causes = world.allgather_object(type(error.__cause__).__name__)
        assert "ZeroDivisionError" in causes, causes
        seen = []
        team = world.split(0)

        def calls_weft(lower, upper):
            seen.append(refused("operations must not call weft", world.barrier))
            return lower + upper

        same(team.allreduce(numpy.ones(1), op=weft.Op(calls_weft)), numpy.full(1, float(world.size)))
        assert int(world.allreduce(len(seen))) >= 1


def requests(world):
    class Weak(numpy.ndarray):
        """An array that can be observed by a weak reference."""

    def weak(values):
        made = values.view(Weak)
        return made, weakref.ref(made)

    send, send_seen = weak(numpy.ones(3))
    recv, recv_seen = weak(numpy.zeros(3))
    request = world.start.allreduce(send, recv)
    del send, recv
    gc.collect()
    assert send_seen() is not None and recv_seen() is not None
    same(numpy.asarray(request.wait()), numpy.full(3, float(world.size)))
    gc.collect()
    assert send_seen() is None and recv_seen() is not None, "a complete request still holds its input"
    assert request.test() and request.result is request.wait()
    refused("only calls of team.prepare can be started", request.start)

    send, send_seen = weak(numpy.ones(3))
    request = world.start.allreduce(send)
    del send, request  # the job keeps the buffers until the call is complete
    for _ in range(3):
        world.barrier()
    gc.collect()
    assert send_seen() is None

    async def several():
        started = [world.start.allreduce(numpy.full(2, float(number))) for number in range(3)]
        return [await request for request in started]

    for number, got in enumerate(asyncio.run(several())):
        same(got, numpy.full(2, float(number * world.size)))
    if world.size > 1:
        flag = world.zeros(1, "u8")
        if world.rank == 0:
            request = world.start.barrier()
            refused("", request.wait, timeout=0.01, status=weft.Status.TIMEOUT)
            assert not request.test()
            for peer in range(1, world.size):
                world.set(flag, 1, peer)
            world.quiet()
            request.wait(timeout=60)
        else:
            world.wait_until(flag, weft.EQ, 1)
            world.barrier()


def interrupts(world):
    """Rank 0 interrupts its own waits. The other ranks come later, when rank 0 tells them."""
    flag = world.zeros(1, "u8")
    waits = (world.barrier, lambda: world.allreduce(numpy.ones(1)), lambda: world.wait_until(flag, weft.EQ, 99),
             lambda: world.split(0), lambda: world.zeros(1))
    for number, wait in enumerate(waits, start=1):
        if world.rank == 0:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                wait()
                raise AssertionError("not interrupted")
            except KeyboardInterrupt:
                pass
            timer.join()
            for peer in range(1, world.size):
                world.set(flag, number, peer)
            world.quiet()
        else:
            world.wait_until(flag, weft.EQ, number)
            # Makes the call that rank 0 has begun. Calls that cannot be started asynchronously begin with a barrier, and
            # rank 0 was interrupted there.
            {2: waits[1], 3: lambda: None}.get(number, world.barrier)()
    same(world.allreduce(numpy.ones(1)), numpy.full(1, float(world.size)))


def forks(world):
    child = os.fork()
    if child == 0:
        refused("fork", world.barrier, status=weft.Status.ENVIRONMENT)
        refused("fork", world.zeros, 1, status=weft.Status.ENVIRONMENT)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    world.barrier()


def disagreement(world):
    team = world.split(0)
    error = refused("", team.allreduce, numpy.ones(3 if team.rank == 0 else 4))
    assert error.rank == world.rank and error.peer is not None and error.peer != world.rank, (error.rank, error.peer)
    assert "3" in str(error) and "4" in str(error), error
    world.barrier()


def memory_is_flat(world):
    values, result = numpy.ones(1), numpy.empty(1)
    persistent = world.prepare.allreduce(values, result)

    def round_of_calls():
        world.allreduce(values, result)
        world.allreduce(values)
        world.start.allreduce(values, result).wait()
        persistent.start()
        persistent.wait()
        world.allgatherv(values, counts=[1] * world.size)
        try:
            world.allreduce(values, result[:0])
        except weft.Error:
            pass

    def resident_bytes():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(200):
        round_of_calls()
    gc.collect()
    blocks, resident = sys.getallocatedblocks(), resident_bytes()
    rounds = 5000
    for _ in range(rounds):
        round_of_calls()
    gc.collect()
    grown = sys.getallocatedblocks() - blocks
    assert grown < rounds / 10, f"{grown} objects more after {rounds} rounds"
    assert resident_bytes() - resident < 100 * rounds, "memory grows"


def strided(world):
    after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    plate, arrived = world.zeros((6, 8)), world.zeros(1, "u8")
    world.put_signal(plate[:, 2], numpy.arange(12.0)[::2] + world.rank, arrived, 1, after)
    world.wait_until(arrived, weft.EQ, 1)
    expected = numpy.zeros((6, 8))
    expected[:, 2] = numpy.arange(0, 12, 2) + before
    same(plate, expected)
    world.barrier()
    columns = numpy.arange(12.0).reshape(4, 3).T + world.rank
    world.put(plate[::-2, 1:5], columns, after)
    world.quiet()
    world.barrier()
    same(plate[::-2, 1:5], columns - world.rank + before)
    same(world.get(plate[::-2, 1:5], after), columns)
    received = numpy.zeros((4, 6))
    world.get(plate[::-2, 1:5], after, received[:, ::2].T)
    same(received[:, ::2].T, columns)
    same(received[:, 1::2], numpy.zeros((4, 3)))
    refused(r"data has shape (5), expected (6) as target", world.put, plate[:, 2], numpy.zeros(5), after)
    refused("elements of different types", world.put, plate[:, 2], numpy.zeros(6, "f4"), after)


def nonblocking_memory(world):
    after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    context, array, sums = world.context(), world.zeros(4), [world.zeros(1, dtype) for dtype in ("f4", "f8", "i8")]
    data = numpy.full(4, world.rank + 2.0)
    seen = weakref.ref(data)
    context.put_nbi(array, data, after)
    del data
    world.quiet()
    assert seen() is not None, "the context's put has lost its data"
    context.quiet()
    assert seen() is None, "quiet() has not released the data"
    world.barrier()
    same(array, numpy.full(4, before + 2.0))
    received = world.get_nbi(array, after)
    world.quiet()
    same(received, numpy.full(4, world.rank + 2.0))
    context.free()
    team, data = world.split(0), numpy.full(4, 7.0)
    seen = weakref.ref(data)
    team.put_nbi(array, data, after)
    del data
    team.free()
    assert seen() is None, "the end of the team has not released the data"
    world.barrier()
    same(array, numpy.full(4, 7.0))
    for number in sums:
        world.add(number, 2, 0)
        world.fetch_add(number, 1, 0)
    world.add(sums[0], 0.5, 0)
    world.quiet()
    world.barrier()
    if world.rank == 0:
        same(numpy.concatenate(sums).astype("f8"), numpy.array([3.5, 3.0, 3.0]) * world.size)


def unfitting_values(world):
    word = world.zeros(1, "u8")
    for call in (world.add, world.set, world.fetch_add):
        refused("-1 does not fit into a word of type uint64", call, word, -1, 0)
    refused("'many' does not fit", world.add, word, "many", 0)


def many_contexts(world):
    for _ in range(66_000):  # more than a runtime has handles
        world.context()


def wrong_exchange(job):
    """Teams whose exchange returns too many or too few bytes."""
    for answer in (bytes(1 << 20), b""):
        error = refused("", job.team, list(range(job.world.size)), lambda mine, answer=answer: answer,
                        status=weft.Status.ENVIRONMENT)
        assert f"returned {len(answer)} bytes, expected" in str(error.__cause__), error.__cause__


def collected_team():
    """A team is collected while another thread makes a team."""
    job = weft.Runtime(threads="multiple")
    old, rank, made = job.world.split(0), job.world.rank, []

    def allgather(mine):
        time.sleep(0.3)
        return bytes(mine)  # the team has one member

    maker = threading.Thread(target=lambda: made.append(job.team([rank], allgather)))
    job.world.barrier()
    maker.start()
    time.sleep(0.1)
    del old
    job.progress()
    maker.join()
    assert made[0].size == 1
    job.finalize()


def forks_beside_a_thread():
    """A forked child drops the runtime while the thread that drives it is idle."""
    job = weft.Runtime(threads="multiple")
    job.drive_in_background()
    time.sleep(1.5)  # until the thread is idle
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        del job
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    job.finalize()


def buffer_lists(world):
    size, me = world.size, world.rank
    parts = [numpy.zeros(rank + 1) for rank in range(size)]
    world.allgatherv(numpy.full(me + 1, me + 1.0), parts)
    world.allgatherv(parts[me], parts)  # in place
    for rank in range(size):
        same(parts[rank], numpy.full(rank + 1, rank + 1.0))
    arrived = [numpy.zeros(rank + me + 1, "i4") for rank in range(size)]
    world.start.alltoallv([numpy.full(rank + me + 1, 10 * me + rank, "i4") for rank in range(size)], arrived).wait()
    for rank in range(size):
        same(arrived[rank], numpy.full(rank + me + 1, 10 * rank + me, "i4"))
    last = size - 1
    gathered = [numpy.zeros(rank + 1) for rank in range(size)] if me == last else None
    world.gatherv(parts[me], gathered, root=last)
    block = numpy.zeros(me + 1)
    world.scatterv([part * 2 for part in gathered] if me == last else None, block, root=last)
    same(block, parts[me] * 2)
    refused("expected one for each of", world.allgatherv, parts[me], parts + parts)
    refused("has no counts", world.allgatherv, parts[me], parts, [1] * size)
    mixed = [numpy.zeros(2, "f4"), *[numpy.zeros(2) for _ in range(size - 1)]]
    refused("expected float64 as in send" if size == 1 else "expected one type", world.allgatherv, numpy.zeros(2), mixed)


def threads():
    with weft.Runtime("multiple") as job:
        world, word = job.world, job.world.zeros(1, "u8")
        # The wait ends only if it releases the GIL, so that the other thread can run.
        other = threading.Thread(target=lambda: world.set(word, 5, world.rank))
        timer = threading.Timer(0.1, other.start)
        timer.start()
        assert world.wait_until(word, weft.EQ, 5) == 5
        timer.join()
        other.join()
    refused("has been finalized", world.barrier)
    refused("expected 'single' or 'multiple'", weft.Runtime, "many")


def second_thread(world):
    word, errors = world.zeros(1, "u8"), []

    def call():
        try:
            world.barrier()
        except weft.Error as error:
            errors.append(str(error))
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.1, call)
    timer.start()
    try:
        world.wait_until(word, weft.EQ, 1)
    except KeyboardInterrupt:
        pass
    timer.join()
    assert len(errors) == 1 and "another call of this runtime is running" in errors[0], errors


def fails_on_last_rank(world):
    if world.rank == world.size - 1:
        raise ValueError("planted")
    world.barrier()


def survivors():
    """The other ranks continue after the death of the last rank."""
    with weft.Runtime() as job:
        world, last = job.world, job.world.size - 1
        world.barrier()
        if world.rank == last:
            os.kill(os.getpid(), signal.SIGKILL)
        refused(f"rank {last} has died", world.barrier, status=weft.Status.PEER)
        assert world.dead() == [last]
        assert world.agree(2 if world.rank == 0 else 3) == (2, 1)
        team = world.shrink()
        assert (team.rank, team.size) == (world.rank, last)
        same(team.allreduce(numpy.ones(3)), numpy.full(3, float(last)))
        if team.rank == 0:
            team.revoke()
        refused("was revoked by rank 0", team.barrier, status=weft.Status.PEER)
        if world.rank == 0:
            print("the survivors are right")


def main():
    names = sys.argv[1:]
    if names in (["survivors"], ["threads"], ["forks_beside_a_thread"], ["collected_team"]):  # make their own runtimes
        globals()[names[0]]()
        return
    with weft.Runtime() as job:
        if names == ["wrong_exchange"]:
            wrong_exchange(job)
            return
        for name in names:
            (globals().get(name) or getattr(calls, name))(job.world)
            job.world.barrier()
        if job.world.rank == 0:
            print(f"{len(names)} cases, {job.world.size} ranks: right")


if __name__ == "__main__":
    main()
