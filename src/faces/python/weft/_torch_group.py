# SPDX-License-Identifier: BSD-3-Clause
"""_torch_group.py - the process group of weft.torch: torch's calls on lists of tensors as calls of weft.

Idea     Calls pass contiguous tensors to weft, as one buffer or as a list of buffers. Other tensors are copied, and
         their results are copied back when the call is complete. A call may complete at once; its Work then needs no
         lock and no time limit. Checks and their messages follow torch's gloo backend.
"""
import collections
import datetime
import itertools
import sys

import torch
import torch.distributed as dist

from . import _torch_job
from ._buffers import IN_PLACE
from ._errors import Error, Status
from ._torch_messages import Messages
from ._torch_tensors import (BAND, BOR, BXOR, LAND, LOR, MAX, MIN, PROD, SUM, ContiguousTargets, FlatTarget, are_plain,
                             check_dense, check_like, is_dispatched, is_plain, joined, operation, plain, refuse)
from ._torch_work import MessageWork, Work

# Number of complete Works that a group keeps: C++ code of torch 1.13 uses a Work's Python methods without keeping its
# Python object alive.
KEPT_WORKS = 256


def block_counts(call, tensor, splits, size):
    """Returns the number of elements for each rank. splits: the number of rows for each rank; None or []: equal."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if not splits:
        if rows % size != 0:
            refuse(call, f"the first dimension has size {rows}, expected a multiple of the {size} ranks")
        splits = [rows // size] * size
    if len(splits) != size:
        refuse(call, f"Number of tensor splits is {len(splits)}, expected {size}, the size of the group")
    if sum(splits) != rows:
        refuse(call, f"Split sizes add up to {sum(splits)}, expected {rows}, the size of the first dimension")
    row_elements = tensor.numel() // rows if rows else 0
    return [split * row_elements for split in splits]


class ProcessGroupWeft(Messages, dist.ProcessGroup):
    """A process group over weft. Made by torch.distributed for the backend "weft"."""

    def __init__(self, store, rank, size, timeout=datetime.timedelta(minutes=30)):
        super().__init__(rank, size)
        if size < 1 or not 0 <= rank < size:
            raise Error(Status.ARGUMENT, f"rank is {rank} and world_size {size}, expected 0 <= rank < world_size")
        self.store, self.my_rank, self.members = store, rank, size
        self.seconds = timeout.total_seconds() if hasattr(timeout, "total_seconds") else float(timeout)
        self.job, self.team, self.ranks, self.number = _torch_job.team_of_group(store, rank, size)
        self.calls, self.sequence, self.coalesced = self.team._eager, 0, None
        self.recent, self.kept = collections.deque(), collections.deque(maxlen=KEPT_WORKS)  # calls in order; complete ones

    # --- properties ---

    def getBackendName(self):
        return "weft"

    def name(self):
        return "weft"

    _get_backend_name = name

    def _set_sequence_number_for_group(self):
        self.sequence = 0

    def _get_sequence_number_for_group(self):
        return self.sequence

    # --- starting calls ---

    def begin(self, work):
        """Adds a Work to the group's calls and returns it. Drops complete ones."""
        recent = self.recent
        if recent and not recent[0].done:
            recent[0].is_completed()  # ends calls whose Work was dropped
        while recent and recent[0].done:
            ended = recent.popleft()
            if sys.getrefcount(ended) == 2:  # only C++ code may use it: see KEPT_WORKS
                ended.tensors = None
                self.kept.append(ended)
        recent.append(work)
        self.sequence += 1
        if self.coalesced is not None:
            self.coalesced.append(work)
        return work

    def start(self, call, request, result, finish=None, opts=None):
        """Makes the Work of a started call. request: None if the call is complete. opts: torch's options."""
        if request is not None:
            return self.begin(Work.in_flight(self, request, result, finish, call, opts))
        if finish is not None:
            finish()
        work = Work()
        work.tensors = result
        return self.begin(work)

    def check_rank(self, call, role, rank):
        if not 0 <= rank < self.members:
            refuse(call, f"invalid {role} rank: {rank}, expected 0 to {self.members - 1}")

    @staticmethod
    def options(kind, opts, **values):
        """Returns opts, or makes options of this kind from the values. opts: options, or a ReduceOp or root."""
        if type(opts) is not kind:
            if opts is not None:
                values["rootRank" if isinstance(opts, int) else "reduceOp"] = opts
            opts = kind()
            for name, value in values.items():
                if value is not None:
                    setattr(opts, name, value)
        return opts

    # --- reductions ---

    def allreduce(self, tensors, opts=None, op=None):
        opts = self.options(dist.AllreduceOptions, opts, reduceOp=op)
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        if not tensors:
            refuse("allreduce", "requires non-empty tensor list")
        first = tensors[0]
        if len(tensors) == 1 and is_plain(first):
            code = operation("allreduce", opts.reduceOp, first.dtype)
            return self.start("allreduce", self.calls.allreduce(first, first, code), tensors, None, opts)
        if is_dispatched(tensors):
            return super().allreduce(tensors, opts)
        if len(tensors) > 1:
            check_like("allreduce", tensors[1:], first)
        if first.layout == torch.sparse_coo:
            return self.allreduce_sparse(tensors, opts)
        check_dense("allreduce", tensors)
        code = operation("allreduce", opts.reduceOp, first.dtype)
        flat = plain(first).clone()
        for tensor in tensors[1:]:
            self.combine(flat, plain(tensor), code)

        def finish():
            for tensor in tensors:
                tensor.detach().copy_(flat.view(tensor.shape))
        return self.start("allreduce", self.calls.allreduce(flat, flat, code), tensors, finish, opts)

    @staticmethod
    def combine(into, other, code):
        function = {SUM: torch.add, PROD: torch.mul, MIN: torch.minimum, MAX: torch.maximum, BAND: torch.bitwise_and,
                    BOR: torch.bitwise_or, BXOR: torch.bitwise_xor, LAND: torch.logical_and, LOR: torch.logical_or}[code]
        function(into, other, out=into)

    def allreduce_sparse(self, tensors, opts):
        """Gathers the elements of all ranks and adds them. Returns when that is done."""
        if operation("allreduce", opts.reduceOp, torch.int64) != SUM:
            refuse("allreduce", "unsupported reduction operation: sparse tensors are only added")
        mine = tensors[0]
        for tensor in tensors[1:]:
            mine = mine + tensor
        mine = mine.coalesce()
        indices, values = mine.indices().contiguous(), mine.values().contiguous()
        counts = [int(count) for count in self.team.allgather(torch.tensor(indices.shape[1]))]
        dims, row_elements = indices.shape[0], int(torch.tensor(values.shape[1:]).prod())
        all_indices = self.team.allgatherv(indices.t().contiguous().view(-1), counts=[count * dims for count in counts])
        all_values = self.team.allgatherv(values.view(-1), counts=[count * row_elements for count in counts])
        all_values = all_values.view(sum(counts), *values.shape[1:])
        total = torch.sparse_coo_tensor(all_indices.view(-1, dims).t(), all_values, mine.shape).coalesce()
        for tensor in tensors:
            tensor.copy_(total)
        return self.start("allreduce", None, tensors)

    def allreduce_coalesced(self, tensors, opts=None):
        opts = self.options(dist.AllreduceCoalescedOptions, opts)
        if not tensors:
            refuse("allreduce_coalesced", "requires non-empty tensor list")
        first = tensors[0]
        for index, tensor in enumerate(tensors):
            if tensor.layout != first.layout:
                refuse("allreduce_coalesced", f"invalid tensor layout at index {index}")
            if tensor.dtype != first.dtype:
                refuse("allreduce_coalesced", "tensors must all have the same type")
        check_dense("allreduce_coalesced", tensors)
        code = operation("allreduce_coalesced", opts.reduceOp, first.dtype)
        target = FlatTarget(tensors)
        if target.copies:
            torch.cat([plain(tensor) for tensor in tensors], out=target.flat)
        request = self.calls.allreduce(target.flat, target.flat, code)
        return self.start("allreduce_coalesced", request, tensors, target.finish, opts)

    def reduce(self, tensors, opts=None, op=None, root=0):
        opts = self.options(dist.ReduceOptions, opts, reduceOp=op, rootRank=root)
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        self.check_rank("reduce", "root", opts.rootRank)
        if opts.rootTensor != 0:
            refuse("reduce", f"invalid root tensor: {opts.rootTensor}, expected 0")
        if len(tensors) != 1:
            refuse("reduce", "requires a single-element tensor list")
        check_dense("reduce", tensors)
        tensor, target = tensors[0], FlatTarget(tensors)
        code, send = operation("reduce", opts.reduceOp, tensor.dtype), plain(tensor)
        if self.my_rank != opts.rootRank:
            request = self.calls.reduce(send, None, code, opts.rootRank)
            return self.start("reduce", request, tensors, None, opts)
        if send.data_ptr() == target.flat.data_ptr():
            send = target.flat  # one object as both arguments: a call in place
        request = self.calls.reduce(send, target.flat, code, opts.rootRank)
        return self.start("reduce", request, tensors, target.finish, opts)

    def reduce_scatter(self, outputs, inputs, opts=None, op=None):
        opts = self.options(dist.ReduceScatterOptions, opts, reduceOp=op)
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        if len(outputs) != 1 or len(inputs) != 1:
            refuse("reduce_scatter", "requires a single-element output list and a single-element input list")
        parts, output = inputs[0], outputs[0]
        if is_dispatched(output):
            return super().reduce_scatter(outputs, inputs, opts)
        if len(parts) != self.members:
            refuse("reduce_scatter", f"invalid input tensor list: {len(parts)} tensors, expected {self.members}")
        check_dense("reduce_scatter", [output, *parts])
        if parts[self.my_rank].numel() != output.numel() or any(part.dtype != output.dtype for part in parts):
            refuse("reduce_scatter", "output differs in size or type from this rank's input tensor")
        return self.reduce_blocks("reduce_scatter", outputs, joined(parts), [part.numel() for part in parts], opts)

    def reduce_blocks(self, call, outputs, flat, counts, opts):
        code, target = operation(call, opts.reduceOp, outputs[0].dtype), FlatTarget(outputs)
        if len(set(counts)) == 1:
            request = self.calls.reduce_scatter(flat.view(self.members, -1), target.flat, code)
        else:
            request = self.calls.reduce_scatterv(flat, target.flat, counts, code)
        return self.start(call, request, outputs, target.finish, opts)

    def _reduce_scatter_base(self, output, input, opts=None):
        opts = self.options(dist.ReduceScatterOptions, opts)
        if is_plain(output) and is_plain(input) and output.numel() * self.members == input.numel():
            if output.dtype is input.dtype:
                code = operation("reduce_scatter_tensor", opts.reduceOp, output.dtype)
                request = self.calls.reduce_scatter(input, output, code)
                return self.start("reduce_scatter_tensor", request, [output], None, opts)
        check_dense("reduce_scatter_tensor", [output, input])
        if output.numel() * self.members != input.numel() or output.dtype != input.dtype:
            refuse("reduce_scatter_tensor", f"input has {input.numel()} elements of {input.dtype}, expected "
                   f"{output.numel() * self.members} of {output.dtype}")
        return self.reduce_blocks("reduce_scatter_tensor", [output], plain(input), [output.numel()] * self.members, opts)

    reduce_scatter_single = _reduce_scatter_base

    # --- copies ---

    def broadcast(self, tensors, opts=None, root=0):
        opts = self.options(dist.BroadcastOptions, opts, rootRank=root)
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        self.check_rank("broadcast", "root", opts.rootRank)
        if not 0 <= opts.rootTensor < len(tensors):
            refuse("broadcast", f"invalid root tensor: {opts.rootTensor}, expected 0 to {len(tensors) - 1}")
        source = tensors[opts.rootTensor]
        if len(tensors) == 1 and is_plain(source):
            return self.start("broadcast", self.calls.broadcast(source, opts.rootRank), tensors, None, opts)
        if is_dispatched(tensors):
            return super().broadcast(tensors, opts)
        check_dense("broadcast", tensors)
        check_like("broadcast", tensors, tensors[0])
        target = FlatTarget([source])
        if target.copies and self.my_rank == opts.rootRank:
            target.flat.copy_(plain(source))

        def finish():
            target.finish()
            for tensor in tensors:
                if tensor is not source:
                    tensor.detach().copy_(source)
        return self.start("broadcast", self.calls.broadcast(target.flat, opts.rootRank), tensors, finish, opts)

    def allgather(self, outputs, inputs, opts=None):
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        if not inputs:
            refuse("allgather", "requires non-empty input tensor list")
        if len(outputs) != len(inputs):
            refuse("allgather", "requires input/output tensor lists to have the same length")
        for index, output in enumerate(outputs):
            if len(output) != self.members * len(inputs):
                refuse("allgather", f"invalid output tensor list at index {index}: {len(output)} tensors, expected "
                       f"{self.members * len(inputs)}")
        first = inputs[0]
        if len(inputs) == 1 and is_plain(first) and are_plain(outputs[0], first):
            return self.start("allgather", self.calls.allgatherv(first, outputs[0]), outputs[0], None, opts)
        if is_dispatched(outputs):
            return super().allgather(outputs, inputs, *([] if opts is None else [opts]))
        check_like("allgather", inputs, first)
        check_dense("allgather", [*inputs, *itertools.chain(*outputs)])
        for output in outputs:
            check_like("allgather", output, first)
        if len(inputs) == 1:
            targets = ContiguousTargets(outputs[0])
            request = self.calls.allgatherv(plain(first), targets.contiguous)
            return self.start("allgather", request, outputs[0], targets.finish, opts)
        target = FlatTarget(outputs[0])

        def finish():
            target.finish()
            for output in outputs[1:]:
                for tensor, other in zip(output, outputs[0]):
                    tensor.detach().copy_(other)
        return self.start("allgather", self.calls.allgather(joined(inputs), target.flat), outputs, finish, opts)

    def _allgather_base(self, output, input, opts=None):
        if is_plain(output) and is_plain(input) and output.numel() == input.numel() * self.members:
            if output.dtype is input.dtype:
                request = self.calls.allgather(input, output)
                return self.start("all_gather_into_tensor", request, output, None, opts)
        check_dense("all_gather_into_tensor", [output, input])
        if output.numel() != input.numel() * self.members or output.dtype != input.dtype:
            refuse("all_gather_into_tensor", f"output has {output.numel()} elements of {output.dtype}, expected "
                   f"{input.numel() * self.members} of {input.dtype}")
        target = FlatTarget([output])
        return self.start("all_gather_into_tensor", self.calls.allgather(plain(input), target.flat), output,
                          target.finish, opts)

    all_gather_single = _allgather_base

    def allgather_coalesced(self, output_lists, inputs, opts=None):
        if len(output_lists) != self.members:
            refuse("allgather_coalesced", "output lists should be equal to world size")
        if not inputs:
            refuse("allgather_coalesced", "requires non-empty input tensor list")
        for outputs in output_lists:
            if len(outputs) != len(inputs):
                refuse("allgather_coalesced", "invalid output size: expected the number of input tensors")
            for index, (output, given) in enumerate(zip(outputs, inputs)):
                if output.shape != given.shape:
                    refuse("allgather_coalesced", f"invalid size of output tensor at index {index}")
                if output.dtype != given.dtype:
                    refuse("allgather_coalesced", f"invalid tensor type at index {index}")
        check_dense("allgather_coalesced", inputs)
        if len({tensor.dtype for tensor in inputs}) > 1:
            return self.together([self.allgather([[outputs[index] for outputs in output_lists]], [given], opts)
                                  for index, given in enumerate(inputs)])
        target = FlatTarget([tensor for outputs in output_lists for tensor in outputs])
        return self.start("allgather_coalesced", self.calls.allgather(joined(inputs), target.flat), output_lists,
                          target.finish, opts)

    def gather(self, outputs, inputs, opts=None, root=0):
        opts = self.options(dist.GatherOptions, opts, rootRank=root)
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = [outputs] if outputs else [], [inputs]
        self.check_rank("gather", "root", opts.rootRank)
        if len(inputs) != 1:
            refuse("gather", "requires a single-element input tensor list")
        check_dense("gather", inputs)
        send, is_root = plain(inputs[0]), self.my_rank == opts.rootRank
        if not is_root:
            if outputs:
                refuse("gather", "requires empty output on non-root")
            return self.start("gather", self.calls.gatherv(send, root=opts.rootRank), inputs, None, opts)
        if len(outputs) != 1:
            refuse("gather", "requires a single-element output list containing a list with the tensors of all ranks")
        if len(outputs[0]) != self.members:
            refuse("gather", f"Incorrect output list size {len(outputs[0])}. Output list size should be {self.members}")
        check_dense("gather", outputs[0])
        check_like("gather", outputs[0], inputs[0])
        targets = ContiguousTargets(outputs[0])
        request = self.calls.gatherv(send, targets.contiguous, root=opts.rootRank)
        return self.start("gather", request, outputs[0], targets.finish, opts)

    def scatter(self, outputs, inputs, opts=None, root=0):
        opts = self.options(dist.ScatterOptions, opts, rootRank=root)
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs] if inputs else []
        self.check_rank("scatter", "root", opts.rootRank)
        if len(outputs) != 1:
            refuse("scatter", "requires a single-element output tensor list")
        check_dense("scatter", outputs)
        targets = ContiguousTargets(outputs)
        send, recv = None, targets.contiguous[0]
        if self.my_rank == opts.rootRank:
            if len(inputs) != 1:
                refuse("scatter", "requires a single-element input list containing a list with the tensors of all ranks")
            if len(inputs[0]) != self.members:
                refuse("scatter", f"Incorrect input list size {len(inputs[0])}. Input list size should be {self.members}")
            check_dense("scatter", inputs[0])
            check_like("scatter", inputs[0], outputs[0])
            send = [plain(tensor) for tensor in inputs[0]]
            if send[self.my_rank].data_ptr() == recv.data_ptr():
                recv = IN_PLACE
        elif inputs:
            refuse("scatter", "requires empty input on non-root")
        request = self.calls.scatterv(send, recv, root=opts.rootRank)
        return self.start("scatter", request, outputs, targets.finish, opts)

    def alltoall_base(self, output, input, output_splits=None, input_splits=None, opts=None):
        if is_plain(output) and is_plain(input) and not output_splits and not input_splits and self.have_equal_blocks(output, input):
            return self.start("all_to_all_single", self.calls.alltoall(input, output), output, None, opts)
        check_dense("all_to_all_single", [output, input])
        if output.dtype != input.dtype:
            refuse("all_to_all_single", f"output is of type {output.dtype}, expected {input.dtype}")
        target, send = FlatTarget([output]), plain(input)
        sent = block_counts("all_to_all_single", input, input_splits, self.members)
        received = block_counts("all_to_all_single", output, output_splits, self.members)
        if not output_splits and not input_splits:
            request = self.calls.alltoall(send, target.flat)
        else:
            request = self.calls.alltoallv(send, target.flat, sent, received)
        return self.start("all_to_all_single", request, output, target.finish, opts)

    all_to_all_single = alltoall_base

    def have_equal_blocks(self, output, input):
        """Returns True if both tensors have rows for all ranks, of equal number and size."""
        return (output.dtype is input.dtype and output.dim() > 0 and input.dim() > 0 and output.numel() == input.numel()
                and output.shape[0] % self.members == 0 and input.shape[0] % self.members == 0)

    def alltoall(self, outputs, inputs, opts=None):
        if len(outputs) != self.members or len(inputs) != self.members:
            refuse("all_to_all", f"{len(outputs)} output and {len(inputs)} input tensors, expected {self.members}")
        check_dense("all_to_all", [*outputs, *inputs])
        if len({tensor.dtype for tensor in [*outputs, *inputs]}) != 1:
            refuse("all_to_all", "invalid tensor type: expected one type of all tensors")
        targets = ContiguousTargets(outputs)
        request = self.calls.alltoallv([plain(tensor) for tensor in inputs], targets.contiguous)
        return self.start("all_to_all", request, outputs, targets.finish, opts)

    # --- several calls ---

    def barrier(self, opts=None):
        """Starts a barrier, which is complete only after all earlier collective calls of the group."""
        earlier = [work for work in self.recent if not (work.done or isinstance(work, MessageWork))]

        def finish():
            for work in earlier:
                work.wait()
        return self.start("barrier", self.calls.barrier(), [], finish if earlier else None, opts)

    def together(self, works):
        """Returns the Work of the last of several calls, which then waits for all of them."""
        works = [work for work in works if not work.done] or works[-1:]
        last = works[-1]

        def finish(finish_last=last.finish):
            if finish_last is not None:
                finish_last()
            for work in works[:-1]:
                work.wait()
        last.finish = finish
        return last

    def _start_coalescing(self, device=None):
        self.coalesced = []

    def _end_coalescing(self, device=None):
        works, self.coalesced = self.coalesced, None
        return self.together(works) if works else self.start("coalesced calls", None, [])

    start_coalescing, end_coalescing = _start_coalescing, _end_coalescing

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return self.together([self._allgather_base(output, given, opts) for output, given in zip(outputs, inputs)])

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        return self.together([self._reduce_scatter_base(output, given, opts) for output, given in zip(outputs, inputs)])
