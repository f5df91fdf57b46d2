// SPDX-License-Identifier: BSD-3-Clause
// team_calls.cpp - the collectives of a team.
#include <cstring>

#include "faces/python/calls.hpp"
#include "faces/python/operations.hpp"

namespace weft::python {
namespace {

/// Returns the number of elements in each of `n` equal blocks of a buffer.
std::size_t elements_per_block(const BufferView& buffer, const char* name, std::size_t n) {
    if (buffer.count() % n != 0)
        refuse(std::string(name) + " has " + std::to_string(buffer.count()) +
               " elements, expected a multiple of the " + std::to_string(n) + " ranks");
    return buffer.count() / n;
}

}  // namespace

TeamCalls::TeamCalls(std::shared_ptr<TeamHandle> team, CallForm form)
    : CallMaker(team->job(), form), team_(std::move(team)) {}

py::object TeamCalls::barrier() {
    return make({}, py::none(), [&](weft_request** request) {
        return choose(weft_ibarrier, weft_barrier_init)(team_->team(), request);
    });
}

py::object TeamCalls::broadcast(py::object buffer, int root) {
    CallObjects objects;
    objects.out =
        is_root(root) ? BufferView::input(buffer, "buffer") : BufferView::output(buffer, "buffer");
    const auto count = objects.out.count();
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), buffer, [&](weft_request** request) {
        return choose(weft_ibroadcast, weft_broadcast_init)(team_->team(), out, count, type, root,
                                                            request);
    });
}

template <typename Start>
py::object TeamCalls::combine(py::object& send, py::object& recv, py::object& op, Start start) {
    CallObjects objects = view_both(send, recv, "same", 1);
    if (objects.in.is_set()) expect_count(objects.out, "recv", objects.in.count());
    const auto code = operation_of(op, objects.out, recv);
    const auto count = objects.out.count();
    const auto [in, out, type] = buffer_arguments(objects);
    objects.operation = op;
    return make(std::move(objects), recv, [&](weft_request** request) {
        return start(team_->team(), in, out, count, type, code, request);
    });
}

py::object TeamCalls::allreduce(py::object send, py::object recv, py::object op) {
    return combine(send, recv, op, choose(weft_iallreduce, weft_allreduce_init));
}

py::object TeamCalls::scan(py::object send, py::object recv, py::object op) {
    return combine(send, recv, op, choose(weft_iscan, weft_scan_init));
}

py::object TeamCalls::exscan(py::object send, py::object recv, py::object op) {
    if (recv.is_none() && !send.is(in_place())) {
        recv = result_like(send, "same", 1);
        const auto zeros = BufferView::output(recv, "recv");  // rank 0 receives no data
        std::memset(zeros.data(), 0, zeros.bytes());
    }
    return combine(send, recv, op, choose(weft_iexscan, weft_exscan_init));
}

py::object TeamCalls::reduce(py::object send, py::object recv, py::object op, int root) {
    const auto start = choose(weft_ireduce, weft_reduce_init);
    const auto with_root = [&](weft_team* team, const void* in, void* out, std::size_t count,
                               weft_type type, weft_op code, weft_request** request) {
        return start(team, in, out, count, type, code, root, request);
    };
    if (is_root(root)) return combine(send, recv, op, with_root);
    CallObjects objects;
    objects.in = BufferView::input(send, "send");
    const auto code = operation_of(op, objects.in, send);
    objects.operation = op;
    const auto count = objects.in.count();
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), py::none(), [&](weft_request** request) {
        return with_root(team_->team(), in, out, count, type, code, request);
    });
}

py::object TeamCalls::gather(py::object send, py::object recv, int root) {
    CallObjects objects;
    if (is_root(root))
        objects = view_both(send, recv, "stacked", team_->members());
    else
        objects.in = BufferView::input(send, "send");
    const auto count = objects.in.is_set()
                           ? objects.in.count()
                           : elements_per_block(objects.out, "recv", team_->members());
    if (is_root(root)) expect_count(objects.out, "recv", count * team_->members());
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), is_root(root) ? recv : py::none(), [&](weft_request** request) {
        return choose(weft_igather, weft_gather_init)(team_->team(), in, out, count, type, root,
                                                      request);
    });
}

