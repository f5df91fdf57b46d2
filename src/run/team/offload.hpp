// SPDX-License-Identifier: BSD-3-Clause
// offload.hpp - collective call that the network executes after its start, without its ranks.
//
// Idea     Each rank's program becomes a list of descriptors (plan/offload). When a rank starts the
//          call, it queues its descriptors at a separate endpoint (link/fabric/triggered.hpp).
//          After that the rank may sleep, and its peers still complete the call.
// Why      A peer may write data of the next call while this call is incomplete here, so
//          consecutive calls use different banks. A synchronizing program needs two banks: no rank
//          completes call N + 1, and starts N + 2 in the bank of N, before all ranks have started N
//          + 1. Other programs use eight banks, and a barrier before bank 0 is reused.
// Holds    An object runs one call at a time. All messages use the network, even between local
//          ranks. At its end, a call resets its bank, before a peer can use the bank again.
// Next     docs/offload.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "link/fabric/triggered.hpp"
#include "plan/offload/offload.hpp"
#include "run/team/offload_elements.hpp"
#include "weft/call.hpp"

namespace weft::run {

class Team;

struct OffloadOptions {
    std::string algorithm;   ///< a spec; empty: usual_offload()
    std::size_t budget = 0;  ///< most descriptors queued at a time; 0: all of a call
    std::string provider;    ///< empty: the job's, or else that of WEFT_PROVIDER
};

/// Whether a provider can offload calls according to its profile, and the reason.
struct OffloadVerdict {
    bool promised = false;
    std::string why;
};
[[nodiscard]] OffloadVerdict judge_offload(std::string_view provider);

/// Returns the default algorithm for offloading. Fails if the collective cannot be offloaded.
[[nodiscard]] base::Result<std::string_view> usual_offload(Collective collective);

class OffloadedCall {
  public:
    /// Prepares a call; ignores its buffers. Collective. A failure occurs on all members.
    [[nodiscard]] static base::Result<std::unique_ptr<OffloadedCall>> create(
        Team& team, const Call& call, const OffloadOptions& options);

    /// Starts the call on these buffers, usually without waiting. If the program is not
    /// synchronizing, every eighth call begins with a barrier.
    [[nodiscard]] base::Result<void> start(const void* in, void* out);
    /// Returns true if the call is complete on this rank; then `out` has the result.
    [[nodiscard]] base::Result<bool> test();
    /// Calls test() until it returns true. Logs a wait that exceeds WEFT_TIMEOUT.
    [[nodiscard]] base::Result<void> wait();

    [[nodiscard]] const plan::OffloadPlan& plan() const { return plan_; }
    [[nodiscard]] std::string_view algorithm() const { return algorithm_; }
    /// Returns the number of descriptors queued so far, in all calls.
    [[nodiscard]] std::uint64_t queued() const { return queued_; }
    /// Returns the number of this rank's calls into the network.
    [[nodiscard]] std::uint64_t entries() const { return entries_; }

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };

    OffloadedCall(Team& team, const Call& call, const OffloadOptions& options)
        : team_(team), call_(call), options_(options) {}
    [[nodiscard]] base::Result<void> check_call();
    [[nodiscard]] base::Result<void> open_port();
    [[nodiscard]] base::Result<void> make_plan();
    [[nodiscard]] base::Result<void> make_memory();
    [[nodiscard]] base::Result<void> meet_peers();
    [[nodiscard]] base::Result<void> agree(const base::Result<void>& mine);
    [[nodiscard]] std::byte* in_bank(std::uint64_t bank, std::uint64_t offset) const {
        return memory_.get() + bank * bank_bytes_ + offset;
    }
    [[nodiscard]] std::uint64_t bank() const { return (calls_ - 1) % banks_; }
    /// Returns the counter of a stage. Counter 0 counts completions that no stage waits for.
    [[nodiscard]] std::uint32_t counter(plan::OffloadStage stage) const {
        return static_cast<std::uint32_t>(1 + (stage - 1) * banks_ + bank());
    }
    /// Returns the counter's value when the stage is complete. Counters are never reset.
    [[nodiscard]] std::uint64_t threshold(plan::OffloadStage stage) const {
        return ((calls_ - 1) / banks_ + 1) * plan_.events[stage - 1];
    }
    [[nodiscard]] bool complete(plan::OffloadStage stage);
    void fill(std::uint64_t bank);
    [[nodiscard]] base::Result<void> queue_next();
    [[nodiscard]] bool queued_are_done();
    [[nodiscard]] base::Result<void> check_failures();
    [[nodiscard]] std::string describe_wait();
    void take_result();

    Team& team_;
    Call call_;
    OffloadOptions options_;
    OffloadElements elements_;
    std::uint32_t element_bytes_ = 1;
    std::string algorithm_;
    plan::OffloadPlan plan_;
    std::uint64_t banks_ = 2;       ///< number of banks
    bool needs_barrier_ = false;    ///< a barrier must precede the reuse of bank 0
    std::uint64_t bank_bytes_ = 0;  ///< equal on all members
    std::unique_ptr<std::byte, Free> memory_;
    std::unique_ptr<link::TriggeredPort> port_;  ///< destroyed before the memory

    std::uint64_t calls_ = 0;  ///< calls started so far
    bool running_ = false;
    void* out_ = nullptr;
    std::size_t first_ = 0;          ///< first descriptor of the last batch that was queued
    std::size_t next_ = 0;           ///< next descriptor to queue
    std::uint64_t completions_ = 0;  ///< expected value of counter 0
    std::uint64_t queued_ = 0;       ///< descriptors in all calls
    std::uint64_t entries_ = 0;      ///< calls of this rank into the network
};

}  // namespace weft::run
