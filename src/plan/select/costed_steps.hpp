// SPDX-License-Identifier: BSD-3-Clause
// costed_steps.hpp - the steps of a rank's program with their times on a machine.
//
// Idea     The costs of puts price the bytes and buffers of each executed step. The sampled ranks
//          of a prediction and the images of the simulator (tools/simulate/image.hpp) use the
//          same times.
// Next     sampled_ranks.hpp.
#pragma once

#include <cstdint>

#include "plan/select/executed_steps.hpp"
#include "plan/select/put_models.hpp"

namespace weft::plan {

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
