# SPDX-License-Identifier: BSD-3-Clause
"""_buffers.py - arrays and tensors as buffers, for the extension module."""
import numbers
import sys

import numpy

from ._errors import Error, Status

BFLOAT16 = 15  # weft_type of the C interface


class _InPlace:
    """The type of weft.IN_PLACE."""

    def __repr__(self):
        return "weft.IN_PLACE"


IN_PLACE = _InPlace()


def _is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def adapt(value, name, writable):
    """Returns an array over the memory of an object without the buffer protocol, and the weft_type if numpy lacks it."""
    if _is_tensor(value):
        torch = sys.modules["torch"]
        if value.requires_grad and writable:
            raise Error(Status.ARGUMENT, f"{name} is a tensor that requires grad; pass {name}.detach()")
        if value.device.type != "cpu":
            raise Error(Status.ARGUMENT, f"{name} is a tensor on {value.device}, expected one on the CPU")
        value = value.detach()
        if value.dtype == torch.bfloat16:
            return value.view(torch.int16).numpy(), BFLOAT16
        return value.numpy(), None
    if hasattr(value, "__array_interface__"):
        return numpy.asarray(value), None
    if hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value), None
    if isinstance(value, numbers.Number) and not writable:
        return numpy.asarray(value), None
    kind = type(value).__name__
    raise Error(Status.ARGUMENT, f"{name} is of type {kind}, expected a buffer such as a numpy array"
                + ("; pass an operation as op=..." if kind in ("BuiltinOp", "Op") else ""))


def require_accessible(value, name, writable):
    """Raises weft.Error if a buffer is not contiguous, or is read-only although the call writes it."""
    view = memoryview(value)
    if not view.c_contiguous:
        raise Error(Status.ARGUMENT, f"{name} is not contiguous; pass numpy.ascontiguousarray({name})"
                    + (" and copy the result back" if writable else ""))
    if writable and view.readonly:
        raise Error(Status.ARGUMENT, f"{name} is read-only, expected a buffer that the call can write; for one element "
                    "of an array, pass a slice such as array[0:1]")


def _as_array(value):
    try:
        return numpy.asarray(memoryview(value))
    except TypeError:
        return adapt(value, "send", writable=False)[0]


def dtype_of(value):
    """Returns the dtype of a buffer's elements."""
    return _as_array(value).dtype


def result_like(send, shape, count):
    """Makes the result of a call; see result_like() in buffers.hpp."""
    like = send if _is_tensor(send) else _as_array(send)
    extents = tuple(like.shape)
    if shape == "stacked":
        extents = (count, *extents)
    elif shape == "flat":
        extents = (count,)
    elif shape == "block":
        if not extents or extents[0] != count:
            raise Error(Status.ARGUMENT, f"send has shape {extents}, expected ({count}, ...): a block for each rank")
        extents = extents[1:]
    return like.new_empty(extents) if _is_tensor(send) else numpy.empty(extents, like.dtype)


def combine(function, lower, upper, dtype):
    """Stores function(lower, upper) in the memory of upper."""
    target = numpy.frombuffer(upper, dtype)
    result = function(numpy.frombuffer(lower, dtype), target)
    if result is not target:
        numpy.copyto(target, result, casting="same_kind")
