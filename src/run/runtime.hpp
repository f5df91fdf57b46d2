// SPDX-License-Identifier: BSD-3-Clause
// runtime.hpp - builds and owns all parts of a rank: the job, the engine, the teams, the memory.
//
// Idea     The constructor passes to each part references to the parts that it uses, so several
//          runtimes fit in one process.
// Holds    One thread at a time drives a runtime: the thread that holds the engine's turn.
//          Destructors do not communicate; finalize() does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "run/job/engine_progress.hpp"
#include "run/job/job.hpp"
#include "run/job/layout.hpp"
#include "run/job/measured_files.hpp"
#include "run/memory/active_messages.hpp"
#include "run/memory/locks.hpp"
#include "run/memory/registered_memory.hpp"
#include "run/memory/remote_memory.hpp"
#include "run/memory/symmetric_heap.hpp"
#include "run/observe/reports.hpp"
#include "run/reduce/reduce.hpp"
#include "run/team/teams.hpp"

namespace weft::run {

struct EngineOptions;

class Runtime {
  public:
    /// Joins a job. `environment` has the form of `environ` and contains the settings. If
    /// `bootstrap` is null, joins the launcher's job. Else the caller calls finish_startup() of
    /// `bootstrap`, which fails if a rank has failed, and then begin_reports().
    [[nodiscard]] static base::Result<std::unique_ptr<Runtime>> create(
        const char* const* environment, std::unique_ptr<link::Bootstrap> bootstrap = nullptr);
    /// Prepares the reports of WEFT_TRACE. Collective.
    base::Result<void> begin_reports();
    ~Runtime();
    [[nodiscard]] const base::Settings& settings() const { return settings_; }
    [[nodiscard]] const Job& job() const { return job_; }
    [[nodiscard]] const SegmentLayout& layout() const { return layout_; }
    [[nodiscard]] const ReduceTable& kernels() const { return kernels_; }
    [[nodiscard]] Team& world() { return teams_.world(); }
    [[nodiscard]] Teams& teams() { return teams_; }
    [[nodiscard]] SymmetricHeap& heap() { return heap_; }
    [[nodiscard]] RegisteredMemory& registered() { return registered_; }
    /// Returns the one-sided calls of a team. `stream`: of a context; nullptr: the team's own.
    [[nodiscard]] RemoteMemory remote(const Team& team, Stream* stream = nullptr) {
        return {memory_, registered_, team, stream};
    }
    [[nodiscard]] ActiveMessages& messages() { return messages_; }
    [[nodiscard]] EngineProgress& progress() { return progress_; }
    [[nodiscard]] std::uint64_t network_writes() const;
    /// Ends the job on all ranks, with this exit status.
    [[noreturn]] void abort(int status);
    /// Completes all communication, waits for all ranks, and leaves the job. Collective.
    base::Result<void> finalize();

  private:
    Runtime(base::Settings settings, MeasuredFiles measured, Job job, const ReduceTable& kernels);
    [[nodiscard]] EngineOptions engine_options();
    [[nodiscard]] Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
    [[nodiscard]] base::Result<void> write_reports();
    [[nodiscard]] base::Result<void> meet_all();
    [[nodiscard]] base::Result<void> meet_survivors();

    base::Settings settings_;
    MeasuredFiles measured_;
    SegmentLayout layout_;
    ReduceTable kernels_;
    Job job_;
    base::Log log_;
    std::optional<Recorder> recorder_;    ///< empty: no reports
    std::optional<ClockOffsets> clocks_;  ///< offsets at start-up; empty: no trace
    std::unique_ptr<RealEngine> engine_;
    std::unique_ptr<RealOneSided> onesided_;
    EngineProgress progress_;
    ActiveMessages messages_;
    SetupLock setup_;
    TeamServices services_;
    Teams teams_;
    MemoryServices memory_;
    SymmetricHeap heap_;
    RegisteredMemory registered_;
    bool finalized_ = false;
    std::uint64_t network_writes_ = 0;  ///< network_writes() at the end of finalize()
};

}  // namespace weft::run
