# SPDX-License-Identifier: BSD-3-Clause
"""_mailbox.py - messages with tags between two ranks, for weft.torch.

Idea     Each ordered pair of ranks has a ring of slots in symmetric memory. The sender puts fragments of messages into
         slots, with a signal; the receiver copies them and returns the slots. A message without a matching receive is
         kept in private memory, so sends of any size complete while the receiver makes other calls.
Holds    Messages between two ranks arrive in the order of sending. advance() runs on one thread at a time.
"""
import collections
import threading
import time

import numpy

from ._errors import Error, Status
from ._native import GE, NE

HEADER = numpy.dtype([("channel", "i8"), ("tag", "i8"), ("total", "i8"), ("bytes", "i8")])
SLOTS = 8  # in a ring
# Limits of a ring, and of all rings of a rank unless RING_BYTES_MIN requires more.
RING_BYTES_MIN, RING_BYTES_MAX, RINGS_BYTES = 8 << 10, 512 << 10, 16 << 20
POLLING_S = 0.0001  # a wait first polls and then sleeps for this time


class IncomingMessage:
    """A message that has arrived in part or without a receive."""

    def __init__(self, channel, source, tag, total):
        self.channel, self.source, self.tag, self.total, self.received = channel, source, tag, total, 0
        self.memory, self.receive = None, None

    def drop(self):
        """Makes the message discard its remaining data, because its receive has failed."""
        self.receive, self.memory = None, numpy.empty(self.total, "u1")

    def append(self, part):
        """Copies the next fragment."""
        if self.memory is None:
            fits = self.receive is not None and self.receive.memory.size == self.total
            self.memory = self.receive.memory if fits else numpy.empty(self.total, "u1")
        self.memory[self.received:self.received + part.size] = part
        self.received += part.size
        self.end_if_complete()

    def end_if_complete(self):
        """Ends the receive if the message has one and has arrived completely."""
        if self.receive is None or self.received < self.total:
            return
        target, expected = self.receive.memory, self.receive.memory.size
        if expected != self.total:
            self.receive.ended(self.source, Error(Status.ARGUMENT, f"recv: the message of rank {self.source} with tag "
                               f"{self.tag} has {self.total} bytes, expected {expected}"))
            return
        if self.memory is not None and self.memory is not target:
            target[:] = self.memory
        self.receive.ended(self.source, None)


class Mailbox:
    """Messages of this rank. A send or receive is an object with channel (number of a group), peer (a rank of the world;
    for receives a set of ranks), tag, memory (an array of bytes), and a method ended(source, error)."""

    def __init__(self, world):
        self.world = world
        self.slot_bytes = min(RING_BYTES_MAX, max(RING_BYTES_MIN, RINGS_BYTES // world.size)) // SLOTS
        self.rings = world.empty((world.size, SLOTS, self.slot_bytes), "u1")  # one for each source
        # Numbers of fragments. By source: put into this rank's ring (the source writes this), and taken from it.
        self.arrived, self.consumed = world.zeros(world.size, "u8"), numpy.zeros(world.size, "u8")
        # By peer: put into its ring by this rank, and taken from it (the peer writes this).
        self.sent, self.freed = [0] * world.size, world.zeros(world.size, "u8")
        self.sending = {}  # peer: deque of [send, bytes sent]
        self.partial = {}  # source: message that has arrived in part
        self.unexpected, self.receives = [], []  # messages without a receive; receives without a message
        self.staging = numpy.empty(self.slot_bytes, "u1")
        self.lock = threading.RLock()

    def send(self, send):
        with self.lock:
            self.sending.setdefault(send.peer, collections.deque()).append([send, 0])
            self.advance()

    def receive(self, receive):
        with self.lock:
            for message in self.unexpected:
                if self.matches(message, receive):
                    self.unexpected.remove(message)
                    message.receive = receive
                    message.end_if_complete()
                    return
            self.receives.append(receive)
            self.advance()

    def cancel(self, receive):
        """Forgets a receive that has ended. Its message may have arrived in part."""
        with self.lock:
            if receive in self.receives:
                self.receives.remove(receive)
            for message in self.partial.values():
                if message.receive is receive:
                    message.drop()

    @staticmethod
    def matches(message, receive):
        return (message.channel == receive.channel and message.tag == receive.tag and message.source in receive.peer)

    def advance(self):
        """Sends and receives fragments until none can move. Returns True if any has moved."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            moved = [self.send_fragments(peer) for peer in list(self.sending)]
            changed = numpy.nonzero(self.arrived != self.consumed)[0]
            return any(moved + [self.take_fragments(int(source)) for source in changed])
        finally:
            self.lock.release()

    def send_fragments(self, peer):
        queue, me, moved = self.sending[peer], self.world.rank, False
        room = self.slot_bytes - HEADER.itemsize
        while queue and self.sent[peer] - int(self.freed[peer]) < SLOTS:
            send, begin = queue[0]
            part = send.memory[begin:begin + room]
            header = numpy.array((send.channel, send.tag, send.memory.size, part.size), HEADER)
            self.staging[:HEADER.itemsize] = header.reshape(1).view("u1")
            end = HEADER.itemsize + part.size
            self.staging[HEADER.itemsize:end] = part
            slot = self.rings[me, self.sent[peer] % SLOTS, :end]
            self.sent[peer] += 1
            self.world.put_signal(slot, self.staging[:end], self.arrived[me:me + 1], self.sent[peer], peer)
            queue[0][1], moved = begin + part.size, True
            if queue[0][1] == send.memory.size:
                queue.popleft()
                send.ended(peer, None)
        if not queue:
            del self.sending[peer]
        return moved

    def take_fragments(self, source):
        freed = first = int(self.consumed[source])
        word = self.arrived[source:source + 1]
        while self.world.test_until(word, GE, int(self.consumed[source]) + 1):
            slot = self.rings[source, int(self.consumed[source]) % SLOTS]
            channel, tag, total, count = (int(value) for value in slot[:HEADER.itemsize].view("i8"))
            message = self.partial.pop(source, None) or self.begin(IncomingMessage(channel, source, tag, total))
            message.append(slot[HEADER.itemsize:HEADER.itemsize + count])
            if message.received < total:
                self.partial[source] = message
            self.consumed[source] += 1
            if int(self.consumed[source]) - freed >= SLOTS // 2:
                freed = self.free_slots(source)
        if int(self.consumed[source]) != freed:
            self.free_slots(source)
        return int(self.consumed[source]) != first

    def free_slots(self, source):
        """Tells the source that its fragments have been taken. Returns their number."""
        consumed, me = int(self.consumed[source]), self.world.rank
        self.world.set(self.freed[me:me + 1], consumed, source)
        return consumed

    def begin(self, message):
        """Finds the receive of a new message, or keeps the message for a later receive."""
        message.receive = next((receive for receive in self.receives if self.matches(message, receive)), None)
        if message.receive is None:
            self.unexpected.append(message)
        else:
            self.receives.remove(message.receive)
        return message

    def wait(self, peer, is_send, seconds):
        """Advances, or waits for a change that may complete a send to `peer` or a receive from the set `peer`."""
        if self.advance():
            return
        if is_send:
            word, value = self.freed[peer:peer + 1], int(self.freed[peer])
        else:
            source = next(iter(peer))  # fragments of the others are noticed after POLLING_S
            word, value = self.arrived[source:source + 1], int(self.consumed[source])
        try:
            self.world.wait_until(word, NE, value, timeout=min(seconds, POLLING_S))
        except Error as error:
            if error.status != Status.TIMEOUT:
                raise
            time.sleep(POLLING_S)
