// SPDX-License-Identifier: BSD-3-Clause
// offload.hpp - a call that the network runs: its ranks start it, and need not take part later.
//
// Idea     The programs of the call become descriptors (plan/offload). When a rank starts its part,
//          they are queued at a separate endpoint (link/fabric/triggered.hpp). From then on the
//          rank may sleep; its peers still finish.
// Why      A peer may write data of the next call while this call is not complete here, so there
//          are banks. A synchronizing program has two: no rank starts the call after next before
//          all have entered the next. Other programs have several, and a barrier before the first
//          bank is reused.
// Holds    One call at a time. Every message uses the network, also between local ranks. The
//          initial contents of a bank are written when a call ends, before a peer can use
//          the bank again.
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
    std::size_t budget = 0;  ///< descriptors queued at a time; 0: all of a call
    std::string provider;    ///< empty: the job's provider
};

/// Tells whether calls can be offloaded over a provider, and the reason, from its profile alone.
struct OffloadVerdict {
    bool promised = false;
    std::string why;
};
[[nodiscard]] OffloadVerdict judge_offload(std::string_view provider);

/// Returns the default algorithm. Fails if the collective has none.
[[nodiscard]] base::Result<std::string_view> usual_offload(Collective collective);

class OffloadedCall {
  public:
    /// Prepares a call. Collective: all members pass the same call; its buffers are ignored. A
    /// failure occurs on all members.
    [[nodiscard]] static base::Result<std::unique_ptr<OffloadedCall>> create(
        Team& team, const Call& call, const OffloadOptions& options);

    /// Queues this rank's part, usually without waiting. If the program is not synchronizing, every
    /// eighth call begins with a barrier.
    [[nodiscard]] base::Result<void> start(const void* in, void* out);
    /// Returns true if the call is complete here. The result is then in the output.
    [[nodiscard]] base::Result<bool> test();
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
    /// Counter 0 counts completions that belong to no stage.
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
    bool meets_ = false;            ///< needs a barrier before banks are reused
    std::uint64_t bank_bytes_ = 0;  ///< equal on all members
    std::unique_ptr<std::byte, Free> memory_;
    std::unique_ptr<link::TriggeredPort> port_;  ///< destroyed before the memory

    std::uint64_t calls_ = 0;
    bool running_ = false;
    void* out_ = nullptr;
    std::size_t first_ = 0;          ///< first of the last queued descriptors
    std::size_t next_ = 0;           ///< next descriptor to queue
    std::uint64_t completions_ = 0;  ///< target of counter 0
    std::uint64_t queued_ = 0;
    std::uint64_t entries_ = 0;
};

}  // namespace weft::run