py::object TeamCalls::scatter(py::object send, py::object recv, int root) {
    CallObjects objects;
    const bool root_keeps_block = is_root(root) && recv.is(in_place());
    if (root_keeps_block)
        objects.in = BufferView::input(send, "send");
    else if (is_root(root))
        objects = view_both(send, recv, "block", team_->members());
    else if (recv.is_none())
        refuse("recv is None, expected a buffer on all ranks but the root");
    else
        objects.out = BufferView::output(recv, "recv");
    const auto count = root_keeps_block ? elements_per_block(objects.in, "send", team_->members())
                                        : objects.out.count();
    if (objects.in.is_set()) expect_count(objects.in, "send", count * team_->members());
    if (is_root(root) && !objects.in.is_set())
        refuse(
            "send is recv or weft.IN_PLACE; to leave the root's block in send, pass "
            "recv=weft.IN_PLACE");
    const auto [in, out, type] = buffer_arguments(objects);
    void* const block = root_keeps_block ? WEFT_IN_PLACE : out;
    return make(std::move(objects), root_keeps_block ? send : recv, [&](weft_request** request) {
        return choose(weft_iscatter, weft_scatter_init)(team_->team(), is_root(root) ? in : nullptr,
                                                        block, count, type, root, request);
    });
}

py::object TeamCalls::allgather(py::object send, py::object recv) {
    const auto own_rank = static_cast<std::size_t>(team_->rank());
    CallObjects objects = view_both(send, recv, "stacked", team_->members(), own_rank);
    const auto count = objects.in.is_set()
                           ? objects.in.count()
                           : elements_per_block(objects.out, "recv", team_->members());
    expect_count(objects.out, "recv", count * team_->members());
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_iallgather, weft_allgather_init)(team_->team(), in, out, count, type,
                                                            request);
    });
}

py::object TeamCalls::alltoall(py::object send, py::object recv) {
    CallObjects objects = view_both(send, recv, "same", 1);
    const auto count = elements_per_block(objects.out, "recv", team_->members());
    if (objects.in.is_set()) expect_count(objects.in, "send", objects.out.count());
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ialltoall, weft_alltoall_init)(team_->team(), in, out, count, type,
                                                          request);
    });
}

py::object TeamCalls::reduce_scatter(py::object send, py::object recv, py::object op) {
    CallObjects objects = view_both(send, recv, "block", team_->members());
    const auto count = objects.in.is_set()
                           ? objects.out.count()
                           : elements_per_block(objects.out, "recv", team_->members());
    if (objects.in.is_set()) expect_count(objects.in, "send", count * team_->members());
    const auto code = operation_of(op, objects.out, recv);
    objects.operation = op;
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ireduce_scatter, weft_reduce_scatter_init)(team_->team(), in, out, count,
                                                                      type, code, request);
    });
}

py::object TeamCalls::gatherv(py::object send, py::object recv, py::object counts,
                              py::object displacements, int root) {
    CallObjects objects;
    std::optional<BlockCounts> blocks;
    const auto own_rank = static_cast<std::size_t>(team_->rank());
    if (is_root(root)) {
        blocks.emplace(recv, "recv", counts, displacements, team_->members());
        objects = view_blocks(send, recv, nullptr, &*blocks, own_rank);
        blocks->require_inside(objects.out, "recv");
    } else {
        objects.in = BufferView::input(send, "send");
    }
    const auto count = objects.in.is_set() ? objects.in.count() : blocks->counts[own_rank];
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), is_root(root) ? recv : py::none(), [&](weft_request** request) {
        return choose(weft_igatherv, weft_gatherv_init)(
            team_->team(), in, count, out, blocks ? blocks->counts.data() : nullptr,
            blocks ? blocks->displacements() : nullptr, type, root, request);
    });
}

