// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/work.hpp"

#include "plan/simulate/touched.hpp"

namespace weft::plan {

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

Time cold_time(const Program& program, const VectorSize& size, const MessageModel& costs,
               const std::function<bool(Rank peer)>& is_mate) {
    if (!costs.is_cold(size.elements * size.element_bytes)) return 0;
    const std::uint64_t elements = vector_elements(program, program.partition(size.elements));
    const std::int64_t fs = costs.cold_fs_of(elements * size.element_bytes);
    if (fs == 0) return 0;
    return to_time(static_cast<std::int64_t>(touched_bytes(program, size, is_mate)) * fs);
}

}  // namespace weft::plan
