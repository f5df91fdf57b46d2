# SPDX-License-Identifier: BSD-3-Clause
"""calls.py - cases that compare all calls with numpy.

Idea     Each rank computes the data of all ranks, and the expected result with numpy. Values are small integers, so
         sums and products of floats are exact.
"""
import functools

import numpy
import weft
from support import DTYPES, PAIRS, Forms, data, operations, refused, same


def reductions(world):
    ranks, me, check = range(world.size), world.rank, Forms(world, world).check
    for dtype in DTYPES:
        everyone = [data(rank, (world.size, 3), dtype) for rank in ranks]
        for name, function in operations(dtype).items():
            op = getattr(weft, name)
            results = [result.astype(dtype) for result in
                       functools.reduce(lambda done, one: [*done, function(done[-1], one).astype(dtype)],
                                        everyone[1:], everyone[:1])]
            check("allreduce", results[-1], everyone[me], op=op)
            check("scan", results[me], everyone[me], op=op)
            check("exscan", results[me - 1] if me else numpy.zeros_like(results[0]), everyone[me], op=op)
            root = world.size - 1
            check("reduce", results[-1] if me == root else None, everyone[me], op=op, root=root)
            check("reduce_scatter", results[-1][me], everyone[me], op=op)
            same(world.allreduce(everyone[me], numpy.empty_like(everyone[me]), op), results[-1])
            own = everyone[me].copy()
            assert world.allreduce(own, own, op) is own
            same(own, results[-1])
            counts = [3 * rank for rank in ranks]
            mine = slice(sum(counts[:me]), sum(counts[:me + 1]))
            flat = [data(rank, sum(counts), dtype) for rank in ranks]
            total = functools.reduce(lambda a, b: function(a, b).astype(dtype), flat)
            check("reduce_scatterv", total[mine], flat[me], counts=counts, op=op)
    for dtype in PAIRS:
        everyone = []
        for rank in ranks:
            pair = numpy.zeros(4, dtype)
            pair["value"], pair["index"] = data(rank, 4), rank
            everyone.append(pair)
        values = numpy.array([pair["value"] for pair in everyone])
        for op, find in ((weft.MINLOC, numpy.argmin), (weft.MAXLOC, numpy.argmax)):
            where = find(values, axis=0)  # the first of equal values
            got = world.allreduce(everyone[me], op=op)
            numpy.testing.assert_array_equal(got["index"], where)
            numpy.testing.assert_array_equal(got["value"], values[where, range(4)])
    assert float(world.allreduce(1.5)) == 1.5 * world.size
    # The values of the first and the last of three ranks cancel. A plain sum in rank order loses the ones between them.
    triples = world.size // 3
    value = [1e300, 1.0, -1e300][me % 3] if me < 3 * triples else 1.0
    for dtype in ("f8", "c16"):
        exact = world.allreduce(numpy.array([value, 1], dtype), op=weft.EXACT_SUM)
        same(exact, numpy.array([world.size - 2 * triples, world.size], dtype))


def data_movement(world):
    ranks, me, size, check = range(world.size), world.rank, world.size, Forms(world, world).check
    for dtype in DTYPES + PAIRS[:2]:
        def of(rank, shape, dtype=dtype):
            pattern = data(rank, shape)
            if dtype.names is None:
                return pattern.astype(dtype)
            made = numpy.zeros(shape, dtype)
            made["value"], made["index"] = pattern, rank
            return made
        everyone = [of(rank, (2, 3)) for rank in ranks]
        blocks = [of(rank, (size, 2)) for rank in ranks]
        for root in {0, size - 1}:
            at_root = me == root
            check("broadcast", everyone[root], everyone[me].copy, root=root)
            check("gather", numpy.stack(everyone) if at_root else None, everyone[me], root=root)
            check("scatter", blocks[root][me], blocks[me] if at_root else None, lambda: numpy.empty(2, dtype), root=root)
            counts = [rank + 1 for rank in ranks]
            starts = [sum(counts[:rank]) for rank in ranks]
            parts = [of(rank, counts[rank]) for rank in ranks]
            check("gatherv", numpy.concatenate(parts) if at_root else None, parts[me], counts=counts, root=root)
            whole = of(root, sum(counts))
            check("scatterv", whole[starts[me]:starts[me] + counts[me]], whole if at_root else None,
                  lambda: numpy.empty(counts[me], dtype), counts if at_root else None, root=root)
            check("allgatherv", numpy.concatenate(parts), parts[me], counts=counts)
        check("allgather", numpy.stack(everyone), everyone[me])
        check("alltoall", numpy.stack([blocks[rank][me] for rank in ranks]), blocks[me])
        # Rank a sends a + b elements to rank b, so counts are symmetric.
        counts = [me + rank for rank in ranks]
        sent = [of(rank, sum(rank + other for other in ranks)) for rank in ranks]
        expected = [sent[rank][sum(rank + other for other in range(me)):][:rank + me] for rank in ranks]
        check("alltoallv", numpy.concatenate(expected), sent[me], send_counts=counts, recv_counts=counts)
    spread = numpy.zeros(3 * size)
    world.allgatherv(numpy.array([me + 1.0]), spread, [1] * size, [3 * rank + 1 for rank in ranks])
    same(spread, numpy.array([[0.0, rank + 1, 0] for rank in ranks]).ravel())
    whole = numpy.zeros((size, 2))
    whole[me] = me
    same(world.allgather(weft.IN_PLACE, whole), numpy.array([[rank, rank] for rank in ranks], float))
    Forms(world, world).check("barrier", None)


