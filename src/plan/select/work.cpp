// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/work.hpp"

#include "plan/simulate/touched.hpp"

namespace weft::plan {

void Work::add_message(std::uint64_t message_bytes, bool far, bool slot) {
    ++messages;
    bytes += message_bytes;
    slots += slot ? 1 : 0;
    if (!far) return;
    ++far_messages;
    far_bytes += message_bytes;
    far_slots += slot ? 1 : 0;
}

void Work::multiply(std::uint64_t times) {
    for (std::uint64_t* part : {&messages, &far_messages, &bytes, &far_bytes, &slots, &far_slots})
        *part *= times;
    combining *= static_cast<Time>(times);
}

Time Work::sent(const PutCost& near, const PutCost& far) const {
    __extension__ using Wide = __int128;
    const Wide sum =
        Wide{messages - far_messages} * (near.issue + near.receive) +
        Wide{far_messages} * (far.issue + far.receive) + Wide{slots - far_slots} * near.slot +
        Wide{far_slots} * far.slot +
        (Wide{bytes - far_bytes} * near.byte_fs + Wide{far_bytes} * 2 * far.byte_fs) / 1000;
    return static_cast<Time>(sum);
}

std::uint64_t copied_out_bytes(const Program& program, const VectorSize& size) {
    std::uint64_t bytes = 0;
    const auto add = [&](const Happening& step) { bytes += step.slot_bytes; };
    for_each_touching(program, size, add, true);
    return bytes;
}

std::uint64_t exposed_slot_bytes(const Program& program, const VectorSize& size,
                                 const std::function<bool(Rank peer)>& is_near) {
    const auto slots = slots_filled_by(program, [&](Rank peer) { return !is_near(peer); });
    const Partition partition = program.partition(size.elements);
    std::uint64_t elements = 0;
    for (const Step& step : program.steps)
        if (step.kind == StepKind::expose && is_near(step.peer))
            elements += slot_elements(program, partition, step, 0, slots);
    return elements * size.element_bytes;
}

Time cold_time(const Program& program, const VectorSize& size, const MessageModel& costs,
               const std::function<bool(Rank peer)>& is_near) {
    if (!costs.is_cold(size.elements * size.element_bytes)) return 0;
    const std::uint64_t elements = vector_elements(program, program.partition(size.elements));
    const std::int64_t fs = costs.cold_fs_of(elements * size.element_bytes);
    if (fs == 0) return 0;
    return to_time(static_cast<std::int64_t>(touched_bytes(program, size, is_near)) * fs);
}

}  // namespace weft::plan
