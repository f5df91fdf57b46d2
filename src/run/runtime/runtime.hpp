// SPDX-License-Identifier: BSD-3-Clause
// runtime.hpp - builds and owns everything: the job, the engine, the teams, the heap.
//
// Idea     The composition root. No globals: several runtimes fit in one process.
// Holds    One thread drives a runtime at a time, each for as long as the engine's turn is its own
//          where several may call. Destructors do not communicate; finalize() does.
// Next     team.hpp for calls; job.hpp for start-up; include/weft/weft.hpp for what users see.
#pragma once

#include <atomic>
#include <bitset>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "link/wire/wire.hpp"
#include "run/execute/external_progress.hpp"
#include "run/execute/recorder.hpp"
#include "run/runtime/clocks.hpp"
#include "run/runtime/job.hpp"
#include "run/runtime/layout.hpp"
#include "run/runtime/measured_files.hpp"
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
    /// Joins the job of this process with the settings of an environment (as `environ`).
    [[nodiscard]] static base::Result<std::unique_ptr<Runtime>> create(
        const char* const* environment);
    /// The same with ranks that meet otherwise than by their launcher, which learn of a failure.
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
    /// Of what calls do; nullptr if it was not asked for.
    [[nodiscard]] Recorder* recorder() { return recorder_.get(); }

    /// Held by calls that make and end teams and symmetric memory, where threads call at once:
    /// these agree in several exchanges about what is free.
    using Setup = std::unique_lock<std::recursive_mutex>;
    [[nodiscard]] Setup begin_setup() {
        return settings_.threads == base::ThreadLevel::multiple ? Setup(setup_) : Setup();
    }

    /// A new team of these members (ranks of the job), already agreed about; see Team::split.
    Team& add_team(std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick);
    void remove_team(Team& team);
    /// Before the first call of a team that needs so many cells of a bank. If that fails, every
    /// later call does.
    void use_cells(std::uint32_t team, std::uint32_t cells);
    /// Collective over the members of a new team alone, which need not have a team in common but
    /// the world. job_ranks: the members, this one among them, in the order of the team, the same
    /// on all. Fails on all members if no region is free on all of them.
    [[nodiscard]] base::Result<Team*> create_team(std::vector<Rank> job_ranks,
                                                  const Exchange& exchange);
    /// Not collective: this rank makes no more calls on the team, and says so to its members. Calls
    /// in flight go on. Its region is free here when all members have left it.
    void leave_team(Team& team);
    /// Teams all of whose members are members of this one, too, that are abandoned here and have no
    /// call in flight, by place in the table.
    [[nodiscard]] std::vector<Team*> abandoned_within(const Team& team) const;
    [[nodiscard]] std::uint64_t next_team_serial() { return ++team_serials_; }
    /// Regions that no team of this rank uses, as bits.
    [[nodiscard]] std::uint64_t free_regions() {
        end_left_teams();
        return ~used_regions_ & kRegionMask;
    }
    /// A tick above every one that this rank has used on any team.
    [[nodiscard]] base::Tick tick_bound() const;

    /// Memory at the same offset on all members of a team; see Team.
    [[nodiscard]] SymmetricHeap& heap() { return heap_; }
    /// Memory of the callers; see Team.
    [[nodiscard]] RegisteredMemory& registered() { return registered_; }
    /// Near members may ask this rank for memory that they cannot reach; from here on.
    void serve_near(const Team& team);
    /// Whether a rank that only loads and stores still has to drive something now and then: others
    /// may ask it.
    [[nodiscard]] bool is_asked() const {
        return job_.nodes_linked() || serves_near_.load(std::memory_order_relaxed);
    }
    /// This rank's memory at an offset of its segment. Not after finalize().
    [[nodiscard]] std::byte* at(std::uint64_t offset) const {
        return job_.wire->near(job_.bootstrap->rank()) + offset;
    }
    /// The offset of memory in this rank's heap; link::kNoOffset for any other.
    [[nodiscard]] std::uint64_t heap_offset(const void* memory) const;
    /// Where a rank of the job has what this rank has at `memory`, in its heap; nullptr if loads
    /// and stores do not reach it.
    [[nodiscard]] std::byte* on_rank(const void* memory, Rank job_rank) const;

    /// Where memory of this rank lies in its segment; far beyond its end for any other.
    [[nodiscard]] std::uint64_t offset_of(const void* memory) const {
        return reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(own_);
    }

    // --- active messages; see run/onesided/messages.hpp ---

    /// number: below 256. No function: messages for it wait again.
    [[nodiscard]] base::Result<void> set_handler(int number, const MessageHandler& handler);
    /// Sends a short message to a near rank that has room for it, as it mostly is; false:
    /// send_message() sends it, or says why not.
    [[nodiscard]] bool send_at_once(Rank job_rank, int handler, const void* data,
                                    std::size_t bytes) noexcept;
    /// To a rank of the job. In a handler it never waits.
    [[nodiscard]] base::Result<void> send_message(Rank job_rank, int handler, const void* data,
                                                  std::size_t bytes);
    /// Whether this thread runs a handler.
    [[nodiscard]] bool in_handler() const {
        // Acquire: pairs with the release of who opened messages. A thread in a handler sees them.
        const auto* const handling = handling_.load(std::memory_order_acquire);
        if (handling == nullptr) return false;
        const std::thread::id runs = handling->load(std::memory_order_relaxed);
        return runs != std::thread::id() && runs == std::this_thread::get_id();
    }
    [[nodiscard]] std::size_t message_bytes_max() const { return layout_.messages.bytes_max(); }

    // --- calls that were started ---

    /// A call was started and its caller goes elsewhere.
    void wake_progress_thread();
    [[nodiscard]] bool ended(const Operation& operation);
    /// Whether the call has ended; if not, drives everything once.
    [[nodiscard]] bool test(const Operation& operation);
    void wait(Operation& operation);
    /// The same up to a moment; whether it has ended.
    [[nodiscard]] bool wait(Operation& operation, base::Deadline deadline);
    /// How a call ended; it must have. The operation is not the caller's any more.
    [[nodiscard]] base::Result<void> finish(Operation& operation);
    /// The caller has no more use for the operation; the call goes on.
    void release(Operation& operation);

    /// For calls that need no progress themselves, but whose callers others may wait for.
    void progress_now_and_then() {
        constexpr unsigned kProgressEvery = 32;
        if (!is_asked()) return;
        // Threads that call at once may lose some.
        const unsigned calls = calls_.load(std::memory_order_relaxed) + 1;
        calls_.store(calls, std::memory_order_relaxed);
        if (calls % kProgressEvery == 0) progress();
    }
    void progress();
    /// Waits call the function from now on, and do not sleep; nullptr: no more.
    void set_external(void (*function)(void* argument), void* argument);
    /// Returns when all that this rank has put and got is done, here and at its peers.
    [[nodiscard]] base::Result<void> settle_onesided();
    /// Returns when all messages of this rank are on their way.
    [[nodiscard]] base::Result<void> settle_messages();
    /// Ends the job on all ranks.
    [[noreturn]] void abort(int status);
    [[nodiscard]] bool finalized() const { return finalized_; }
    /// Writes that this rank has made over the network so far.
    [[nodiscard]] std::uint64_t network_writes() const;
    /// Collective over the job: waits for all ranks, drains, leaves the job.
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
    [[nodiscard]] base::Result<void> begin_trace();
    [[nodiscard]] base::Result<void> write_trace();
    [[nodiscard]] base::Result<void> print_statistics();
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
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<RealEngine> engine_;
    ExternalProgress& external_;  ///< the engine's
    std::unique_ptr<RealOneSided> onesided_;
    std::unique_ptr<RealMessages> messages_;  ///< nullptr: no message was sent or awaited yet
    /// Which thread runs handlers of messages, if one does; nullptr until messages are opened.
    std::atomic<const std::atomic<std::thread::id>*> handling_{nullptr};
    SymmetricHeap heap_;
    RegisteredMemory registered_;
    std::atomic<bool> serves_near_{false};
    std::vector<std::unique_ptr<Team>> teams_;
    std::uint64_t used_regions_ = 0;
    std::uint64_t team_serials_ = 0;
    base::Tick retired_tick_ = 1;  ///< above the ticks of teams that are gone
    bool finalized_ = false;
    std::uint64_t network_writes_ = 0;    ///< up to finalize()
    std::optional<ClockOffsets> clocks_;  ///< at the start, if a trace is asked for
    std::atomic<unsigned> calls_{0};
    std::recursive_mutex setup_;
    std::unique_ptr<RealProgressThread> progress_thread_;  ///< last: it drives the engine
};

}  // namespace weft::run
