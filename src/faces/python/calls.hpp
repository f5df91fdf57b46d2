// SPDX-License-Identifier: BSD-3-Clause
// calls.hpp - collective calls in the forms blocking, started, eager and persistent.
//
// Idea     weft's functions for started and persistent calls have equal parameters, so each call is
//          written once. A blocking call starts a call and waits.
#pragma once

#include <memory>

#include "faces/python/job.hpp"
#include "weft/neighbors.h"

namespace weft::python {

/// eager: a started call that returns None, not a request, if it completes in microseconds.
enum class CallForm { blocking, started, eager, persistent };

/// A started or persistent call. Keeps its buffers alive.
class RequestObject {
  public:
    RequestObject(std::shared_ptr<JobObject> job, weft_request* request, CallObjects objects,
                  py::object result, bool persistent);
    ~RequestObject();
    RequestObject(const RequestObject&) = delete;
    RequestObject& operator=(const RequestObject&) = delete;

    /// Returns true if the call is complete. Raises weft.Error if it failed.
    bool test();
    /// Waits at most `timeout_s`. Returns the call's result.
    py::object wait(std::optional<double> timeout_s);
    /// Starts a persistent call.
    void start();
    [[nodiscard]] const py::object& result() const { return result_; }

  private:
    void complete(weft_status status);

    std::shared_ptr<JobObject> job_;
    weft_request* request_;
    CallObjects objects_;
    py::object result_;
    bool persistent_;
    bool counted_;  ///< the job's background thread counts this call
};

/// Returns weft.IN_PLACE.
py::object in_place();

/// Makes the calls of one object (a team, neighbors) in one form.
class CallMaker {
  public:
    CallMaker(std::shared_ptr<JobObject> job, CallForm form) : job_(std::move(job)), form_(form) {}

  protected:
    /// Returns the function of the C interface for this form.
    template <typename Start>
    Start choose(Start started, Start persistent) const {
        return form_ == CallForm::persistent ? persistent : started;
    }

    /// Starts or prepares a call by start(&request). Returns the result of a blocking call, None if
    /// an eager call is complete, else a request.
    template <typename Start>
    py::object make(CallObjects objects, py::object result, Start start) const {
        const RuntimeCall entry(*job_);
        weft_request* request = nullptr;
        job_->check(call_short([&] { return start(&request); }));
        if (form_ == CallForm::eager && completes_shortly(*job_, &request)) return py::none();
        if (form_ != CallForm::blocking) return as_request(request, std::move(objects), result);
        job_->check(wait_for_request(*job_, &request, objects));
        return result;
    }

  private:
    py::object as_request(weft_request* request, CallObjects objects, py::object result) const;

    std::shared_ptr<JobObject> job_;
    CallForm form_;
};

/// The collectives of a team. `send` and `recv` are buffers, in Python's order of arguments.
class TeamCalls : CallMaker {
  public:
    TeamCalls(std::shared_ptr<TeamHandle> team, CallForm form);
    [[nodiscard]] const std::shared_ptr<TeamHandle>& handle() const { return team_; }

    py::object barrier();
    py::object broadcast(py::object buffer, int root);
    py::object allreduce(py::object send, py::object recv, py::object op);
    py::object reduce(py::object send, py::object recv, py::object op, int root);
    py::object scan(py::object send, py::object recv, py::object op);
    py::object exscan(py::object send, py::object recv, py::object op);
    py::object gather(py::object send, py::object recv, int root);
    py::object scatter(py::object send, py::object recv, int root);
    py::object allgather(py::object send, py::object recv);
    py::object alltoall(py::object send, py::object recv);
    py::object reduce_scatter(py::object send, py::object recv, py::object op);
    py::object gatherv(py::object send, py::object recv, py::object counts,
                       py::object displacements, int root);
    py::object scatterv(py::object send, py::object recv, py::object counts,
                        py::object displacements, int root);
    py::object allgatherv(py::object send, py::object recv, py::object counts,
                          py::object displacements);
    py::object alltoallv(py::object send, py::object recv, py::object send_counts,
                         py::object recv_counts, py::object send_displacements,
                         py::object recv_displacements);
    py::object reduce_scatterv(py::object send, py::object recv, py::object counts, py::object op);

  private:
    [[nodiscard]] bool is_root(int root) const { return team_->rank() == root; }
    /// Makes a call whose buffers have equal counts and are combined.
    template <typename Start>
    py::object combine(py::object& send, py::object& recv, py::object& op, Start start);

