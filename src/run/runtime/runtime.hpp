// SPDX-License-Identifier: BSD-3-Clause
// runtime.hpp - builds and owns everything: the job, the engine, the teams, the heap.
//
// Idea     The composition root. It has no globals, so several runtimes fit in one process.
// Holds    One thread at a time drives a runtime. If several threads may call, each drives while it
//          has the engine's turn. Destructors do not communicate; finalize() does.
// Next     team.hpp for calls; job.hpp for start-up; include/weft/weft.hpp for the user's view.
#pragma once

#include <atomic>
#include <bitset>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "link/wire/wire.hpp"
#include "run/execute/external_progress.hpp"
#include "run/job/job.hpp"
#include "run/job/layout.hpp"
#include "run/job/measured_files.hpp"
#include "run/observe/reports.hpp"
#include "run/runtime/registered_memory.hpp"
#include "run/runtime/symmetric_heap.hpp"
#include "run/runtime/team.hpp"

namespace weft::run {

struct EngineOptions;
class RealMessages;
class RealOneSided;
class RealProgressThread;

class Runtime {
  public:
    /// Joins the job of this process, with the settings of an environment in the form of `environ`.
    [[nodiscard]] static base::Result<std::unique_ptr<Runtime>> create(
        const char* const* environment);
    /// Joins a job with another bootstrap than the launcher's. On failure, notifies the bootstrap.
    [[nodiscard]] static base::Result<std::unique_ptr<Runtime>> create(
        const char* const* environment, std::unique_ptr<link::Bootstrap> bootstrap);
    ~Runtime();

    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    [[nodiscard]] Team& world() { return *teams_.front(); }
    [[nodiscard]] const base::Settings& settings() const { return settings_; }
    [[nodiscard]] const base::Log& log() const { return log_; }
    [[nodiscard]] const Job& job() const { return job_; }
    [[nodiscard]] RealEngine& engine() { return *engine_; }
    [[nodiscard]] RealOneSided& onesided() { return *onesided_; }
    [[nodiscard]] const SegmentLayout& layout() const { return layout_; }
    [[nodiscard]] const ReduceTable& kernels() const { return kernels_; }
    /// Returns the recorder of calls, or nullptr if none was requested.
    [[nodiscard]] Recorder* recorder() { return reports_.recorder(); }

    /// Lock for calls that make or end teams and symmetric memory, if several threads call. They
    /// agree with other ranks about free memory in several exchanges.
    using Setup = std::unique_lock<std::recursive_mutex>;
    [[nodiscard]] Setup begin_setup() {
        return settings_.threads == base::ThreadLevel::multiple ? Setup(setup_) : Setup();
    }

    /// Adds a team of members (ranks of the job) that have agreed about it; see Team::split.
    Team& add_team(std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick);
    void remove_team(Team& team);
    /// Prepares a team's cells before the first call that needs `cells` cells of a bank. If that
    /// fails, every later call fails.
    void use_cells(std::uint32_t team, std::uint32_t cells);
    /// Makes a team. Collective over its members only, which need not share another team than the
    /// world. `job_ranks` are the members in the order of the team, including this rank, and equal
    /// on all. Fails on all members if they have no free region in common.
    [[nodiscard]] base::Result<Team*> create_team(std::vector<Rank> job_ranks,
                                                  const Exchange& exchange);
    /// Leaves a team without communication, except for a notice to its members. This rank
    /// makes no more calls on it; calls in flight continue. Its region is free here when all
    /// members have left.
    void leave_team(Team& team);
    /// Returns teams that this rank has abandoned, without calls in flight, whose members all
    /// belong to `team`. Ordered by their places in the table.
    [[nodiscard]] std::vector<Team*> abandoned_within(const Team& team) const;
    [[nodiscard]] std::uint64_t next_team_serial() { return ++team_serials_; }
    /// Returns the regions that no team of this rank uses, as bits.
    [[nodiscard]] std::uint64_t free_regions() {
        end_left_teams();
        return ~used_regions_ & kRegionMask;
    }
    /// Returns a tick above all ticks that this rank has used on any team.
    [[nodiscard]] base::Tick tick_bound() const;

    /// Returns the memory at equal offsets on all members of a team; see Team.
    [[nodiscard]] SymmetricHeap& heap() { return heap_; }
    /// Returns the users' registered memory; see Team.
    [[nodiscard]] RegisteredMemory& registered() { return registered_; }
    /// Starts to serve requests of local members for memory that they cannot reach.
    void serve_near(const Team& team);
    /// Returns true if peers may send requests. Then even a rank that only loads and stores must
    /// drive the engine from time to time.
    [[nodiscard]] bool is_asked() const {
        return job_.nodes_linked() || serves_near_.load(std::memory_order_relaxed);
    }
    /// Returns this rank's memory at an offset of its segment. Not valid after finalize().
    [[nodiscard]] std::byte* at(std::uint64_t offset) const {
        return job_.wire->near(job_.bootstrap->rank()) + offset;
    }
    /// Returns the offset of memory in this rank's heap, or link::kNoOffset for other memory.
    [[nodiscard]] std::uint64_t heap_offset(const void* memory) const;
    /// Returns the peer's address of the same heap memory, or nullptr if loads and stores
    /// cannot reach it.
    [[nodiscard]] std::byte* on_rank(const void* memory, Rank job_rank) const;

    /// Returns the offset of memory in this rank's segment. For other memory, it
    /// exceeds the segment.
    [[nodiscard]] std::uint64_t offset_of(const void* memory) const {
        return reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(own_);
    }

