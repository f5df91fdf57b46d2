#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torch_cases.py - one rank of a job that checks the backend "weft" of torch.distributed.

usage: torch_cases.py CASE...      functions of this file, which run in the order given
"""
import ctypes
import datetime
import functools
import gc
import os
import signal
import sys
import threading
import time
import weakref

import torch
import torch.distributed as dist
import weft
import weft.torch
from weft import _torch_job
from support import refused

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
ORDINARY = {dist.ReduceOp.SUM: torch.add, dist.ReduceOp.PRODUCT: torch.mul, dist.ReduceOp.MIN: torch.minimum,
            dist.ReduceOp.MAX: torch.maximum}
BITWISE = {dist.ReduceOp.BAND: torch.bitwise_and, dist.ReduceOp.BOR: torch.bitwise_or,
           dist.ReduceOp.BXOR: torch.bitwise_xor}


def data(rank, shape, dtype=torch.float32):
    """Returns the contribution of a rank: integers from 0 to 2."""
    count = int(torch.tensor(shape).prod())
    return ((torch.arange(count) * 7 + rank * 5) % 3).to(dtype).view(shape)


def same(got, expected):
    assert got.dtype == expected.dtype and torch.equal(got, expected), (got, expected)


def wait_and_check(work):
    assert work.wait() is True and work.is_completed() and work.is_success() and work.exception() is None


def reductions(group):
    size, me = dist.get_world_size(group), dist.get_rank(group)
    for dtype in FLOATS + INTEGERS:
        everyone = [data(rank, (size, 4), dtype) for rank in range(size)]
        for op, function in {**ORDINARY, **(BITWISE if dtype in INTEGERS else {})}.items():
            expected = functools.reduce(function, everyone)
            for run_async in (False, True):
                tensor = everyone[me].clone()
                work = dist.all_reduce(tensor, op, group, run_async)
                if run_async:
                    wait_and_check(work)
                same(tensor, expected)
            root = dist.distributed_c10d._get_global_rank(group, size - 1) if group is not None else size - 1
            tensor = everyone[me].clone()
            dist.reduce(tensor, root, op, group)
            same(tensor, expected if me == size - 1 else everyone[me])
            block = torch.empty(4, dtype=dtype)
            dist.reduce_scatter(block, [row.clone() for row in everyone[me]], op, group)
            same(block, expected[me])
            dist.reduce_scatter_tensor(block, everyone[me], op, group)
            same(block, expected[me])
            many = [everyone[me].clone(), everyone[me][0].clone()]
            dist.all_reduce_coalesced(many, op, group)
            same(many[0], expected)
            same(many[1], expected[0])
    flags = torch.tensor([me == 0, True, False])
    dist.all_reduce(flags, dist.ReduceOp.MAX, group)
    same(flags, torch.tensor([True, True, False]))
    crossed = data(me, (4, 6)).t()
    dist.all_reduce(crossed, group=group)
    same(crossed, sum(data(rank, (4, 6)) for rank in range(size)).t())
    parts = [data(me, rank + 1) for rank in range(size)]
    block = torch.empty(me + 1)
    dist.reduce_scatter(block, parts, group=group)
    same(block, sum(data(rank, me + 1) for rank in range(size)))
    sparse = torch.sparse_coo_tensor([[me]], [1.0], (size,))
    dist.all_reduce(sparse, group=group)
    same(sparse.to_dense(), torch.ones(size))
    weights = torch.ones(2, requires_grad=True)
    dist.all_reduce(weights, group=group)
    same(weights.detach(), torch.full((2,), float(size)))


def data_movement(group):
    size, me = dist.get_world_size(group), dist.get_rank(group)
    world = functools.partial(dist.distributed_c10d._get_global_rank, group) if group is not None else int
    for dtype in FLOATS + INTEGERS + (torch.bool, torch.complex64):
        everyone = [data(rank, (2, 3), dtype) for rank in range(size)]
        blocks = [data(rank, (size, 2), dtype) for rank in range(size)]
        for root in {0, size - 1}:
            tensor = everyone[me].clone()
            dist.broadcast(tensor, world(root), group)
            same(tensor, everyone[root])
            gathered = [torch.empty_like(tensor) for _ in range(size)] if me == root else None
            dist.gather(everyone[me], gathered, world(root), group)
            for rank in range(size if me == root else 0):
                same(gathered[rank], everyone[rank])
            block = torch.empty(2, dtype=dtype)
            dist.scatter(block, list(blocks[me].clone()) if me == root else None, world(root), group)
            same(block, blocks[root][me])
        flat = torch.empty(size * 2, 3, dtype=dtype)
        for outputs in ([torch.empty(2, 3, dtype=dtype) for _ in range(size)], list(flat.chunk(size))):
            wait_and_check(dist.all_gather(outputs, everyone[me], group, async_op=True))
            for rank in range(size):
                same(outputs[rank], everyone[rank])
        dist.all_gather_into_tensor(flat.zero_(), everyone[me], group)
        same(flat, torch.cat(everyone))
        lists = [[torch.empty(2, 3, dtype=dtype), torch.empty(size, 2, dtype=dtype)] for _ in range(size)]
        dist.all_gather_coalesced(lists, [everyone[me], blocks[me]], group)
        for rank in range(size):
            same(lists[rank][0], everyone[rank])
            same(lists[rank][1], blocks[rank])
        swapped = torch.empty(size, 2, dtype=dtype)
        dist.all_to_all_single(swapped, blocks[me], group=group)
        same(swapped, torch.stack([blocks[rank][me] for rank in range(size)]))
        # Rank a sends a + b + 1 rows to rank b, so splits are symmetric.
        splits = [me + rank + 1 for rank in range(size)]
        sent = [data(rank, (sum(rank + other + 1 for other in range(size)), 2), dtype) for rank in range(size)]
        parts = [sent[rank].split([rank + other + 1 for other in range(size)])[me] for rank in range(size)]
        swapped = torch.empty(sum(splits), 2, dtype=dtype)
        dist.all_to_all_single(swapped, sent[me], splits, splits, group)
        same(swapped, torch.cat(parts))
        outputs = [torch.empty_like(part) for part in parts]
        dist.all_to_all(outputs, [part.clone() for part in sent[me].split(splits)], group)
        for output, part in zip(outputs, parts):
            same(output, part)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": me}, group)
    assert objects == [{"rank": rank} for rank in range(size)]
    dist.barrier(group)
    assert dist.monitored_barrier(group, datetime.timedelta(seconds=60)) is None


def tensor_lists(_):
    """Lists of tensors that are not contiguous or share memory; tensors of ended calls are released."""
    size, me = dist.get_world_size(), dist.get_rank()
    mine = data(me, (3, 4))
    outputs = [torch.zeros(4, 3).t() if rank % 2 else torch.zeros(3, 4) for rank in range(size)]
    dist.all_gather(outputs, mine.t().contiguous().t())
    outputs[me].fill_(0).copy_(mine)
    dist.all_gather(outputs, outputs[me])
    for rank in range(size):
        same(outputs[rank], data(rank, (3, 4)))
    flat = torch.zeros(size * 3, 4)
    flat[3 * me:3 * me + 3] = mine
    dist.all_gather_into_tensor(flat, flat[3 * me:3 * me + 3])
    same(flat, torch.cat([data(rank, (3, 4)) for rank in range(size)]))
    blocks = [data(rank, (3, 4)) for rank in range(size)]
    dist.scatter(blocks[0] if me == 0 else outputs[me], blocks if me == 0 else None, 0)
    same(blocks[0] if me == 0 else outputs[me], data(me, (3, 4)))
    wide = torch.zeros(size, 2, 3).transpose(1, 2)
    dist.all_to_all(list(wide), [data(10 * me + rank, (3, 2)) for rank in range(size)])
    for rank in range(size):
        same(wide[rank], data(10 * rank + me, (3, 2)))
    ended = torch.ones(10)
    seen = weakref.ref(ended)
    works = [dist.all_reduce(ended, async_op=True) for _ in range(3)]
    for work in works:
        work.wait()
    del ended, work
    works.clear()
    dist.barrier()
    dist.barrier()
    assert seen() is None, "the group holds a tensor of an ended call"


def traced(_):
    """Calls on CommTensors of torch 1.13, while make_fx traces them and in the traced function."""
    try:
        from torch.distributed._spmd.comm_tensor import CommTensor, _wait_comm
        from torch.fx.experimental.proxy_tensor import make_fx
    except ImportError:
        return
    size = dist.get_world_size()

    def gather(value):
        outputs = [torch.zeros_like(value) for _ in range(size)]
        return dist.all_gather(outputs, value, async_op=True), outputs

    def scatter_sum(value):
        output = value.clone()
        return dist.reduce_scatter(output, [value + rank for rank in range(size)], async_op=True), [output]
    for call in (lambda value: (dist.all_reduce(value, async_op=True), [value]),
                 lambda value: (dist.broadcast(value, 0, async_op=True), [value]), gather, scatter_sum):
        def doubled(value):
            work, outputs = call(CommTensor(value + value))
            work.wait()
            return [output * 2 for output in outputs]
        function = make_fx(doubled)(torch.ones(2, 2))
        assert any(node.target is _wait_comm for node in function.graph.nodes)
        value = data(dist.get_rank(), (2, 2))
        for output, expected in zip(function(value.clone()), doubled(value)):
            same(output, expected)


def messages(_):
    size, me = dist.get_world_size(), dist.get_rank()
    if size == 1:
        return
    after, before = (me + 1) % size, (me - 1) % size
    for count in (0, 1, 3000, 1 << 19):  # the last is larger than a ring
        sent, got = data(me, max(count, 1))[:count], torch.empty(count)
        dist.send(sent, after)  # all ranks send before any receives
        assert dist.recv(got, before) == before
        same(got, data(before, max(count, 1))[:count])
        got.zero_()
        works = [dist.isend(sent, after, tag=5), dist.irecv(got, before, tag=5)]
        for work in works:
            wait_and_check(work)
        same(got, data(before, max(count, 1))[:count])
    for tag in (1, 2):
        dist.send(torch.tensor([me * 10.0 + tag]), after, tag=tag)
    got = torch.empty(1)
    for tag in (2, 1):
        dist.recv(got, before, tag=tag)
        assert got.item() == before * 10 + tag
    if me == 0:
        seen = {dist.recv(got) for _ in range(size - 1)}
        assert seen == set(range(1, size)), seen
    else:
        dist.send(torch.tensor([1.0]), 0)
    dist.barrier()  # so that rank 0's receives from any source do not match the next messages
    crossed = torch.empty(3, 2).t()
    works = [dist.isend(data(me, (2, 3)), after), dist.irecv(crossed, before)]
    for work in works:
        work.wait()
    same(crossed.contiguous(), data(before, (2, 3)))
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, data(me, 4), after), dist.P2POp(dist.irecv, torch.empty(4), before)])
    for work in works:
        work.wait()
    dist.send(torch.ones(3), after)
    refused("has 12 bytes, expected 8", dist.recv, torch.empty(2), before)


def late_message(_):
    """The receive of a message fails when a part has arrived; later messages are not affected."""
    if dist.get_world_size() == 1:
        return
    me, first, second = dist.get_rank(), torch.full((1 << 20,), 5), torch.full((1 << 20,), 6)
    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    if me == 0:
        work = dist.isend(first, 1, group=group)
        ctypes.PyDLL(None).usleep(ctypes.c_uint(2_000_000))  # keeps the GIL, so nothing is sent
        work.wait()
        dist.send(second, 1)
    elif me == 1:
        got = torch.zeros(1 << 20, dtype=torch.int64)
        work = dist.irecv(got, 0, group=group)
        work.get_future()
        refused("Timed out waiting 1000ms for recv", work.wait, status=weft.Status.TIMEOUT)
        dist.recv(got, 0)
        same(got, second)


def groups(_):
    size, me = dist.get_world_size(), dist.get_rank()
    made = [dist.new_group([rank for rank in range(size) if rank % 2 == parity]) for parity in (0, 1) if parity < size]
    second = dist.new_group()
    for group in [*made, second]:
        if dist.get_rank(group) >= 0:
            reductions(group)
            data_movement(group)
            assert dist.get_backend(group) == "weft"
    # Groups may start calls in different orders on different ranks.
    first, last = (None, second) if me % 2 == 0 else (second, None)
    one, two = torch.ones(1000), torch.ones(10)
    works = [dist.all_reduce(one if group is None else two, group=group, async_op=True) for group in (first, last)]
    for work in works:
        work.wait()
    assert one[0] == size and two[0] == size
    gc.collect()
    gc.disable()
    for _ in range(80):  # more than the 32 teams that can exist
        group = dist.new_group()
        dist.all_reduce(torch.ones(10), group=group)
        dist.destroy_process_group(group)
        del group
    gc.enable()
    assert len(_torch_job.jobs) == 1, "groups that have ended still have their teams"


def works(_):
    size, me = dist.get_world_size(), dist.get_rank()
    many = [torch.full((100,), float(number)) for number in range(20)]
    for tensor in many:
        dist.all_reduce(tensor, async_op=True)  # the Work is dropped
    dist.barrier()
    for number, tensor in enumerate(many):
        assert tensor[0] == number * size
    tensor = torch.ones(4)
    work = dist.all_reduce(tensor, async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    assert doubled.wait()[0] == 2 * size and work.result()[0] is tensor
    if size > 1:
        refused("Timed out waiting 50ms for recv", dist.distributed_c10d._get_default_group().recv(
            [torch.empty(1)], (me + 1) % size, 77).wait, datetime.timedelta(milliseconds=50), status=weft.Status.TIMEOUT)
        # A call advances while no rank waits for it, so is_completed() becomes true without a wait.
        work = dist.all_reduce(torch.ones(1 << 16), async_op=True)
        deadline = time.monotonic() + 60
        while not work.is_completed():
            assert time.monotonic() < deadline
            time.sleep(0.001)
        memory = torch.ones(1000)
        work = dist.all_reduce(memory, async_op=True)
        other = memory.view(-1)
        del memory  # the Work keeps it
        gc.collect()
        work.wait()
        assert other[0] == size
        late = size - 1
        if me == late:
            time.sleep(1.5)
        group = dist.distributed_c10d._get_default_group()
        if me == 0:
            refused(f"Rank {late} failed to pass monitoredBarrier in 600 ms", group.monitored_barrier,
                    datetime.timedelta(milliseconds=600), status=weft.Status.TIMEOUT)
        else:
            refused("monitoredBarrier", group.monitored_barrier, datetime.timedelta(seconds=3),
                    status=weft.Status.TIMEOUT)
        dist.barrier()
    group = dist.distributed_c10d._get_default_group()
    refused("Cannot use ReduceOp.BAND with non-integral dtype", dist.all_reduce, torch.ones(1), dist.ReduceOp.BAND)
    refused("Cannot use ReduceOp.AVG", dist.all_reduce, torch.ones(1), dist.ReduceOp.AVG)
    refused("requires non-empty tensor list", group.allreduce, [])
    refused("invalid root rank", group.broadcast, torch.ones(1), root=size)
    refused("Split sizes add up to", dist.all_to_all_single, torch.ones(size), torch.ones(size), [2] * size, [2] * size)


def ddp(_):
    """Trains with DDP over weft and over gloo: losses and weights must be equal."""
    def train(group):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(20, 300), torch.nn.ReLU(), torch.nn.Linear(300, 1))
        model = torch.nn.parallel.DistributedDataParallel(net, process_group=group, bucket_cap_mb=0.01)
        optimizer, losses = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), []
        torch.manual_seed(dist.get_rank() + 1)
        for step in range(6):
            inputs = torch.randn(16, 20)
            optimizer.zero_grad()
            if step == 3:
                with model.no_sync():
                    (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
            loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [weight.detach().clone() for weight in model.parameters()]
    ours, theirs = train(dist.group.WORLD), train(dist.new_group(backend="gloo"))
    # Both add the same gradients, but from three ranks on in different orders.
    exact = dist.get_world_size() < 3
    assert ours[0] == theirs[0] if exact else torch.allclose(torch.tensor(ours[0]), torch.tensor(theirs[0]), rtol=1e-5)
    for one, other in zip(ours[1], theirs[1]):
        assert torch.equal(one, other) if exact else torch.allclose(one, other, rtol=1e-4, atol=1e-6)


def mistakes(_):
    size, me = dist.get_world_size(), dist.get_rank()
    child = os.fork()
    if child == 0:
        refused("fork", dist.all_reduce, torch.ones(1), status=weft.Status.ENVIRONMENT)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    dist.barrier()
    if size > 1:
        group = dist.new_group()
        error = refused("", dist.all_reduce, torch.ones(3 if me == 0 else 4), group=group)
        assert "3" in str(error) and "4" in str(error) and error.peer is not None, error
        dist.barrier()
        tensor = torch.ones(1)
        if me == 0:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                work = dist.all_reduce(tensor, async_op=True)
                work.wait()
                raise AssertionError("not interrupted")
            except KeyboardInterrupt:
                dist.send(tensor, 1)
            work.wait()
        else:
            if me == 1:
                dist.recv(torch.empty(1), 0)
            dist.all_reduce(tensor)
        assert tensor[0] == size


def second_default_group(_):
    """Ends all groups and makes the default group again."""
    dist.destroy_process_group()
    dist.init_process_group("weft")
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    assert tensor[0] == dist.get_world_size()


def fails_on_last_rank(_):
    if dist.get_rank() == dist.get_world_size() - 1:
        raise ValueError("planted")
    dist.barrier()


def exits_on_last_rank(_):
    if dist.get_rank() == dist.get_world_size() - 1:
        sys.exit(7)
    dist.barrier()


def large_buffers(_):
    """Uses buffers that peers access in place, frees some, forks, and checks all contents."""
    size, me = dist.get_world_size(), dist.get_rank()
    for count in (1 << 12, 1 << 16, 1 << 20):
        for step in range(4):
            tensor = data(me, count)
            again = torch.empty(count)
            for _ in range(3):
                again.copy_(tensor)
                dist.all_reduce(again)
                assert torch.equal(again, sum(data(rank, count) for rank in range(size)))
            fresh = torch.zeros(count)
            assert not fresh.any()
            if step == 1:
                child = os.fork()
                if child == 0:
                    again.fill_(7)
                    os._exit(0)
                os.waitpid(child, 0)
                assert torch.equal(again, sum(data(rank, count) for rank in range(size)))
            del tensor, again, fresh
            gc.collect()


def memory_is_flat(_):
    tensor = torch.ones(10)

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def rounds(number):
        for _ in range(number):
            dist.all_reduce(tensor.fill_(1))
            dist.broadcast(tensor, 0)
            dist.all_reduce(tensor, async_op=True).get_future().wait()
    rounds(500)
    gc.collect()
    before, number = resident(), 3000
    rounds(number)
    gc.collect()
    assert resident() - before < 100 * number, f"{resident() - before} bytes more"


def main():
    names = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group("weft")
    assert dist.is_initialized() and dist.get_backend() == "weft"
    for name in names:
        globals()[name](None)
        dist.barrier()
    if dist.get_rank() == 0:
        print(f"{len(names)} cases, {dist.get_world_size()} ranks: right")


if __name__ == "__main__":
    main()
