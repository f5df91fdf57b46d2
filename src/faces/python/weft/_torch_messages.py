# SPDX-License-Identifier: BSD-3-Clause
"""_torch_messages.py - sends, receives and the monitored barrier of weft.torch's process groups."""
import datetime
import time

import torch

from ._errors import Error, Status
from ._torch_tensors import FlatTarget, check_dense, plain, refuse
from ._torch_work import COMPLETER, MessageWork

MONITOR_TAG = 1 << 40  # tags of programs are less than 2**32


def bytes_of(flat):
    return flat.view(torch.uint8) if flat.numel() else torch.empty(0, dtype=torch.uint8)


class Messages:
    """The calls between two ranks, as a base of ProcessGroupWeft."""

    def send(self, tensors, peer, tag=0):
        memory = self._bytes("send", tensors, tag)
        self.check_rank("send", "peer", peer)
        work = MessageWork.of_message(self, "send", tensors, None, memory.numpy(), self.ranks[peer], tag)
        return self._begin_message(work, self.job.mailbox.send)

    def recv(self, tensors, peer, tag=0):
        self.check_rank("recv", "peer", peer)
        return self._receive(tensors, frozenset([self.ranks[peer]]), tag)

    def recv_anysource(self, tensors, tag=0):
        return self._receive(tensors, frozenset(self.ranks), tag)

    def _receive(self, tensors, peers, tag):
        self._bytes("recv", tensors, tag)
        target = FlatTarget(tensors)
        work = MessageWork.of_message(self, "recv", tensors, target.finish, bytes_of(target.flat).numpy(), peers, tag)
        return self._begin_message(work, self.job.mailbox.receive)

    def _begin_message(self, work, post):
        self.begin(work)
        post(work)
        if not work.has_ended:
            COMPLETER.add(work)
        return work

    def _bytes(self, call, tensors, tag):
        """Checks the arguments of a send or recv. Returns the tensor's elements as bytes."""
        if len(tensors) != 1:
            refuse(call, f"{len(tensors)} tensors, expected a single-element tensor list")
        if tag < 0:
            refuse(call, f"invalid tag {tag}, expected at least 0")
        check_dense(call, tensors)
        return bytes_of(plain(tensors[0]))

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """Waits until all ranks have entered. On rank 0, the error of a timeout names the missing ranks."""
        seconds = self.seconds if timeout is None else timeout.total_seconds()
        limit = datetime.timedelta(seconds=max(seconds, 0.001))
        word = torch.zeros(1)
        if self.my_rank != 0:
            self.send([word], 0, MONITOR_TAG)
            try:
                self.recv([word], 0, MONITOR_TAG + 1).wait(limit)
            except Error as error:
                raise Error(error.status, f"Rank {self.my_rank} successfully reached monitoredBarrier, but received errors "
                            f"while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank: {error}")
            return
        deadline, late = time.monotonic() + seconds, []
        for rank, work in [(rank, self.recv([word.clone()], rank, MONITOR_TAG)) for rank in range(1, self.members)]:
            left = max(deadline - time.monotonic(), 0.001)
            try:
                work.wait(datetime.timedelta(seconds=left))
            except Error:
                late.append(rank)
                if not wait_all_ranks:
                    break
        if late:
            named = f"Ranks {', '.join(map(str, late))}" if wait_all_ranks else f"Rank {late[0]}"
            raise Error(Status.TIMEOUT, f"{named} failed to pass monitoredBarrier in {round(seconds * 1000)} ms")
        for rank in range(1, self.members):
            self.send([word], rank, MONITOR_TAG + 1).wait()
