#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torch_bench.py - one rank of a job that times calls of torch.distributed with a backend. Rank 0 prints JSON.

usage: torch_bench.py weft|gloo COLLECTIVES BYTES SECONDS ddp|-

Idea     Both backends run this program under one launcher. A barrier precedes each call, outside the measured time. A
         rank's time is its median; the result is the maximum over the ranks.
Holds    BYTES are the bytes of a rank's larger buffer, float32. The backend gloo of torch 1.13 has no reduce_scatter;
         its time is that of the allreduce that programs make instead, with a copy of the rank's block.
"""
import json
import statistics
import sys
import time

import torch
import torch.distributed as dist
import weft.torch  # also lets gloo start under weft run


def slow_reduce_scatter(block, vector):
    dist.all_reduce(vector)
    block.copy_(vector[dist.get_rank() * block.numel():][:block.numel()])


def calls_of(backend, size):
    """Returns a function for each collective: it makes a call's buffers, and returns the call and a check."""
    rank = dist.get_rank()

    def allreduce(count):
        vector = torch.zeros(count)
        return lambda: dist.all_reduce(vector), lambda: dist.all_reduce(vector.fill_(1)) or bool((vector == size).all())

    def broadcast(count):
        vector = torch.zeros(count)
        return (lambda: dist.broadcast(vector, 0),
                lambda: dist.broadcast(vector.fill_(1 if rank == 0 else 0), 0) or bool((vector == 1).all()))

    def allgather(count):
        block, out = torch.full((count // size,), float(rank)), [torch.zeros(count // size) for _ in range(size)]
        call = lambda: dist.all_gather(out, block)
        return call, lambda: call() or all(bool((part == other).all()) for other, part in enumerate(out))

    def reduce_scatter(count):
        vector, block = torch.zeros(count), torch.zeros(count // size)
        function = dist.reduce_scatter_tensor if backend == "weft" else slow_reduce_scatter
        return (lambda: function(block, vector),
                lambda: function(block, vector.fill_(1)) or bool((block == size).all()))

    def alltoall(count):
        send, recv = torch.full((count // size * size,), float(rank)), torch.zeros(count // size * size)
        call = lambda: dist.all_to_all_single(recv, send)
        return call, lambda: call() or all(bool((part == other).all()) for other, part in enumerate(recv.chunk(size)))

    return {function.__name__: function for function in (allreduce, broadcast, allgather, reduce_scatter, alltoall)}


def slowest(value):
    """Returns the maximum over the ranks."""
    number = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(number, dist.ReduceOp.MAX)
    return number.item()


def timed(call):
    dist.barrier()
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(call, seconds):
    """Returns the median time of a call in microseconds, of at least five calls."""
    first = slowest(statistics.median(timed(call) for _ in range(3)))
    return slowest(statistics.median(timed(call) for _ in range(max(5, min(2000, int(seconds / first)))))) * 1e6


def ddp_step(seconds):
    """Returns the time of a training step in microseconds: 2.6 million parameters, 10 MB of gradients."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(256, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 1024))
    model, inputs = torch.nn.parallel.DistributedDataParallel(net), torch.randn(8, 256)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step():
        optimizer.zero_grad()
        model(inputs).pow(2).mean().backward()
        optimizer.step()
    return measure(step, seconds)


def main():
    backend, collectives, sizes, seconds, ddp = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    size, cells = dist.get_world_size(), []
    for name in collectives.split(","):
        for count in map(int, sizes.split(",")):
            call, check = calls_of(backend, size)[name](count // 4)
            us = measure(call, float(seconds))
            cells.append({"collective": name, "bytes": count, "us": us, "checked": slowest(0.0 if check() else 1.0) == 0})
    step = ddp_step(10 * float(seconds)) if ddp == "ddp" else None
    if dist.get_rank() == 0:
        print(json.dumps({"torch": torch.__version__, "cells": cells, "ddp_us": step}))


if __name__ == "__main__":
    main()
