# SPDX-License-Identifier: BSD-3-Clause
"""support.py - dtypes, operations and checks of the cases."""
import numpy
import weft

DTYPES = [numpy.dtype(name) for name in (
    "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "longdouble", "c8", "c16", "?")]
PAIRS = [numpy.dtype([("value", value), ("index", index)], align=True) for value, index in (
    ("f4", "i4"), ("f8", "i4"), ("i2", "i4"), ("i4", "i4"), ("i8", "i4"), ("longdouble", "i4"), ("f8", "i8"), ("i8", "i8"))]
ARITHMETIC = {"SUM": numpy.add, "PROD": numpy.multiply}
ORDERED = {"MIN": numpy.minimum, "MAX": numpy.maximum}
LOGICAL = {"LAND": numpy.logical_and, "LOR": numpy.logical_or, "LXOR": numpy.logical_xor}
BITWISE = {"BAND": numpy.bitwise_and, "BOR": numpy.bitwise_or, "BXOR": numpy.bitwise_xor}


def operations(dtype):
    """Returns the operations of a dtype, each with its numpy function."""
    return {"i": {**ARITHMETIC, **ORDERED, **LOGICAL, **BITWISE}, "u": {**ARITHMETIC, **ORDERED, **LOGICAL, **BITWISE},
            "f": {**ARITHMETIC, **ORDERED, **LOGICAL}, "c": ARITHMETIC, "b": {**LOGICAL, **BITWISE}}[dtype.kind]


def data(rank, shape, dtype=numpy.dtype("f8")):
    """Returns the contribution of a rank: integers from 0 to 2."""
    count = int(numpy.prod(shape))
    return ((numpy.arange(count) * 7 + rank * 5) % 3).astype(dtype).reshape(shape)


def same(got, expected):
    numpy.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape, (got, expected)


def refused(part, call, *arguments, status=weft.Status.ARGUMENT, **more):
    """Checks that a call raises weft.Error with this part of a message. Returns the error."""
    try:
        call(*arguments, **more)
    except weft.Error as error:
        assert part in str(error), f"{error!s}: expected {part}"
        assert error.status == status, error.status
        return error
    raise AssertionError(f"not refused: {part}")


class Forms:
    """Makes a call in each of the three forms, and checks each result."""

    def __init__(self, blocking, team):
        self.forms = blocking, team.start, team.prepare

    def check(self, name, expected, *arguments, **more):
        """expected: an array, or None. Arguments that are functions make fresh buffers."""
        blocking, _, prepare = self.forms
        for form in self.forms:
            fresh = [value() if callable(value) and not isinstance(value, weft.Op) else value for value in arguments]
            got = getattr(form, name)(*fresh, **more)
            for _ in range(2 if form is prepare else 1):
                if form is prepare:
                    got.start()
                result = got if form is blocking else got.wait()
                if expected is None:
                    assert result is None, result
                else:
                    same(result, expected)
