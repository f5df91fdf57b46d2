# SPDX-License-Identifier: BSD-3-Clause
"""_torch_tensors.py - tensors of torch's calls as flat memory, and their checks, for weft.torch."""
import torch
import torch.distributed as dist

from ._errors import Error, Status

SUM, PROD, MIN, MAX, LAND, LOR, BAND, BOR, BXOR = 0, 1, 2, 3, 4, 5, 7, 8, 9  # weft_op of the C interface
OPERATIONS = {"SUM": SUM, "PRODUCT": PROD, "MIN": MIN, "MAX": MAX, "BAND": BAND, "BOR": BOR, "BXOR": BXOR}
BOOL_OPERATIONS = {SUM: LOR, PROD: LAND, MIN: LAND, MAX: LOR}


def refuse(call, text):
    raise Error(Status.ARGUMENT, f"weft.torch.{call}: {text}")


def _hash_identifies_operation():
    """Returns True if the hash of a ReduceOp depends on its operation only."""
    copies = [dist.AllreduceOptions() for _ in range(2)]
    for copy, op in zip(copies, (dist.ReduceOp.MAX, dist.ReduceOp.SUM)):
        copy.reduceOp = op
    return [hash(copy.reduceOp) for copy in copies] == [hash(dist.ReduceOp.MAX), hash(dist.ReduceOp.SUM)]


_known_operations = {} if _hash_identifies_operation() else None


def operation(call, op, dtype):
    """Returns the weft operation of a ReduceOp."""
    if _known_operations is None:
        return _find_operation(call, op, dtype)
    key = hash(op), dtype
    code = _known_operations.get(key)
    if code is None:
        code = _known_operations[key] = _find_operation(call, op, dtype)
    return code


def _find_operation(call, op, dtype):
    kind = getattr(op, "op", op)
    name = getattr(kind, "name", None) or str(kind).rsplit(".", maxsplit=1)[-1]
    code = OPERATIONS.get(name)
    if code is None:
        refuse(call, f"Cannot use ReduceOp.{name}; expected one of {', '.join(OPERATIONS)}")
    if code in (BAND, BOR, BXOR) and (dtype.is_floating_point or dtype.is_complex):
        refuse(call, f"Cannot use ReduceOp.{name} with non-integral dtype {dtype}")
    if dtype == torch.bool:
        code = BOOL_OPERATIONS.get(code, code)
    return code


def check_dense(call, tensors):
    for index, tensor in enumerate(tensors):
        if not tensor.is_cpu:
            refuse(call, f"unsupported device type {tensor.device.type} at index {index}: expected tensors on the CPU")
        if tensor.layout != torch.strided:
            refuse(call, f"unsupported layout {tensor.layout} at index {index}: expected dense tensors")


def check_like(call, tensors, like):
    """Checks that all tensors have the layout, type and sizes of `like`."""
    for index, tensor in enumerate(tensors):
        if tensor.layout != like.layout:
            refuse(call, f"invalid tensor layout at index {index}: expected {like.layout}, got {tensor.layout}")
        if tensor.dtype != like.dtype:
            refuse(call, f"invalid tensor type at index {index}: expected {like.dtype}, got {tensor.dtype}")
        if tensor.shape != like.shape:
            refuse(call, f"invalid tensor size at index {index}: expected {tuple(like.shape)}, got {tuple(tensor.shape)}")


def is_plain(tensor):
    """Returns True if calls can use a tensor's memory as it is."""
    return (type(tensor) is torch.Tensor and tensor.is_cpu and tensor.is_contiguous() and tensor.layout is torch.strided
            and not tensor.requires_grad)


def is_dispatched(tensors):
    """Returns True for a tensor, or (nested) lists of tensors, of a class that handles calls itself, such as CommTensor.

    Then the method of torch's class ProcessGroup passes the call to that class, which calls again with plain tensors.
    """
    while isinstance(tensors, (list, tuple)) and tensors:
        tensors = tensors[0]
    handler = getattr(type(tensors), "__torch_dispatch__", None)
    return handler is not None and handler is not torch.Tensor.__torch_dispatch__


def are_plain(tensors, like):
    """Returns True if calls can use the memory of all tensors, and all have the type and sizes of `like`."""
    shape, dtype = like.shape, like.dtype
    return all(is_plain(tensor) and tensor.shape == shape and tensor.dtype is dtype for tensor in tensors)


def plain(tensor):
    """Returns a contiguous one-dimensional tensor over a tensor's memory, or over a copy of it."""
    return tensor.detach().contiguous().view(-1)


def adjacent(tensors):
    """Returns one tensor over the memory of contiguous tensors that follow each other, else None."""
    first, end = tensors[0], tensors[0].data_ptr()
    for tensor in tensors:
        if not tensor.is_contiguous() or tensor.data_ptr() != end or tensor.dtype != first.dtype:
            return None
        end += tensor.numel() * tensor.element_size()
    count = sum(tensor.numel() for tensor in tensors)
    storage = first.untyped_storage() if hasattr(first, "untyped_storage") else first.storage()
    if storage.nbytes() // first.element_size() - first.storage_offset() < count:
        return None  # separate allocations that happen to be neighbors
    return first.detach().as_strided((count,), (1,))


def joined(tensors):
    """Returns a flat tensor with the data of all tensors; over their memory if that is contiguous."""
    flat = adjacent(tensors)
    return flat if flat is not None else torch.cat([plain(tensor) for tensor in tensors])


class ContiguousTargets:
    """Contiguous tensors for results in several tensors. finish() copies the results to strided tensors."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.contiguous = [tensor if is_plain(tensor) else
                           tensor.detach() if tensor.is_contiguous() else
                           torch.empty(tensor.shape, dtype=tensor.dtype) for tensor in tensors]

    def finish(self):
        for tensor, contiguous in zip(self.tensors, self.contiguous):
            if not tensor.is_contiguous():
                tensor.detach().copy_(contiguous)


class FlatTarget:
    """A flat tensor for the results of a call in several tensors. finish() copies if it is not over their memory."""

    def __init__(self, tensors):
        self.tensors, self.flat = tensors, adjacent(tensors)
        self.copies = self.flat is None
        if self.copies:
            count = sum(tensor.numel() for tensor in tensors)
            self.flat = torch.empty(count, dtype=tensors[0].dtype)

    def finish(self):
        if self.copies:
            parts = self.flat.split([tensor.numel() for tensor in self.tensors])
            for tensor, part in zip(self.tensors, parts):
                tensor.detach().copy_(part.view(tensor.shape))