    std::shared_ptr<TeamHandle> team_;
};

/// A team as Python sees it; its own calls are blocking.
class TeamObject : public TeamCalls {
  public:
    explicit TeamObject(std::shared_ptr<TeamHandle> team)
        : TeamCalls(std::move(team), CallForm::blocking) {}
    [[nodiscard]] const std::shared_ptr<JobObject>& job() const { return handle()->job(); }
    [[nodiscard]] weft_team* team() const { return handle()->team(); }
};

/// A list of neighbors.
class NeighborsObject {
  public:
    NeighborsObject(std::shared_ptr<TeamHandle> team, weft_neighbors* neighbors)
        : team_(std::move(team)), neighbors_(neighbors) {}
    ~NeighborsObject() {
        call_short([&] { return weft_neighbors_free(&neighbors_); });
    }
    NeighborsObject(const NeighborsObject&) = delete;
    NeighborsObject& operator=(const NeighborsObject&) = delete;

    static std::shared_ptr<NeighborsObject> of_ranks(std::shared_ptr<TeamHandle> team,
                                                     const std::vector<int>& sources,
                                                     const std::vector<int>& destinations);
    static std::shared_ptr<NeighborsObject> on_grid(std::shared_ptr<TeamHandle> team,
                                                    const std::vector<int>& extents,
                                                    const std::vector<bool>& periodic);
    [[nodiscard]] const std::shared_ptr<TeamHandle>& team() const { return team_; }
    [[nodiscard]] weft_neighbors* neighbors() const { return neighbors_; }
    [[nodiscard]] std::size_t sources() const;
    [[nodiscard]] std::size_t destinations() const;

  private:
    std::shared_ptr<TeamHandle> team_;
    weft_neighbors* neighbors_;
};

/// The collectives of a list of neighbors.
class NeighborCalls : CallMaker {
  public:
    NeighborCalls(std::shared_ptr<NeighborsObject> neighbors, CallForm form);

    py::object alltoall(py::object send, py::object recv);
    py::object allgather(py::object send, py::object recv);
    py::object alltoallv(py::object send, py::object recv, py::object send_counts,
                         py::object recv_counts);
    py::object allgatherv(py::object send, py::object recv, py::object counts);

  private:
    std::shared_ptr<NeighborsObject> neighbors_;
};

/// Exchanges of blocks between each member of a grid and all members around it.
class StencilObject {
  public:
    StencilObject(std::shared_ptr<TeamHandle> team, const std::vector<int>& extents,
                  const std::vector<bool>& periodic, bool star, int reach);
    ~StencilObject() {
        call_short([&] { return weft_stencil_free(&stencil_); });
    }
    StencilObject(const StencilObject&) = delete;
    StencilObject& operator=(const StencilObject&) = delete;

    /// Returns the neighbor with each block; -1 if it is outside the grid.
    [[nodiscard]] std::vector<int> neighbors() const;
    py::object alltoall(py::object send, py::object recv);
    py::object allgather(py::object send, py::object recv);

  private:
    std::shared_ptr<TeamHandle> team_;
    weft_stencil* stencil_ = nullptr;
};

/// The buffers of a call as the C interface takes them.
struct BufferArguments {
    const void* in;  // WEFT_IN_PLACE without an input buffer
    void* out;
    weft_type type;
};
BufferArguments buffer_arguments(const CallObjects& objects);

/// Counts and displacements of the blocks in one buffer, or in a list of buffers with a block each.
struct BlockCounts {
    std::vector<std::size_t> counts, starts;
    BufferView list;  ///< spans the buffers of a list

    /// counts_argument: `n` counts. displacements: None if blocks are contiguous.
    BlockCounts(const py::object& counts_argument, const py::object& displacements, std::size_t n);
    /// buffers: one buffer, or a list of `n` buffers, whose sizes are the counts; the two other
    /// arguments must then be None. name: "send", or "recv", whose buffers the call writes.
    BlockCounts(const py::object& buffers, const char* name, const py::object& counts_argument,
                const py::object& displacements, std::size_t n);
    /// Returns the end of the last block, in elements.
    [[nodiscard]] std::size_t end() const;
    [[nodiscard]] const std::size_t* displacements() const {
        return starts.empty() ? nullptr : starts.data();
    }
    /// Raises weft.Error unless all blocks are inside the buffer of the argument `name`.
    void require_inside(const BufferView& buffer, const char* name) const;
};

/// Views both buffers of a call. If recv is None, makes it by result_like(). own_block: index of
/// this rank's block of recv; a send that is this block means a call in place.
CallObjects view_both(py::object& send, py::object& recv, const char* shape, std::size_t n,
                      std::optional<std::size_t> own_block = std::nullopt);
/// Views both buffers of a v-call, as view_both(). sent, received: the blocks of send and of recv,
/// whose lists move to the result; nullptr if only the other buffer has blocks. rank: this rank.
CallObjects view_blocks(py::object& send, py::object& recv, BlockCounts* sent,
                        BlockCounts* received, std::size_t rank);

/// Raises weft.Error unless the buffer of the argument `name` has `expected` elements.
void expect_count(const BufferView& buffer, const char* name, std::size_t expected);

}  // namespace weft::python
