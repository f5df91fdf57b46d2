# SPDX-License-Identifier: BSD-3-Clause
"""_torch_work.py - Work objects of weft.torch, and the thread that completes their futures.

Idea     A wait drives the call on the waiting thread. A future must complete without a wait, so get_future() gives its
         Work to a thread, which also advances messages between two ranks.
Holds    One thread at a time drives a Work. finish(), which copies results, runs once.
"""
import collections
import datetime
import sys
import threading
import time

import torch
import torch.distributed as dist

from ._errors import Error, Status

FUTURES_LOCK = threading.RLock()
BaseWork = getattr(dist, "Work", None) or torch._C._distributed_c10d.Work
UNSET = datetime.timedelta(0)  # torch passes this timeout for the call's own limit
SLICE_S = 1.0    # between checks for peers that have left the job
TICK_S = 0.002   # between rounds of the thread over its calls


def unwrap(future):
    """Returns the value of a future of (error, value), or raises its error.

    Python code cannot set an error of a future that C++ code sees; an error of then() fails the dependent future.
    """
    error, value = future.value()
    if error is not None:
        raise error
    return value


class Work(BaseWork):
    """A collective call of a group. Keeps its tensors until it is complete."""

    # A call that is complete at once sets only `tensors`. *_since: when the thread got the call, or a peer was gone.
    group = request = tensors = finish = opts = name = drive_lock = error = promise = future = None
    watched_since = gone_since = None
    done, source = True, -1

    @classmethod
    def in_flight(cls, group, request, result, finish, name, opts=None):
        """Makes the Work of a call. opts: torch's options, which may have a timeout."""
        work = cls()
        work.group, work.request, work.tensors, work.finish = group, request, result, finish
        work.name, work.opts = name, opts
        work.drive_lock, work.done = threading.Lock(), False
        return work

    def seconds(self, group):
        """Returns the call's time limit."""
        timeout = getattr(self.opts, "timeout", None)
        seconds = timeout.total_seconds() if timeout is not None else 0
        return seconds if seconds > 0 else group.seconds

    def step(self, seconds):
        """Drives the call for at most this time; 0: once. Returns True if it is complete."""
        if seconds == 0:
            return self.request.test()
        try:
            self.request.wait(seconds)
            return True
        except Error as error:
            if error.status == Status.TIMEOUT:
                return False
            raise

    def drive(self, seconds):
        """Does a step(), and completes the Work if that ends the call. Another thread may do so instead."""
        if not self.drive_lock.acquire(seconds > 0, seconds if seconds > 0 else -1):
            return
        try:
            if self.done:
                return
            try:
                if self.step(seconds):
                    if self.finish is not None:
                        self.finish()
                    self.complete(None)
            except Error as error:
                self.complete(error)
        finally:
            self.drive_lock.release()

    def complete(self, error):
        self.error, self.request, self.finish = error, None, None
        self.done = True
        if self.promise is not None:
            self.promise.set_result((self.error, self.tensors))
        self.group = None  # ends the cycle with group.recent, so the group's last other reference ends its team

    def fail(self, error):
        """Completes the call with an error, unless another thread completes it. Must not be called by drive()."""
        with self.drive_lock:
            if not self.done:
                self.complete(error)

    def peers(self, group):
        """Returns the ranks of the world that this call needs."""
        return group.ranks

    def wait(self, timeout=UNSET):
        """Waits until the call is complete. timeout: 0 for the call's own limit. Raises weft.Error if it failed."""
        group = self.group  # None if another thread has completed the call
        if group is not None and not self.done:
            has_limit = timeout is not None and timeout > UNSET
            limit = timeout.total_seconds() if has_limit else self.seconds(group)
            self.wait_until(group, time.monotonic() + limit, limit)
        if self.error is not None:
            raise self.error
        return True

    def wait_until(self, group, deadline, limit):
        while not self.done:
            left = deadline - time.monotonic()
            self.drive(max(0, min(left, SLICE_S)))
            if self.done:
                return
            if left <= 0:
                raise self.timed_out(limit)
            self.check_peers(group)

    def timed_out(self, seconds):
        return Error(Status.TIMEOUT, f"Timed out waiting {round(seconds * 1000)}ms for {self.name} operation to complete")

    def check_peers(self, group):
        """Fails the call if a peer left the job more than GRACE_S ago."""
        gone = group.job.gone(self.peers(group))
        if gone is None:
            return
        self.gone_since = self.gone_since or time.monotonic()
        if time.monotonic() - self.gone_since > group.job.GRACE_S:
            self.fail(Error(Status.PEER, f"rank {gone} has left the job, and {self.name} waits for it"))

    def is_completed(self):
        """Returns True if the call has ended. Does not wait."""
        if not self.done:
            self.drive(0)
        return self.done

    def is_success(self):
        return self.is_completed() and self.error is None

    def exception(self):
        """Returns the error of a call that failed, else None."""
        return self.error if self.is_completed() else None

    def result(self):
        return self.tensors

    def synchronize(self):
        self.wait()

    def source_rank(self):
        return self.source

    _source_rank = source_rank

    def get_future(self):
        """Returns a future with the tensors of the call."""
        with FUTURES_LOCK:
            if self.future is None and self.done and self.error is None:
                self.future = torch.futures.Future()
                self.future.set_result(self.tensors)
            elif self.future is None:
                promise = torch.futures.Future()
                self.future = promise.then(unwrap)
                self.promise = promise
                if self.done:
                    promise.set_result((self.error, self.tensors))
                else:
                    COMPLETER.add(self)
        return self.future


