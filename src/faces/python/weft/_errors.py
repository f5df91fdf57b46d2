# SPDX-License-Identifier: BSD-3-Clause
"""_errors.py - the exception of all calls."""
import enum
import re
from typing import Optional

this_rank: Optional[int] = None  # in the world; set when the job is joined


class Status(enum.IntEnum):
    """How a call ended."""

    OK = 0
    ARGUMENT = 1     # unusable arguments, or arguments that differ between ranks
    MEMORY = 2       # not enough memory
    ENVIRONMENT = 3  # no provider, no launcher, or a failed system call
    PEER = 4         # another rank died or reported a failure
    TIMEOUT = 5      # the time limit has passed
    UNSUPPORTED = 6  # a feature that this version lacks


class Error(RuntimeError):
    """A failed call.

    status: a Status. message: a sentence with the reason. rank: this process's rank in the world, None outside a job.
    peer: the other rank that the message names, or None.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = Status(status)
        self.message = message
        self.rank = this_rank
        named = (int(number) for number in re.findall(r"\brank (\d+)", message))
        self.peer: Optional[int] = next((number for number in named if number != this_rank), None)
