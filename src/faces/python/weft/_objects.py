# SPDX-License-Identifier: BSD-3-Clause
"""_objects.py - methods of Team that are written in Python: symmetric arrays, and collectives of pickled objects."""
import pickle
from typing import Any, Optional, Sequence

import numpy

from ._errors import Error, Status
from ._native import Team


def _array(team, shape, dtype, clear):
    dtype = numpy.dtype(dtype)
    if dtype.hasobject:
        raise Error(Status.ARGUMENT, f"dtype {dtype} holds Python objects, which peers cannot read")
    shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    if any(length < 0 for length in shape):
        raise Error(Status.ARGUMENT, f"shape is {shape}, expected lengths of 0 or more")
    count = int(numpy.prod(shape, dtype=numpy.int64))
    memory = team._allocate(max(1, count * dtype.itemsize), clear)
    return numpy.ndarray(shape, dtype, memory)


def zeros(team: Team, shape: Any, dtype: Any = float) -> numpy.ndarray:
    """Returns a symmetric array of zeros, which other ranks can access. All ranks must call it, with equal arguments.

    The array is valid until free_array(), the end of the team, or the end of the runtime.
    """
    return _array(team, shape, dtype, clear=True)


def empty(team: Team, shape: Any, dtype: Any = float) -> numpy.ndarray:
    """Returns a symmetric array that is not cleared; see zeros()."""
    return _array(team, shape, dtype, clear=False)


def peer_array(team: Team, array: numpy.ndarray, peer: int) -> Optional[numpy.ndarray]:
    """Returns a view of the peer's memory for this array; None if the peer is on another node."""
    memory = team._peer_memory(array, peer)
    return None if memory is None else numpy.ndarray(array.shape, array.dtype, memory)


def _pack(value):
    return numpy.frombuffer(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), numpy.uint8)


def _unpack_all(packed, counts):
    return [pickle.loads(part) for part in numpy.split(packed, numpy.cumsum(counts)[:-1])]


def allgather_object(team: Team, value: Any) -> list:
    """Returns a list with each rank's value, in rank order. Values are pickled: trust all ranks."""
    mine = _pack(value)
    counts = team.allgather(numpy.int64(mine.size))
    return _unpack_all(team.allgatherv(mine, counts=counts), counts)


def gather_object(team: Team, value: Any, root: int = 0) -> Optional[list]:
    """Returns a list with each rank's value on the root, None elsewhere. Values are pickled."""
    mine = _pack(value)
    counts = team.gather(numpy.int64(mine.size), root=root)
    packed = team.gatherv(mine, counts=counts, root=root)
    return None if counts is None else _unpack_all(packed, counts)


def broadcast_object(team: Team, value: Any = None, root: int = 0) -> Any:
    """Returns the root's value on all ranks. Values are pickled."""
    packed = _pack(value) if team.rank == root else None
    size = numpy.array(packed.size if packed is not None else 0)
    team.broadcast(size, root)
    if packed is None:
        packed = numpy.empty(int(size), numpy.uint8)
    team.broadcast(packed, root)
    return value if team.rank == root else pickle.loads(packed)


def scatter_object(team: Team, values: Optional[Sequence[Any]] = None, root: int = 0) -> Any:
    """Returns values[rank] of the root's list, which has a value for each rank. Values are pickled."""
    packed, counts = None, None
    if team.rank == root:
        if values is None or len(values) != team.size:
            found = "None" if values is None else f"a list of {len(values)}"
            raise Error(Status.ARGUMENT, f"values is {found}, expected a list of {team.size}, one for each rank")
        parts = [_pack(value) for value in values]
        counts = numpy.array([part.size for part in parts])
        packed = numpy.concatenate(parts)
    size = numpy.array(0)
    team.scatter(counts, size, root)
    mine = numpy.empty(int(size), numpy.uint8)
    team.scatterv(packed, mine, counts, root=root)
    return pickle.loads(mine)


# __init__.py makes these methods of Team.
METHODS = (zeros, empty, peer_array, allgather_object, gather_object, broadcast_object, scatter_object)
