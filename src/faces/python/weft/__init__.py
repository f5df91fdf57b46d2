# SPDX-License-Identifier: BSD-3-Clause
"""weft - collectives and one-sided communication for numpy arrays and CPU tensors.

    import numpy, weft

    with weft.Runtime() as job:          # weft run -n 4 -- python3 program.py
        total = job.world.allreduce(numpy.ones(3))

Buffers are objects with the buffer protocol (numpy arrays, bytearray, memoryview), CPU tensors of torch, and objects
with __array_interface__ or __dlpack__. Calls do not copy them. They must be C-contiguous. Failed calls raise weft.Error.
All calls of a team are collective, except one-sided calls: all ranks make them in the same order with equal arguments.
"""
import enum

from . import _objects
from ._buffers import IN_PLACE
from ._errors import Error, Status
from ._native import (EQ, GE, GT, LE, LT, NE, Calls, Compare, NeighborCalls, Neighbors, Op, Request, Runtime, Stencil,
                      Team, version as __version__)


class BuiltinOp(enum.IntEnum):
    """Operations of reductions; weft.Op makes others."""

    SUM = 0
    PROD = 1
    MIN = 2
    MAX = 3
    LAND = 4
    LOR = 5
    LXOR = 6
    BAND = 7
    BOR = 8
    BXOR = 9
    MINLOC = 10
    MAXLOC = 11
    EXACT_SUM = 12


SUM, PROD, MIN, MAX, LAND, LOR, LXOR, BAND, BOR, BXOR, MINLOC, MAXLOC, EXACT_SUM = BuiltinOp

for _method in _objects.METHODS:
    setattr(Team, _method.__name__, _method)


def _enter(runtime):
    return runtime


def _exit(runtime, kind, error, _):
    # After an exception, other ranks may wait for calls that this rank no longer makes, and finalize() would wait for
    # those ranks. Instead, the process ends with the exception, and its launcher ends the job.
    if kind is None or (kind is SystemExit and error.code in (None, 0)):
        runtime.finalize()


def _await(request):
    while not request.test():
        yield
    return request.result


Runtime.__enter__, Runtime.__exit__, Request.__await__ = _enter, _exit, _await

__all__ = [
    "BuiltinOp", "Calls", "Compare", "EQ", "Error", "GE", "GT", "IN_PLACE", "LE", "LT", "NE", "NeighborCalls",
    "Neighbors", "Op", "Request", "Runtime", "Status", "Stencil", "Team", "SUM", "PROD", "MIN", "MAX", "LAND", "LOR",
    "LXOR", "BAND", "BOR", "BXOR", "MINLOC", "MAXLOC", "EXACT_SUM"]
