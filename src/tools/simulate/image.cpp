// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/image.hpp"

#include <algorithm>

namespace weft::lab {

namespace {

constexpr std::uint64_t kKeysMax = 1U << 29;  // a Word leaves 29 bits for its argument

}  // namespace

void ImagePart::reserve(std::size_t ranks) {
    if (lanes_.empty()) return;
    pieces_.reserve(pieces_.rows().size() * ranks / lanes_.size());
    lanes_.reserve(lanes_.size() + ranks);
}

base::Result<void> ImagePart::admit(const Program& header) {
    if (header.pairwise)
        return base::fail(
            Status::unsupported,
            "rank {}: a call with counts that only two ranks know cannot be simulated",
            header.rank);
    const std::uint64_t keys = std::uint64_t{header.slots} * header.segments;
    if (keys >= kKeysMax)
        return base::fail(Status::unsupported,
                          "rank {}: {} slots x {} segments, a simulation has at most {}",
                          header.rank, header.slots, header.segments, kKeysMax - 1);
    keys_ = std::max(keys_, static_cast<std::uint32_t>(keys));
    partition_ = header.partition(size_.elements);
    return base::Done{};
}

base::Result<void> ImagePart::check_capacity(Rank rank) const {
    if (!pieces_.overflowed()) return base::Done{};
    return base::fail(Status::unsupported,
                      "rank {}: the programs so far exceed the size of one part of a simulation",
                      rank);
}

base::Result<void> ImagePart::add(const Program& program) {
    WEFT_TRY(admit(program));
    const plan::CostedSteps steps(program, size_, models_);
    std::uint32_t number = 0;
    if (program.lanes.empty()) {
        begin_lane(program.rank, program.size, number++);
        pieces_.end_lane();
    }
    for (const plan::Lane& lane : program.lanes) {
        begin_lane(program.rank, program.size, number++);
        if (number == 1) compute(steps.expose_time());
        steps.for_each(lane, [&](const plan::CostedStep& step) {
            using Kind = plan::CostedStep::Kind;
            const auto key = static_cast<std::uint32_t>(step.key);
            const auto busy = [&] {
                if (step.peer == program.rank) return index_of({});
                return index_of({step.busy - step.memory, step.latency - models_.model.latency,
                                 step.hold, step.taken, step.two_way});
            };
            if (step.kind == Kind::wait && step.published) {
                pieces_.await_cell(key, step.peer);
            } else if (step.kind == Kind::wait) {
                pieces_.await(key);
            } else if (step.kind == Kind::publish) {
                pieces_.publish(key, busy());
            } else if (step.kind == Kind::send) {
                if (step.memory > 0) compute(step.memory);
                pieces_.send(key, busy(), step.peer);
            } else {
                compute(step.busy);
            }
        });
        pieces_.end_lane();
    }
    return check_capacity(program.rank);
}

void ImagePart::compute(Time time) {
    pieces_.interrupt();
    if (time > 0) pieces_.compute(index_of({.time = time}));
}

std::uint64_t ImagePart::bytes_in(const Block& block, std::uint32_t first) const {
    return plan::elements_in(partition_, block, first) * size_.element_bytes;
}

std::uint32_t ImagePart::index_of(const WordCosts& costs) {
    const auto mixed =
        static_cast<std::uint64_t>(costs.time + 3 * costs.delay) * 0x9e3779b97f4a7c15U;
    std::uint32_t& found = found_[mixed >> (64 - kFoundBits)];
    if (found < costs_.size() && costs_[found] == costs) return found;
    found = static_cast<std::uint32_t>(std::ranges::find(costs_, costs) - costs_.begin());
    if (found < costs_.size()) return found;
    costs_.push_back(costs);
    has_nics_ = has_nics_ || costs.hold > 0;
    has_works_ = has_works_ || costs.work > 0;
    return found;
}

}  // namespace weft::lab