    // --- active messages; see run/onesided/messages.hpp ---

    /// Sets a handler of a number below 256. Without a function, its messages wait again.
    [[nodiscard]] base::Result<void> set_handler(int number, const MessageHandler& handler);
    /// Sends a short message to a local rank that has room, which is the usual case. Otherwise
    /// returns false; then use send_message(), which sends it or returns the error.
    [[nodiscard]] bool send_at_once(Rank job_rank, int handler, const void* data,
                                    std::size_t bytes) noexcept;
    /// Sends a message to a rank of the job. Never waits inside a handler.
    [[nodiscard]] base::Result<void> send_message(Rank job_rank, int handler, const void* data,
                                                  std::size_t bytes);
    /// Returns true if this thread runs a handler.
    [[nodiscard]] bool in_handler() const {
        // Acquire: pairs with the release in open_messages(). A thread in a handler sees the id.
        const auto* const handling = handling_.load(std::memory_order_acquire);
        if (handling == nullptr) return false;
        const std::thread::id runs = handling->load(std::memory_order_relaxed);
        return runs != std::thread::id() && runs == std::this_thread::get_id();
    }
    [[nodiscard]] std::size_t message_bytes_max() const { return layout_.messages.bytes_max(); }

    // --- started calls ---

    /// Wakes the progress thread, because a call was started whose caller does not wait.
    void wake_progress_thread();
    [[nodiscard]] bool ended(const Operation& operation);
    /// Returns true if the call has ended. If not, drives everything once before.
    [[nodiscard]] bool test(const Operation& operation);
    void wait(Operation& operation);
    /// Waits until the call has ended or the deadline has passed. Returns true if it has ended.
    [[nodiscard]] bool wait(Operation& operation, base::Deadline deadline);
    /// Returns the result of an ended call. The operation must not be used after that.
    [[nodiscard]] base::Result<void> finish(Operation& operation);
    /// Ends the caller's use of the operation. The call continues.
    void release(Operation& operation);

    /// Drives everything in some calls only. For calls that need no progress, whose callers may be
    /// awaited by peers.
    void progress_now_and_then() {
        constexpr unsigned kProgressEvery = 32;
        if (!is_asked()) return;
        // Concurrent threads may lose some counts.
        const unsigned calls = calls_.load(std::memory_order_relaxed) + 1;
        calls_.store(calls, std::memory_order_relaxed);
        if (calls % kProgressEvery == 0) progress();
    }
    void progress();
    /// Makes waits call the function, and not sleep. nullptr ends that.
    void set_external(void (*function)(void* argument), void* argument);
    /// Completes all puts and gets of this rank, here and at its peers.
    [[nodiscard]] base::Result<void> settle_onesided();
    /// Returns when all messages of this rank have been sent.
    [[nodiscard]] base::Result<void> settle_messages();
    /// Ends the job on all ranks.
    [[noreturn]] void abort(int status);
    [[nodiscard]] bool finalized() const { return finalized_; }
    /// Returns the number of network writes that this rank has made.
    [[nodiscard]] std::uint64_t network_writes() const;
    /// Waits for all ranks, drains, and leaves the job. Collective over the job.
    base::Result<void> finalize();

  private:
    static constexpr std::uint64_t kRegionMask = (std::uint64_t{1} << SegmentLayout::kTeams) - 1;

    Runtime(base::Settings settings, MeasuredFiles measured, Job job, const ReduceTable& kernels);
    [[nodiscard]] EngineOptions engine_options();
    static bool serve(void* self) noexcept;
    static void on_immediate(void* self, std::uint64_t payload) noexcept;
    void open_messages();
    [[nodiscard]] base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes);
    void abort_job(const std::string& why);
    [[nodiscard]] JobExchange exchange();
    void end_left_teams();
    [[nodiscard]] bool keeps_order() const;  ///< of puts of one rank to another, on the network
    [[nodiscard]] int nodes_of(const std::vector<Rank>& job_ranks) const;
    [[nodiscard]] plan::Machine machine_of(const std::vector<Rank>& job_ranks) const;

    base::Settings settings_;
    MeasuredFiles measured_;
    SegmentLayout layout_;
    ReduceTable kernels_;
    Job job_;
    base::Log log_;
    std::byte* own_;  ///< start of this rank's segment
    Reports reports_;
    std::unique_ptr<RealEngine> engine_;
    ExternalProgress& external_;  ///< owned by the engine
    std::unique_ptr<RealOneSided> onesided_;
    /// Nullptr until a message is sent or a handler is set.
    std::unique_ptr<RealMessages> messages_;
    /// Id of the thread that runs handlers, if any. nullptr until messages are opened.
    std::atomic<const std::atomic<std::thread::id>*> handling_{nullptr};
    SymmetricHeap heap_;
    RegisteredMemory registered_;
    std::atomic<bool> serves_near_{false};
    std::vector<std::unique_ptr<Team>> teams_;
    std::uint64_t used_regions_ = 0;
    std::uint64_t team_serials_ = 0;
    base::Tick retired_tick_ = 1;  ///< above the ticks of removed teams
    bool finalized_ = false;
    std::uint64_t network_writes_ = 0;  ///< number of writes up to finalize()
    std::atomic<unsigned> calls_{0};
    std::recursive_mutex setup_;
    std::unique_ptr<RealProgressThread> progress_thread_;  ///< last: drives the engine
};

}  // namespace weft::run
