// SPDX-License-Identifier: BSD-3-Clause
// offload.hpp - a call that the network runs: its ranks start it, and need not be there for it.
//
// Idea     The programs of the call become descriptors (plan/offload), which are queued with an
//          endpoint of their own (link/fabric/triggered.hpp) when a rank starts its part. From then
//          on this rank may sleep: others get through all the same.
// Why      Banks: what a peer writes of the next call may land while this one is not over here. A
//          program that is synchronizing has two, as no rank starts the next but one before all
//          have entered the next. Others have several, and meet before they use the first again.
// Holds    One call at a time. Every message goes over the network, also to ranks of the node. What
//          the memory starts as is written when a call ends, before a peer can be at the next use
//          of its bank.
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
#include "weft/call.hpp"

namespace weft::run {

class Team;

struct OffloadOptions {
    std::string algorithm;   ///< a spec; empty: usual_offload()
    std::size_t budget = 0;  ///< descriptors queued at a time; 0: all of a call
    std::string provider;    ///< empty: that of the job
};

/// Whether calls can be offloaded over a provider, and why (not), by its profile alone.
struct OffloadVerdict {
    bool promised = false;
    std::string why;
};
[[nodiscard]] OffloadVerdict judge_offload(std::string_view provider);

/// The algorithm that is taken if none is named; a failure if there is none for the collective.
[[nodiscard]] base::Result<std::string_view> usual_offload(Collective collective);

/// What a reduction of such elements is to the network: floating-point minima and maxima are those
/// of integers in the same order.
struct OffloadElements {
    Type type = Type::int64;
    bool keyed = false;      ///< elements are turned into keys before, and back after
    bool any_order = false;  ///< the order of the operands does not show
};
[[nodiscard]] OffloadElements offload_elements(Type type, Op op);

class OffloadedCall {
  public:
    /// Collective: all members with the same call, whose memory does not count. A failure is the
    /// same on all members.
    [[nodiscard]] static base::Result<std::unique_ptr<OffloadedCall>> create(
        Team& team, const Call& call, const OffloadOptions& options);

    /// Queues this rank's part. As a rule it does not wait; where the program is not synchronizing,
    /// one call in eight begins with a barrier.
    [[nodiscard]] base::Result<void> start(const void* in, void* out);
    /// Whether the call is complete here; the result is in its place then.
    [[nodiscard]] base::Result<bool> test();
    [[nodiscard]] base::Result<void> wait();

    [[nodiscard]] const plan::OffloadPlan& plan() const { return plan_; }
    [[nodiscard]] std::string_view algorithm() const { return algorithm_; }
    /// Descriptors that were queued so far, all calls.
    [[nodiscard]] std::uint64_t queued() const { return queued_; }
    /// How often this rank has called the network, for whatever reason.
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
    /// Counter 0 counts completions that no stage counts.
    [[nodiscard]] std::uint32_t counter(plan::OffloadStage stage) const {
        return static_cast<std::uint32_t>(1 + (stage - 1) * banks_ + bank());
    }
    [[nodiscard]] std::uint64_t threshold(plan::OffloadStage stage) const {
        return ((calls_ - 1) / banks_ + 1) * plan_.events[stage - 1];
    }
    [[nodiscard]] bool complete(plan::OffloadStage stage);
    void fill(std::uint64_t bank);
    [[nodiscard]] base::Result<void> queue_some();
    [[nodiscard]] bool queued_are_done();
    [[nodiscard]] base::Result<void> check_failures();
    [[nodiscard]] std::string what_is_missing();
    void take_result();

    Team& team_;
    Call call_;
    OffloadOptions options_;
    OffloadElements elements_;
    std::uint32_t element_bytes_ = 1;
    std::string algorithm_;
    plan::OffloadPlan plan_;
    std::uint64_t banks_ = 2;
    bool meets_ = false;            ///< before banks are used again
    std::uint64_t bank_bytes_ = 0;  ///< the same on all members
    std::unique_ptr<std::byte, Free> memory_;
    std::unique_ptr<link::TriggeredPort> port_;  ///< before the memory goes

    std::uint64_t calls_ = 0;
    bool running_ = false;
    void* out_ = nullptr;
    std::size_t first_ = 0;          ///< of the descriptors that were queued together last
    std::size_t next_ = 0;           ///< the one that is queued next
    std::uint64_t completions_ = 0;  ///< that counter 0 is to reach
    std::uint64_t queued_ = 0;
    std::uint64_t entries_ = 0;
};

}  // namespace weft::run
