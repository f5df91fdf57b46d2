// SPDX-License-Identifier: BSD-3-Clause
// executed_steps.hpp - bytes and buffers that each executed step of a program uses, and its times.
//
// Idea     Loops are unrolled and blocks become bytes. A step sends a payload, touches buffers of
//          local peers in place, copies between buffers of the rank itself, or reads put targets. A
//          copy between a scratch buffer and the same units of the input or output costs nothing:
//          such a scratch buffer shares their memory if possible (run/bind/bind.hpp). A
//          copy of a root's whole buffer costs nothing either, since input and output are one
//          buffer there.
//          The costs of puts convert bytes and buffers to times. The sampled ranks of a prediction
//          and the images of the simulator (tools/simulate/image.hpp) use the same times.
// Next     sampled_ranks.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/schedule/cursor.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"
#include "plan/select/put_models.hpp"

namespace weft::plan {

/// One execution of a step.
struct ExecutedStep {
    StepKind kind = {};
    bool message = false;  ///< the step raises a flag
    Rank peer = kNoRank;
    std::uint64_t key = 0;       ///< number * segments + segment, for sends and waits
    bool published = false;      ///< the step waits for a published cell
    bool lagged = false;         ///< the step gives or awaits a credit for a later iteration
    std::uint32_t segment = 0;   ///< iteration of a loop
    bool shared = false;         ///< the message may be published instead (StepFlags)
    Time pause = 0;              ///< duration of a sleep or compute step
    std::uint64_t bytes = 0;     ///< size of the message, or of one operand
    std::uint64_t room = 0;      ///< largest size of the message that a wait awaits
    std::uint32_t operands = 0;  ///< number of operands of a reduction
    std::uint32_t times = 1;     ///< number of executions that this one represents
    /// Number of local peers' buffers that are read or written in place.
    std::uint32_t mapped_buffers = 0;
    std::uint64_t mapped_bytes = 0;  ///< bytes copied from or to such buffers
    std::uint64_t own_bytes = 0;     ///< bytes copied between the rank's own buffers
    std::uint64_t slot_bytes = 0;    ///< bytes copied out of put targets, but not to a local peer
    /// Bytes copied or reduced out of the selected put targets.
    std::uint64_t unpacked_bytes = 0;
    /// Bytes of memory that the step reads or writes in a call on one node, without an operand that
    /// the preceding step has just written. Put targets count only in programs without segments;
    /// pieces of segments stay in a cache.
    std::uint64_t memory_bytes = 0;
};

/// Reads the steps of a program, which must outlive this object.
class ExecutedSteps {
  public:
    /// Selects the fields that take time to compute. Fields that are not selected are zero.
    struct Wanted {
        bool own = false;                 ///< own_bytes and slot_bytes
        bool memory = false;              ///< memory_bytes
        std::vector<bool> unpacked = {};  ///< by number: put targets that unpacked_bytes counts
        std::uint32_t iterations = ~0U;   ///< largest number of iterations of a loop to execute
    };

    ExecutedSteps(const Program& program, const BufferSize& size, Wanted wanted);
    ExecutedSteps(const Program& program, const BufferSize& size)
        : ExecutedSteps(program, size, Wanted{}) {}

    /// Calls visit(ExecutedStep) for each executed step of a lane in order.
    template <class Visit>
    void for_each(const Lane& lane, Visit visit) const {
        for (Cursor cursor = begin_of(lane, program_.segments); !cursor.ended();
             cursor.next(program_.segments)) {
            const Step& step = program_.steps[cursor.at];
            if (step.kind == StepKind::loop)
                cursor.open_loop(step.signal, std::min(program_.repeats(step), wanted_.iterations));
            else if (!skips(cursor, step))
                visit(read(step, cursor.segment));
        }
    }
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Lane& lane : program_.lanes) for_each(lane, visit);
    }
    /// Calls visit(ExecutedStep) once for each step; ExecutedStep::times counts loop iterations.
    template <class Visit>
    void for_each_once(Visit visit) const {
        for (const Lane& lane : program_.distinct_lanes()) {
            std::uint32_t repeats = 1;
            std::uint32_t body_end = 0;
            for (std::uint32_t at = lane.first; at < lane.first + lane.count; ++at) {
                const Step& step = program_.steps[at];
                if (at >= body_end) repeats = 1;
                if (step.kind == StepKind::loop) {
                    repeats = program_.repeats(step);
                    body_end = at + 1 + step.signal;
                    continue;
                }
                ExecutedStep executed = read(step, 0);
                executed.times = repeats - std::min<std::uint32_t>(repeats, step.lag);
                if (executed.times > 0) visit(executed);
            }
        }
    }

  private:
    [[nodiscard]] ExecutedStep read(const Step& step, std::uint32_t segment) const;

    const Program& program_;
    std::uint32_t element_bytes_;
    Partition partition_;
    Wanted wanted_;
    bool touches_;  ///< steps touch memory of local peers, or own copies are wanted
};

