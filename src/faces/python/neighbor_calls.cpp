// SPDX-License-Identifier: BSD-3-Clause
// neighbor_calls.cpp - calls among neighbors, in a graph or in a grid.
#include "faces/python/calls.hpp"

namespace weft::python {
namespace {

/// Returns `periodic` for the C interface. Raises weft.Error unless it has a value per dimension.
std::vector<int> flags_of(const std::vector<bool>& periodic, std::size_t dimensions) {
    if (periodic.size() != dimensions)
        refuse("periodic: " + std::to_string(periodic.size()) + " values, expected " +
               std::to_string(dimensions) + " as in extents");
    return {periodic.begin(), periodic.end()};
}

/// Checks that all blocks of both buffers have equal sizes. Returns that size, in elements.
std::size_t equal_blocks(const CallObjects& objects, std::size_t in_blocks,
                         std::size_t out_blocks) {
    if (!objects.in.is_set()) refuse("neighbor calls cannot operate in place");
    const auto& buffer = in_blocks != 0 ? objects.in : objects.out;
    const auto blocks = in_blocks != 0 ? in_blocks : out_blocks;
    const auto count = blocks == 0 ? 0 : buffer.count() / blocks;
    expect_count(objects.in, "send", count * in_blocks);
    expect_count(objects.out, "recv", count * out_blocks);
    return count;
}

}  // namespace

std::shared_ptr<NeighborsObject> NeighborsObject::of_ranks(std::shared_ptr<TeamHandle> team,
                                                           const std::vector<int>& sources,
                                                           const std::vector<int>& destinations) {
    const RuntimeCall entry(*team->job());
    weft_neighbors* made = nullptr;
    team->job()->check(call_short([&] {
        return weft_neighbors_create(team->team(), sources.data(), static_cast<int>(sources.size()),
                                     destinations.data(), static_cast<int>(destinations.size()),
                                     &made);
    }));
    return std::make_shared<NeighborsObject>(std::move(team), made);
}

std::shared_ptr<NeighborsObject> NeighborsObject::on_grid(std::shared_ptr<TeamHandle> team,
                                                          const std::vector<int>& extents,
                                                          const std::vector<bool>& periodic) {
    const RuntimeCall entry(*team->job());
    const auto flags = flags_of(periodic, extents.size());
    weft_neighbors* made = nullptr;
    team->job()->check(call_short([&] {
        return weft_neighbors_on_grid(team->team(), static_cast<int>(extents.size()),
                                      extents.data(), flags.data(), &made);
    }));
    return std::make_shared<NeighborsObject>(std::move(team), made);
}

std::size_t NeighborsObject::sources() const {
    return static_cast<std::size_t>(weft_neighbors_sources(neighbors_));
}

std::size_t NeighborsObject::destinations() const {
    return static_cast<std::size_t>(weft_neighbors_destinations(neighbors_));
}

NeighborCalls::NeighborCalls(std::shared_ptr<NeighborsObject> neighbors, CallForm form)
    : CallMaker(neighbors->team()->job(), form), neighbors_(std::move(neighbors)) {}

py::object NeighborCalls::alltoall(py::object send, py::object recv) {
    CallObjects objects = view_both(send, recv, "same", 1);
    const auto count = equal_blocks(objects, neighbors_->destinations(), neighbors_->sources());
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ineighbor_alltoall, weft_neighbor_alltoall_init)(
            neighbors_->neighbors(), in, out, count, type, request);
    });
}

py::object NeighborCalls::allgather(py::object send, py::object recv) {
    CallObjects objects = view_both(send, recv, "stacked", neighbors_->sources());
    const auto count = equal_blocks(objects, 1, neighbors_->sources());
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ineighbor_allgather, weft_neighbor_allgather_init)(
            neighbors_->neighbors(), in, out, count, type, request);
    });
}

py::object NeighborCalls::alltoallv(py::object send, py::object recv, py::object send_counts,
                                    py::object recv_counts) {
    const BlockCounts sent(send_counts, py::none(), neighbors_->destinations());
    const BlockCounts received(recv_counts, py::none(), neighbors_->sources());
    CallObjects objects = view_both(send, recv, "flat", received.end());
    if (!objects.in.is_set()) refuse("neighbor calls cannot operate in place");
    sent.require_inside(objects.in, "send");
    received.require_inside(objects.out, "recv");
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ineighbor_alltoallv, weft_neighbor_alltoallv_init)(
            neighbors_->neighbors(), in, sent.counts.data(), nullptr, out, received.counts.data(),
            nullptr, type, request);
    });
}

py::object NeighborCalls::allgatherv(py::object send, py::object recv, py::object counts) {
    const BlockCounts received(counts, py::none(), neighbors_->sources());
    CallObjects objects = view_both(send, recv, "flat", received.end());
    if (!objects.in.is_set()) refuse("neighbor calls cannot operate in place");
    received.require_inside(objects.out, "recv");
    const auto count = objects.in.count();
    const auto [in, out, type] = buffer_arguments(objects);
    return make(std::move(objects), recv, [&](weft_request** request) {
        return choose(weft_ineighbor_allgatherv, weft_neighbor_allgatherv_init)(
            neighbors_->neighbors(), in, count, out, received.counts.data(), nullptr, type,
            request);
    });
}

StencilObject::StencilObject(std::shared_ptr<TeamHandle> team, const std::vector<int>& extents,
                             const std::vector<bool>& periodic, bool star, int reach)
    : team_(std::move(team)) {
    const RuntimeCall entry(*team_->job());
    const auto flags = flags_of(periodic, extents.size());
    team_->job()->check(call_short([&] {
        return weft_stencil_create(team_->team(), static_cast<int>(extents.size()), extents.data(),
                                   flags.data(), star ? 1 : 0, reach, &stencil_);
    }));
}

std::vector<int> StencilObject::neighbors() const {
    std::vector<int> ranks(static_cast<std::size_t>(weft_stencil_blocks(stencil_)));
    for (std::size_t i = 0; i < ranks.size(); ++i)
        ranks[i] = weft_stencil_neighbor(stencil_, static_cast<int>(i));
    return ranks;
}

py::object StencilObject::alltoall(py::object send, py::object recv) {
    const auto blocks = neighbors().size();
    const CallObjects objects = view_both(send, recv, "same", 1);
    const auto count = equal_blocks(objects, blocks, blocks);
    call_checked(*team_->job(), [&] {
        return weft_stencil_alltoall(stencil_, objects.in.data(), objects.out.data(), count,
                                     objects.out.type());
    });
    return recv;
}

py::object StencilObject::allgather(py::object send, py::object recv) {
    const auto blocks = neighbors().size();
    const CallObjects objects = view_both(send, recv, "stacked", blocks);
    const auto count = equal_blocks(objects, 1, blocks);
    call_checked(*team_->job(), [&] {
        return weft_stencil_allgather(stencil_, objects.in.data(), objects.out.data(), count,
                                      objects.out.type());
    });
    return recv;
}

}  // namespace weft::python