class MessageWork(Work):
    """A send or a receive. peer: a rank of the world; for receives a set of them."""

    @classmethod
    def of_message(cls, group, name, tensors, finish, memory, peer, tag):
        work = cls.in_flight(group, None, tensors, finish, name)
        work.channel, work.peer, work.tag = group.number, peer, tag
        work.memory, work.is_send = memory, name == "send"
        work.mailbox, work.has_ended, work.failure = group.job.mailbox, False, None
        return work

    def step(self, seconds):
        if not self.has_ended:
            if seconds == 0:
                self.mailbox.advance()
            else:
                end = time.monotonic() + seconds
                while not self.has_ended and time.monotonic() < end:
                    self.mailbox.wait(self.peer, self.is_send, seconds)
        if self.failure is not None:
            raise self.failure
        return self.has_ended

    def ended(self, source, error):
        """Records the end of the message. The mailbox calls this."""
        self.source, self.failure = self.group.ranks.index(source), error
        self.has_ended = True

    def complete(self, error):
        self.mailbox.cancel(self)
        self.memory = None
        super().complete(error)

    def peers(self, group):
        return (self.peer,) if self.is_send else self.peer


class Completer:
    """A thread that completes calls with futures, and advances messages, while the program computes."""

    def __init__(self):
        self.thread, self.stopping = None, False
        self.added, self.calls, self.wake = collections.deque(), [], threading.Event()

    def add(self, work):
        """Gives a Work to the thread, which completes it without a wait of the program."""
        self.added.append(work)
        if self.thread is None or not self.thread.is_alive():
            self.stopping, self.calls = False, []
            self.thread = threading.Thread(target=self.run, name="weft futures", daemon=True)
            self.thread.start()
        self.wake.set()

    def stop(self):
        """Ends the thread; calls with futures remain incomplete."""
        self.stopping = True
        self.wake.set()
        if self.thread is not None and self.thread.is_alive():
            self.thread.join()

    def run(self):
        while not self.stopping:
            while self.added:
                self.calls.append(self.added.popleft())
            self.calls = [work for work in self.calls if not work.done]
            if not self.calls:
                self.wake.wait()
                self.wake.clear()
                continue
            try:
                self.round()
            except Exception as error:  # such as an error of a function that depends on a future
                print(f"weft: a future's function failed: {error!r}", file=sys.stderr)

    def round(self):
        """Drives all calls, the first one for TICK_S, so that its end is noticed at once."""
        for work in self.calls[1:]:
            work.drive(0)
        first = self.calls[0]
        if isinstance(first, MessageWork) and first.future is None:
            time.sleep(TICK_S)  # most programs soon wait for a message, and would compete with this thread
            first.drive(0)
        else:
            first.drive(TICK_S)
            self.check_limits(first)

    @staticmethod
    def check_limits(work):
        """Fails a call whose peer has left the job, or whose time has passed."""
        group = work.group
        if group is None or work.done:
            return
        work.check_peers(group)
        work.watched_since = work.watched_since or time.monotonic()
        if not work.done and time.monotonic() - work.watched_since > work.seconds(group):
            work.fail(work.timed_out(work.seconds(group)))


COMPLETER = Completer()