def teams(world):
    half = world.split(world.rank % 2, -world.rank)
    members = [rank for rank in reversed(range(world.size)) if rank % 2 == world.rank % 2]
    assert (half.rank, half.size) == (members.index(world.rank), len(members))
    same(half.allgather(numpy.array(world.rank)), numpy.array(members))
    half.free()
    refused("", half.allreduce, numpy.ones(1))
    assert world.split(-1) is None
    for _ in range(100):  # more than the 32 teams that can exist, so dropped teams must be ended
        world.split_node().barrier()


def neighbors(world):
    me, size = world.rank, world.size
    before, after = (me - 1) % size, (me + 1) % size
    ring = world.neighbors([before], [after])
    assert (ring.sources, ring.destinations) == (1, 1)
    check = Forms(ring.call, ring).check
    check("alltoall", data(before, 3), data(me, 3))
    check("allgather", data(before, 3).reshape(1, 3), data(me, 3))
    check("alltoallv", data(before, 1 + before), data(me, 1 + me), send_counts=[1 + me], recv_counts=[1 + before])
    check("allgatherv", data(before, 1 + before), data(me, 1 + me), counts=[1 + before])
    line = world.grid_neighbors([size], [False])
    around = [rank for rank in (me - 1, me + 1) if 0 <= rank < size]
    same(line.call.allgather(data(me, 2)), numpy.array([data(rank, 2) for rank in around]).reshape(-1, 2))
    stencil = world.stencil([size], [True])
    assert stencil.neighbors == [before, after]
    same(stencil.allgather(data(me, 2)), numpy.stack([data(before, 2), data(after, 2)]))
    sent = numpy.stack([numpy.full(2, 10.0 * me), numpy.full(2, 10.0 * me + 1)])
    same(stencil.alltoall(sent), numpy.stack([numpy.full(2, 10.0 * before + 1), numpy.full(2, 10.0 * after)]))
    refused("periodic: 2 values, expected 1", world.stencil, [size], [True, False])


def objects(world):
    values = [{"rank": rank, "text": "x" * rank * 100} for rank in range(world.size)]
    mine, root = values[world.rank], world.size - 1
    assert world.allgather_object(mine) == values
    assert world.gather_object(mine, root) == (values if world.rank == root else None)
    assert world.broadcast_object(mine if world.rank == root else None, root) == values[root]
    assert world.scatter_object(values if world.rank == root else None, root) == mine
    if world.rank == 0:
        refused("expected a list of", world.scatter_object, [])


def memory(world):
    me, size = world.rank, world.size
    after = (me + 1) % size
    for dtype in DTYPES + PAIRS:
        table = world.zeros((size, 2), dtype)
        assert table.shape == (size, 2) and table.dtype == dtype and not table.tobytes().strip(b"\0")
        world.barrier()
        row = numpy.ones(2, dtype)
        world.put(table[me], row, after)
        world.quiet()
        world.barrier()
        same(table[(me - 1) % size], row)
        same(world.get(table[me], after), row)
        world.free_array(table)
    cells, signal_word = world.zeros(4), world.zeros(1, "u8")
    world.put_signal(cells, numpy.full(4, float(me)), signal_word, 7, after)
    assert world.wait_until(signal_word, weft.EQ, 7) == 7
    same(cells, numpy.full(4, float((me - 1) % size)))
    assert world.test_until(signal_word, weft.GE, 7) and not world.test_until(signal_word, weft.LT, 7)
    refused("", world.wait_until, signal_word, weft.EQ, 8, timeout=0.01, status=weft.Status.TIMEOUT)
    for name in ("i4", "u4", "i8", "u8"):
        word = world.zeros(1, name)
        tickets = world.allgather(numpy.array(world.fetch_add(word, 1, 0)))
        assert sorted(tickets) == list(range(size)), tickets
        world.add(word, 10, 0)
        world.quiet()
        world.barrier()
        assert world.fetch(word, 0) == 11 * size
        world.barrier()
        won = world.compare_swap(word, 11 * size, me, 0) == 11 * size
        assert int(world.allreduce(int(won))) == 1
        world.barrier()
        if me == 0:
            assert world.swap(word, 12, 0) < size
            assert (world.fetch_and(word, 6, 0), world.fetch_or(word, 3, 0), world.fetch_xor(word, 1, 0)) == (12, 4, 7)
            assert world.fetch(word, 0) == 6
    fraction = world.zeros(1)
    assert world.swap(fraction, 0.5, after) == 0.0 and world.fetch(fraction, after) == 0.5
    lock, counter = world.zeros(1, "u8"), world.zeros(1, "i8")
    world.barrier()
    for _ in range(20):
        world.lock(lock)
        world.put(counter, world.get(counter, 0) + 1, 0)
        world.unlock(lock)
    world.barrier()
    assert world.get(counter, 0)[0] == 20 * size
    if world.split_node().size == size:
        assert world.peer_array(counter, 0)[0] == 20 * size
    refused("signal is of type int64, expected uint64", world.put_signal, cells, cells, counter, 1, 0)
    refused("expected 4 of type float64", world.put, cells, numpy.zeros(3), 0)
    refused("word has 4 elements, expected 1", world.fetch, cells, 0)
    refused("", world.put, numpy.zeros(4), cells, 0)
    refused("which peers cannot read", world.zeros, 1, object)
    assert world.empty(0).shape == (0,)
