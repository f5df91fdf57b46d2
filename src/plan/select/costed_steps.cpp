// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/costed_steps.hpp"

namespace weft::plan {

CostedSteps::CostedSteps(const Program& program, const BufferSize& size, const PutModels& models,
                         std::uint32_t iterations)
    : program_(program),
      models_(models),
      cold_fs_(models.model.is_cold(size.elements * size.element_bytes)
                   ? models.model.cold_fs_of(buffer_bytes(program, size))
                   : 0),
      steps_(program, size, wanted(size, iterations)) {}

ExecutedSteps::Wanted CostedSteps::wanted(const BufferSize& size, std::uint32_t iterations) const {
    ExecutedSteps::Wanted wanted{
        .own = models_.model.copy_byte_fs > 0, .memory = cold_fs_ > 0, .iterations = iterations};
    if (remote().unpacks(size.elements * size.element_bytes))
        wanted.unpacked =
            slots_filled_by(program_, [&](Rank peer) { return !models_.far || is_far(peer); });
    return wanted;
}

Time CostedSteps::expose_time() const {
    if (models_.model.expose == 0) return 0;
    return models_.model.expose *
           exposed_buffers(program_, [&](Rank peer) { return !is_far(peer); });
}

CostedStep CostedSteps::costed(const ExecutedStep& step) const {
    using Kind = CostedStep::Kind;
    const MessageModel& local = models_.model;
    const bool far = is_far(step.peer);
    const MessageModel& model = far ? models_.far->model : local;
    const Time memory = to_time(static_cast<std::int64_t>(step.memory_bytes) * cold_fs_);
    CostedStep costed{.published = step.published,
                      .exposes = step.kind == StepKind::expose,
                      .lagged = step.lagged,
                      .segment = step.segment,
                      .peer = step.peer,
                      .key = step.key};
    if (step.peer == program_.rank) {  // a signal between lanes takes no time
        costed.kind = step.kind == StepKind::wait ? Kind::wait : Kind::send;
    } else if (step.kind == StepKind::wait) {
        costed.kind = Kind::wait;
        costed.busy = local.receive;
        costed.latency = model.latency;
        costed.hold = far ? models_.far->card.held(step.room) : 0;
        costed.taken = model.receive_bytes(step.room);
    } else if (step.message) {
        costed.kind = step.kind == StepKind::publish ? Kind::publish : Kind::send;
        costed.memory = step.kind == StepKind::put && !far ? memory : 0;
        costed.busy = model.busy(step.bytes) + costed.memory;
        costed.latency = model.latency;
        costed.hold = far ? models_.far->card.held(step.bytes) : 0;
        costed.two_way = model.two_way_time(step.bytes);
        costed.taken = model.receive_bytes(step.bytes);
    } else {
        if (step.kind == StepKind::reduce)
            costed.busy = local.combine(step.bytes, step.operands, step.mapped_buffers > 0);
        costed.busy += step.pause + memory + local.touch(step.mapped_buffers, step.mapped_bytes) +
                       local.copy(step.own_bytes) + remote().unpack(step.unpacked_bytes);
    }
    return costed;
}

}  // namespace weft::plan
