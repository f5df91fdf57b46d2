// SPDX-License-Identifier: BSD-3-Clause
// offload.hpp - converts a program to descriptors, which a NIC executes without the host.
//
// Idea     A descriptor is a write, or a combining write, that starts when a counter reaches a
//          number. The program of a rank is walked once. The waits between two puts form a *stage*,
//          which has a counter. Puts become descriptors that start when the preceding stage is
//          complete. A reduction becomes a *place*, a range of memory that starts as the
//          operation's identity. Puts of peers are combined into it on arrival. For each local
//          operand, this rank has a combining descriptor to itself.
// Why      Data for a later stage may arrive early, so stages do not share a counter. Each counter
//          has one more event, which shows that the previous stage is complete: the last descriptor
//          that the previous stage starts counts in it, by its arrival or by its completion.
// Holds    Equal programs and requests give equal plans. Each place is written once in a call: no
//          later descriptor overwrites data that an earlier one reads. If the order of operands may
//          change bits, a place combines two operands: operations commute, so two have no order.
// Next     docs/offload.md; link/fabric/triggered.hpp, which runs descriptors.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

/// The call to offload, and the limits of a descriptor.
struct OffloadRequest {
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    bool any_order = false;  ///< a reduction gives the same bits in any order of operands
    std::uint64_t write_bytes_max = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t combine_bytes_max = 4096;
};

/// Bytes that a signal without data writes. Its source and target are at offset 0 of the memory.
inline constexpr std::uint64_t kSignalBytes = 8;

/// Stages count from 1; 0 is the start of the call.
using OffloadStage = std::uint32_t;

/// A write. Offsets are in the ranks' offload memory (OffloadPlan::memory_bytes).
struct Descriptor {
    Rank peer = 0;             ///< target; may be the rank itself
    bool combine = false;      ///< target = target (op) source; else target = source
    OffloadStage after = 0;    ///< starts when this stage is complete at this rank
    OffloadStage counted = 0;  ///< its arrival counts in this stage of the peer
    /// Its completion counts in this stage of this rank; 0: in no stage.
    OffloadStage completes = 0;
    std::uint64_t source = 0;  ///< offset in this rank's memory
    std::uint64_t target = 0;  ///< offset in the peer's memory
    std::uint64_t bytes = 0;
};

/// Elements to copy between the caller's buffer and the memory.
struct OffloadCopy {
    std::uint64_t offset = 0;  ///< offset in the memory, in bytes
    std::uint64_t first = 0;   ///< first element of the buffer
    std::uint64_t count = 0;   ///< number of elements
};

/// One rank's part of a call. Only one call at a time may use its memory.
struct OffloadPlan {
    std::vector<Descriptor> descriptors;  ///< in the order of the program
    std::vector<std::uint64_t> events;    ///< by stage - 1: events that complete the stage
    std::uint64_t memory_bytes = 0;
    std::vector<OffloadCopy> inputs;  ///< from the caller's buffer, before the call starts
    std::vector<OffloadCopy> fills;   ///< ranges set to identities before a peer starts the call
    /// To the caller's buffer, after all stages are complete.
    std::vector<OffloadCopy> outputs;
    bool reduces = false;  ///< this rank combined its result

    [[nodiscard]] std::size_t stages() const { return events.size(); }
};

/// Makes plans for the ranks of one call. Caches programs and traces, because the plan of a rank
/// depends on the programs of its peers.
class Offloader {
  public:
    using ProgramOf = std::function<base::Result<Program>(Rank)>;

    Offloader(ProgramOf program_of, const OffloadRequest& request);
    ~Offloader();
    Offloader(const Offloader&) = delete;
    Offloader& operator=(const Offloader&) = delete;

    /// Returns the plan of a rank. Fails with Status::unsupported and the reason if its program
    /// cannot be offloaded.
    [[nodiscard]] base::Result<OffloadPlan> plan_of(Rank rank);

  private:
    struct Sent;
    struct Arrival;
    struct Transfer;
    struct Trace;
    class Walk;

    [[nodiscard]] base::Result<const Program*> program(Rank rank);
    [[nodiscard]] base::Result<const Sent*> sent_by(Rank rank);
    [[nodiscard]] base::Result<const Trace*> trace_of(Rank rank);
    [[nodiscard]] base::Result<Descriptor> whole_descriptor(Rank rank, const Transfer& transfer);
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