py::object TeamCalls::scatterv(py::object send, py::object recv, py::object counts,
                               py::object displacements, int root) {
    CallObjects objects;
    std::optional<BlockCounts> blocks;
    const bool root_keeps_block = is_root(root) && recv.is(in_place());
    const auto own_rank = static_cast<std::size_t>(team_->rank());
    if (is_root(root)) {
        blocks.emplace(send, "send", counts, displacements, team_->members());
        if (!root_keeps_block)
            objects = view_blocks(send, recv, &*blocks, nullptr, own_rank);
        else if (blocks->list.is_set())
            objects.in = std::move(blocks->list);
        else
            objects.in = BufferView::input(send, "send");
        blocks->require_inside(objects.in, "send");
    } else if (recv.is_none()) {
        refuse("recv is None, expected a buffer on all ranks but the root");
    } else {
        objects.out = BufferView::output(recv, "recv");
    }
    const auto count = root_keeps_block ? blocks->counts[own_rank] : objects.out.count();
    const auto [in, out, type] = buffer_arguments(objects);
    void* const block = root_keeps_block ? WEFT_IN_PLACE : out;
    return make(std::move(objects), root_keeps_block ? send : recv, [&](weft_request** request) {
        return choose(weft_iscatterv, weft_scatterv_init)(
            team_->team(), is_root(root) ? in : nullptr, blocks ? blocks->counts.data() : nullptr,
            blocks ? blocks->displacements() : nullptr, block, count, type, root, request);
    });
}

py::object TeamCalls::allgatherv(py::object send, py::object recv, py::object counts,
                                 py::object displacements) {
    BlockCounts blocks(recv, "recv", counts, displacements, team_->members());
    const auto own_rank = static_cast<std::size_t>(team_->rank());
    CallObjects objects = view_blocks(send, recv, nullptr, &blocks, own_rank);
    blocks.require_inside(objects.out, "recv");
    if (objects.in.is_set()) expect_count(objects.in, "send", blocks.counts[own_rank]);
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_iallgatherv, weft_allgatherv_init)(
            team_->team(), in, out, blocks.counts.data(), blocks.displacements(), type, request);
    });
}

py::object TeamCalls::alltoallv(py::object send, py::object recv, py::object send_counts,
                                py::object recv_counts, py::object send_displacements,
                                py::object recv_displacements) {
    BlockCounts sent(send, "send", send_counts, send_displacements, team_->members());
    BlockCounts received(recv, "recv", recv_counts, recv_displacements, team_->members());
    const auto own_rank = static_cast<std::size_t>(team_->rank());
    CallObjects objects = view_blocks(send, recv, &sent, &received, own_rank);
    if (!objects.in.is_set()) refuse("alltoallv cannot operate in place");
    sent.require_inside(objects.in, "send");
    received.require_inside(objects.out, "recv");
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ialltoallv, weft_alltoallv_init)(
            team_->team(), in, sent.counts.data(), sent.displacements(), out,
            received.counts.data(), received.displacements(), type, request);
    });
}

py::object TeamCalls::reduce_scatterv(py::object send, py::object recv, py::object counts,
                                      py::object op) {
    const BlockCounts blocks(counts, py::none(), team_->members());
    const auto own_count = blocks.counts[static_cast<std::size_t>(team_->rank())];
    CallObjects objects = view_both(send, recv, "flat", own_count);
    expect_count(objects.in.is_set() ? objects.in : objects.out,
                 objects.in.is_set() ? "send" : "recv", blocks.end());
    if (objects.in.is_set()) expect_count(objects.out, "recv", own_count);
    const auto code = operation_of(op, objects.out, recv);
    objects.operation = op;
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ireduce_scatterv, weft_reduce_scatterv_init)(
            team_->team(), in, out, blocks.counts.data(), type, code, request);
    });
}

}  // namespace weft::python