/// Returns the number of elements of a block that starts at unit `first`.
[[nodiscard]] std::uint64_t elements_in(const Partition& partition, const Block& block,
                                        std::uint32_t first);
/// Returns the bytes of the caller's buffers between the first and the last unit that the program
/// uses. Without segments, adds the bytes that the rank puts.
[[nodiscard]] std::uint64_t buffer_bytes(const Program& program, const BufferSize& size);
/// Returns, by number, whether a put target is filled by a rank for which holds() is true. The
/// program's waits name the ranks.
[[nodiscard]] std::vector<bool> slots_filled_by(const Program& program,
                                                const std::function<bool(Rank)>& holds);
/// Returns the number of the caller's buffers that a rank exposes to local peers: 0 to 2.
[[nodiscard]] std::uint32_t exposed_buffers(const Program& program,
                                            const std::function<bool(Rank peer)>& is_near);
/// Returns the bytes of put targets that other nodes have filled and the rank exposes to local
/// peers.
[[nodiscard]] std::uint64_t exposed_slot_bytes(const Program& program, const BufferSize& size,
                                               const std::function<bool(Rank peer)>& is_near);

struct CostedStep {
    enum class Kind : std::uint8_t { send, publish, wait, work };
    Kind kind = Kind::work;
    bool published = false;     ///< a wait for a published cell
    bool exposes = false;       ///< a send that names a buffer and carries no data
    bool lagged = false;        ///< a credit, whose wait is in a later iteration
    std::uint32_t segment = 0;  ///< iteration of a loop
    Rank peer = kNoRank;
    std::uint64_t key = 0;  ///< number * segments + segment; equal at both ends of a message
    Time busy = 0;          ///< time that the rank is busy; of a send, including `memory`
    Time memory = 0;   ///< of a send: time for bytes that are not in the cache, before the message
    Time latency = 0;  ///< latency of the message that this rank sends or awaits
    Time hold = 0;     ///< time that the message occupies each NIC; 0: it uses no NIC
    Time two_way = 0;  ///< extra time of a sent message if its receiver has a message in flight
    Time taken = 0;    ///< time of the receiver for the bytes; of a wait, an upper bound
};

/// Prices the steps of one program. The program and the models must outlive this object.
class CostedSteps {
  public:
    /// Executes at most `iterations` iterations of each loop.
    CostedSteps(const Program& program, const BufferSize& size, const PutModels& models,
                std::uint32_t iterations = ~0U);

    /// Calls visit(CostedStep) for each executed step of a lane in order.
    template <class Visit>
    void for_each(const Lane& lane, Visit visit) const {
        steps_.for_each(lane, [&](const ExecutedStep& step) { visit(costed(step)); });
    }
    /// Returns the time to expose buffers to local peers, before the first step.
    [[nodiscard]] Time expose_time() const;

  private:
    [[nodiscard]] CostedStep costed(const ExecutedStep& step) const;
    [[nodiscard]] ExecutedSteps::Wanted wanted(const BufferSize& size,
                                               std::uint32_t iterations) const;
    [[nodiscard]] const MessageModel& remote() const {
        return models_.far ? models_.far->model : models_.model;
    }
    [[nodiscard]] bool is_far(Rank peer) const {
        if (!models_.far || peer == kNoRank) return false;
        const std::vector<Rank>& node_of = *models_.far->node_of;
        return node_of[static_cast<std::size_t>(peer)] !=
               node_of[static_cast<std::size_t>(program_.rank)];
    }

    const Program& program_;
    const PutModels& models_;
    std::int64_t cold_fs_ = 0;  ///< extra time for each byte of memory that the program uses
    ExecutedSteps steps_;
};

}  // namespace weft::plan
