// SPDX-License-Identifier: BSD-3-Clause
// exact_call.hpp - moves the data of an Op::exact_sum by calls that lose no bits.
//
// Idea     A call of Op::exact_sum makes an inner call into scratch memory, then rounds the result.
//          In the *raw form*, the inner call is a gather, allgather or alltoall of values, and each
//          rank sums the values of an element. In the *window form*, each element becomes a few
//          integers, and the inner call is the user's collective with sums of integers
//          (run/reduce/exact_sum.hpp). With one or two ranks, the plain sum is exact.
// Why      The raw form needs no agreement and fits any range, but a gather takes size() times the
//          bytes. A window takes 2 or 3 integers per element for values of similar magnitude, and
//          up to 49 for any values; ranks agree on its range by an allreduce of three integers. So
//          few ranks and short calls use the raw form. A started call cannot agree on a range: it
//          uses the raw form unless the window of all values is smaller.
// Holds    The form depends only on facts that are equal on all ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "run/reduce/exact_sum.hpp"
#include "run/team/call.hpp"

namespace weft::run {

class Team;

/// Returns true if the call reduces with Op::exact_sum. The call may be invalid.
[[nodiscard]] inline bool is_exact_sum(const Call& call) {
    return call.op == Op::exact_sum &&
           static_cast<std::size_t>(call.collective) < collectives::kCollectives.size() &&
           traits_of(call.collective).reduces();
}

[[nodiscard]] inline bool has_result(const Call& call, Rank rank) {
    if (call.collective == Collective::reduce) return rank == call.root;
    return call.collective != Collective::exscan || rank > 0;
}

/// Scratch memory of exact sums. Its contents are lost when it grows.
class ExactScratch {
  public:
    /// Provides at least `bytes` bytes. Returns false if the allocation fails.
    [[nodiscard]] bool reserve(std::size_t bytes) {
        if (bytes <= size_) return true;
        memory_ = nullptr;
        memory_.reset(new (std::nothrow) std::byte[bytes]);
        size_ = memory_ != nullptr ? bytes : 0;
        return memory_ != nullptr;
    }
    [[nodiscard]] std::byte* data() const { return memory_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
};

/// A valid call of Op::exact_sum, or a piece of one. Complex numbers count as two elements.
class ExactCall {
  public:
    ExactCall(const Team& team, const Call& call);
    // The inner call refers to the arrays of this object.
    ExactCall(const ExactCall&) = delete;
    ExactCall& operator=(const ExactCall&) = delete;

    /// Returns the number of elements that each rank contributes.
    [[nodiscard]] std::size_t elements() const;
    /// Sets the bytes of the call's buffers that this rank reads and writes.
    void find_extents(Extent& input, Extent& output) const;
    /// Returns true if the raw form is at least as fast as a window of `words` integers for each
    /// element. `forced`: the user chose an algorithm, which only the window form uses.
    [[nodiscard]] bool is_raw_best(bool forced, std::size_t words) const;
    struct ScratchBytes {
        std::size_t own;  ///< size that this rank needs
        std::size_t max;  ///< upper bound of the size on any rank; equal on all ranks
    };
    /// Returns the size of the scratch memory for a window, or without one for the raw form.
    [[nodiscard]] ScratchBytes scratch_bytes(const std::optional<ExactWindow>& window) const;
    /// Returns the inner call, with a window or in the raw form. `scratch` must outlive it.
    [[nodiscard]] const Call& inner(const std::optional<ExactWindow>& window, std::byte* scratch) {
        return window ? sum_windows(*window, scratch) : gather_raw(scratch);
    }
    [[nodiscard]] Type type() const { return type_; }

    /// Writes the result of this rank, after the inner call.
    void finish() const noexcept;

  private:
    [[nodiscard]] const Call& gather_raw(std::byte* to);
    [[nodiscard]] const Call& sum_windows(const ExactWindow& window, std::byte* scratch);
    [[nodiscard]] bool scatters() const {
        return call_.collective == Collective::reduce_scatter ||
               call_.collective == Collective::reduce_scatterv;
    }
    [[nodiscard]] std::size_t start_of(Rank rank) const;
    [[nodiscard]] std::size_t block(std::size_t rank) const {
        return counts_.empty() ? call_.count : counts_[rank];
    }

    const Team& team_;
    Call call_;  ///< the user's call; a complex number is two elements
    Type type_;
    std::vector<std::size_t> counts_;        ///< counts of a reduce_scatterv, else empty
    std::vector<std::size_t> inner_counts_;  ///< counts of the inner call that differ from counts_
    std::size_t own_;                        ///< number of elements of this rank's result
    std::optional<ExactWindow> window_;      ///< none: raw form
    Call inner_;
    const std::byte* gathered_ = nullptr;  ///< result of the inner call
};

}  // namespace weft::run
