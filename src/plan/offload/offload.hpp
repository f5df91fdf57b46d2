// SPDX-License-Identifier: BSD-3-Clause
// offload.hpp - a program as descriptors: what a network card does of a call without its host.
//
// Idea     A descriptor is a write, or a write that combines, which starts when a counter has
//          reached a number. The program of a rank is walked once. What it waits for between two
//          puts forms a *stage*, which has a counter; its puts become descriptors that start when
//          the stage before them is complete. A reduction becomes a place that starts as the
//          operation's identity and into which every operand is combined: what peers put arrives
//          there at once, what lies here is combined by a descriptor to this rank itself.
// Why      Arrivals of a later stage may come early, so stages do not share a counter. That a stage
//          was complete before the next one is known there by one more event: the last descriptor
//          that it started lands in the next stage, or counts its completion there.
// Holds    Pure. Places are written once a call: no descriptor reads what a later one overwrites.
//          A reduction whose order shows in the result has two operands a place, which commute:
//          whichever comes first, the bits are the same.
// Next     docs/offload.md; link/fabric/triggered.hpp for who runs them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

/// What is offloaded, and what one descriptor can move.
struct OffloadRequest {
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    bool any_order = false;  ///< operands of a reduction give the same bits in any order
    std::uint64_t write_bytes_max = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t combine_bytes_max = 4096;
};

/// Where a bare signal is written, and from where: the first bytes of the memory.
inline constexpr std::uint64_t kSignalBytes = 8;

/// Stages count from 1; 0 stands for the start of the call.
using OffloadStage = std::uint32_t;

struct Descriptor {
    Rank peer = 0;               ///< may be this rank
    bool combine = false;        ///< target = target (op) source; else target = source
    OffloadStage after = 0;      ///< starts when this stage is complete here
    OffloadStage counted = 0;    ///< its landing counts in this stage of the peer
    OffloadStage completes = 0;  ///< its completion counts in this stage here; 0: in none
    std::uint64_t source = 0;    ///< offset in this rank's memory
    std::uint64_t target = 0;    ///< offset in the peer's memory
    std::uint64_t bytes = 0;
};

/// Elements between the caller's vector and the memory.
struct OffloadCopy {
    std::uint64_t offset = 0;  ///< in the memory
    std::uint64_t first = 0;   ///< element of the vector
    std::uint64_t count = 0;
};

/// One rank's part of a call. Its memory is used for one call at a time.
struct OffloadPlan {
    std::vector<Descriptor> descriptors;  ///< in the order of the program
    std::vector<std::uint64_t> events;    ///< by stage - 1: what a call counts there
    std::uint64_t memory_bytes = 0;
    std::vector<OffloadCopy> inputs;   ///< from the caller's vector, before anything starts
    std::vector<OffloadCopy> fills;    ///< identities, before a peer may start the call
    std::vector<OffloadCopy> outputs;  ///< to the caller's vector, when all stages are complete
    bool reduces = false;              ///< this rank's result was combined here

    [[nodiscard]] std::size_t stages() const { return events.size(); }
};

/// Makes plans of the ranks of one call. Keeps what it has looked at: a rank's plan depends on the
/// programs of those it exchanges data with.
class Offloader {
  public:
    using ProgramOf = std::function<base::Result<Program>(Rank)>;

    Offloader(ProgramOf program_of, const OffloadRequest& request);
    ~Offloader();
    Offloader(const Offloader&) = delete;
    Offloader& operator=(const Offloader&) = delete;

    /// Status::unsupported, with the reason, for programs that have no such form.
    [[nodiscard]] base::Result<OffloadPlan> plan_of(Rank rank);

  private:
    struct Sent;
    struct Landing;
    struct Transfer;
    struct Trace;
    class Walk;

    [[nodiscard]] base::Result<const Program*> program(Rank rank);
    [[nodiscard]] base::Result<const Sent*> sent_by(Rank rank);
    [[nodiscard]] base::Result<const Trace*> trace_of(Rank rank);
    [[nodiscard]] base::Result<Descriptor> joined(Rank rank, const Transfer& transfer);
    void add(OffloadPlan& plan, Descriptor whole) const;
    static void link(OffloadPlan& plan, Rank rank);
    [[nodiscard]] std::uint64_t piece_bytes(bool combine) const;
    [[nodiscard]] std::uint64_t pieces(std::uint64_t bytes, bool combine) const;

    ProgramOf program_of_;
    OffloadRequest request_;
    std::map<Rank, Program> programs_;
    std::map<Rank, std::unique_ptr<Sent>> sent_;
    std::map<Rank, std::unique_ptr<Trace>> traces_;
};

}  // namespace weft::plan
