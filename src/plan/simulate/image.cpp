// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/image.hpp"

#include <algorithm>

#include "plan/schedule/canonical.hpp"

namespace weft::plan {

namespace {

constexpr std::uint64_t kKeysMax = 1U << 29;

bool is_raise(StepKind kind) {
    return kind == StepKind::put || kind == StepKind::signal || kind == StepKind::expose ||
           kind == StepKind::publish;
}

/// A signal with a lag raises nothing in the last segments, a wait none in the first ones.
bool happens(const Program& program, const Step& step, std::uint32_t segment, bool in_loop) {
    if (!in_loop || step.lag == 0) return true;
    return step.kind == StepKind::wait ? segment >= step.lag
                                       : segment + step.lag < program.segments;
}

/// Calls visit(step, segment) for each step of a lane as often as it happens.
template <class Visit>
void for_each_step(const Program& program, const Lane& lane, Visit visit) {
    const std::uint32_t end = lane.first + lane.count;
    for (std::uint32_t at = lane.first; at < end; ++at) {
        const Step& step = program.steps[at];
        if (step.kind != StepKind::loop) {
            visit(step, 0);
            continue;
        }
        for (std::uint32_t segment = 0; segment < program.segments; ++segment)
            for (std::uint32_t i = 1; i <= step.signal; ++i) {
                const Step& inner = program.steps[at + i];
                if (happens(program, inner, segment, true)) visit(inner, segment);
            }
        at += step.signal;
    }
}

/// Bytes of a list of blocks, or of one share of it.
std::uint64_t bytes_in(const Program& program, const Partition& partition, BlockList list,
                       std::uint32_t segment, std::uint32_t share) {
    std::uint64_t elements = 0;
    for (const Block& block : blocks_of(program, {list.start, list.count / share})) {
        const std::uint32_t first = block.first + block.advance * segment;
        if (block.stride == 1) {
            elements += partition.size(first, block.count);
            continue;
        }
        for (std::uint32_t i = 0; i < block.count; ++i)
            elements += partition.size(first + i * block.stride);
    }
    return elements;
}

/// What a message carries. An exposed block is named, not sent.
BlockList sent_by(const Step& step) {
    return step.kind == StepKind::expose ? BlockList{} : step.source;
}

}  // namespace

std::uint64_t raises_of(const Program& program) {
    std::uint64_t raises = 0;
    for (const Lane& lane : program.lanes)
        for_each_step(program, lane,
                      [&](const Step& step, std::uint32_t) { raises += is_raise(step.kind); });
    return raises;
}

void for_each_happening(const Program& program, const Lane& lane, const VectorSize& size,
                        const std::function<void(const Happening&)>& visit) {
    const Partition partition = program.partition(size.elements);
    for_each_step(program, lane, [&](const Step& step, std::uint32_t segment) {
        const bool waits = step.kind == StepKind::wait;
        const bool reduces = step.kind == StepKind::reduce;
        Happening happening{.kind = step.kind,
                            .message = is_raise(step.kind),
                            .peer = step.kind == StepKind::publish ? kNoRank : step.peer,
                            .published = waits && (step.flags & kFromPublished) != 0,
                            .operands = step.operands};
        // A wait with a lag is for what was raised so many segments before.
        const std::uint32_t raised =
            waits ? segment - std::min<std::uint32_t>(segment, step.lag) : segment;
        happening.key = std::uint64_t{step.signal} * program.segments + raised;
        if (happening.message || reduces)
            happening.bytes =
                bytes_in(program, partition, sent_by(step), segment, reduces ? step.operands : 1) *
                size.element_bytes;
        visit(happening);
    });
}

void for_each_message(const Program& program, const VectorSize& size,
                      const std::function<void(Rank peer, std::uint64_t bytes)>& visit) {
    for (const Lane& lane : program.lanes)
        for_each_happening(program, lane, size, [&](const Happening& happening) {
            if (happening.message) visit(happening.peer, happening.bytes);
        });
}

void for_each_reduction(
    const Program& program, const VectorSize& size,
    const std::function<void(std::uint64_t bytes, std::uint32_t operands)>& visit) {
    for (const Lane& lane : program.lanes)
        for_each_happening(program, lane, size, [&](const Happening& happening) {
            if (happening.kind == StepKind::reduce) visit(happening.bytes, happening.operands);
        });
}

void ImagePart::reserve(std::size_t ranks) {
    if (lanes_.empty()) return;
    words_.reserve(words_.size() / lanes_.size() * ranks * 9 / 8);
    lanes_.reserve(ranks);
}

base::Result<void> ImagePart::add(const Program& program) {
    const std::uint64_t keys = std::uint64_t{program.slots} * program.segments;
    if (keys >= kKeysMax)
        return base::fail(Status::unsupported,
                          "rank {}: {} numbers in {} segments are more than a simulation holds",
                          program.rank, program.slots, program.segments);
    keys_ = std::max(keys_, static_cast<std::uint32_t>(keys));
    partition_ = program.partition(size_.elements);
    std::uint32_t number = 0;
    const auto begin = [&] {
        lanes_.push_back({program.rank, number++, words_.size()});
        reception_ = kNoReception;
        busy_set_ = false;
    };
    if (program.lanes.empty()) {
        begin();
        add_word(Word::end, 0);
    }
    for (const Lane& lane : program.lanes) {
        begin();
        for_each_step(program, lane, [&](const Step& step, std::uint32_t segment) {
            add_step(program, step, segment);
        });
        add_word(Word::end, 0);
    }
    return base::Done{};
}

void ImagePart::add_step(const Program& program, const Step& step, std::uint32_t segment) {
    if (step.kind == StepKind::wait) return add_wait(program, step, segment);
    reception_ = kNoReception;
    switch (step.kind) {
        case StepKind::put:
        case StepKind::signal:
        case StepKind::expose:
            add_busy(program, step, segment);
            add_word(Word::send, key(program, step.signal, segment));
            words_.push_back(static_cast<std::uint32_t>(step.peer));
            ++raises_;
            break;
        case StepKind::publish:
            add_busy(program, step, segment);
            add_word(Word::publish, key(program, step.signal, segment));
            ++raises_;
            break;
        case StepKind::reduce: {
            const Time time = model_.combine(bytes_of(program, step.source, segment, step.operands),
                                             step.operands);
            if (time > 0) add_word(Word::compute, index_of(time));
            break;
        }
        default:  // copies and the ends of local reads cost nothing in these models
            break;
    }
}

void ImagePart::add_wait(const Program& program, const Step& step, std::uint32_t segment) {
    if (reception_ == kNoReception) {
        reception_ = words_.size();
        add_word(Word::receive, 0);
    }
    words_[reception_] += 1U << 3;
    const bool published = (step.flags & kFromPublished) != 0;
    const std::uint32_t awaited =
        key(program, step.signal, segment - std::min<std::uint32_t>(segment, step.lag));
    words_.push_back(awaited << 1 | (published ? 1U : 0U));
    if (published) words_.push_back(static_cast<std::uint32_t>(step.peer));
    ++waits_;
}

void ImagePart::add_busy(const Program& program, const Step& step, std::uint32_t segment) {
    const BlockList source = sent_by(step);
    const bool far = far_ && step.kind != StepKind::publish && is_far(program.rank, step.peer);
    if (busy_set_ && far == busy_far_ && source == busy_source_ && segment == busy_segment_) return;
    const std::uint64_t bytes = bytes_of(program, source, segment);
    const bool again = busy_set_ && far == busy_far_ && bytes == busy_bytes_;
    busy_set_ = true;
    busy_far_ = far;
    busy_source_ = source;
    busy_segment_ = segment;
    busy_bytes_ = bytes;
    if (!again) add_word(Word::busy, index_of(far ? far_->model.busy(bytes) : model_.busy(bytes)));
}

std::uint32_t ImagePart::index_of(Time time) {
    const auto index = static_cast<std::size_t>(std::ranges::find(times_, time) - times_.begin());
    if (index == times_.size()) times_.push_back(time);
    return static_cast<std::uint32_t>(index);
}

std::uint32_t ImagePart::key(const Program& program, std::uint32_t number, std::uint32_t segment) {
    return number * program.segments + segment;
}

std::uint64_t ImagePart::bytes_of(const Program& program, BlockList list, std::uint32_t segment,
                                  std::uint32_t share) const {
    return bytes_in(program, partition_, list, segment, share) * size_.element_bytes;
}

}  // namespace weft::plan
