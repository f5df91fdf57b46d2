// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/image.hpp"

#include <algorithm>

#include "plan/schedule/canonical.hpp"
#include "plan/schedule/step.hpp"
#include "plan/schedule/walk.hpp"

namespace weft::plan {

namespace {

constexpr std::uint64_t kKeysMax = 1U << 29;

bool is_raise(StepKind kind) {
    return kind == StepKind::put || kind == StepKind::signal || kind == StepKind::expose ||
           kind == StepKind::publish;
}

std::uint64_t elements_in(const Partition& partition, const Block& block, std::uint32_t first) {
    if (block.stride == 1) return partition.size(first, block.count);
    const std::uint64_t most = partition.unit_max();
    if (most * partition.units() == partition.elements()) return block.count * most;
    std::uint64_t elements = 0;
    for (std::uint32_t i = 0; i < block.count; ++i)
        elements += partition.size(first + i * block.stride);
    return elements;
}

/// Elements of a list of blocks, or of one share of it.
std::uint64_t elements_of(const Program& program, const Partition& partition, BlockList list,
                          std::uint32_t segment, std::uint32_t share) {
    std::uint64_t elements = 0;
    for (const Block& block : blocks_of(program, {list.start, list.count / share}))
        elements += elements_in(partition, block, block.first + block.advance * segment);
    return elements;
}

bool is_mapped(const Block& block) {
    return block.buffer == Buffer::mapped;
}

/// What a step reads and writes of node-mates in place: how many vectors, and the elements that it
/// copies.
struct InPlace {
    std::uint32_t vectors = 0;
    std::uint64_t elements = 0;
};

/// How many of the equal shares of a list lie in memory of node-mates.
std::uint32_t mapped_shares(const Program& program, BlockList list, std::uint32_t shares) {
    const auto blocks = blocks_of(program, list);
    const std::size_t each = blocks.size() / shares;
    std::uint32_t mapped = 0;
    for (std::size_t first = 0; first < blocks.size(); first += each)
        mapped += std::ranges::any_of(blocks.subspan(first, each), is_mapped) ? 1 : 0;
    return mapped;
}

/// The first target of a reduction is part of the reduction; the others are copies of it.
InPlace in_place(const Program& program, const Partition& partition, const Step& step,
                 std::uint32_t segment) {
    if (step.source.count == 0 || step.target.count == 0) return {};
    if (step.kind == StepKind::copy) {
        if (mapped_shares(program, step.target, 1) + mapped_shares(program, step.source, 1) == 0)
            return {};
        return {1, elements_of(program, partition, step.target, segment, 1)};
    }
    if (step.kind != StepKind::reduce) return {};
    const std::uint32_t copies = step.target.count / (step.source.count / step.operands);
    const std::uint32_t read = mapped_shares(program, step.source, step.operands);
    const std::uint32_t written = mapped_shares(program, step.target, copies);
    if (written == 0) return {read, 0};
    return {read + written,
            (copies - 1) * elements_of(program, partition, step.target, segment, copies)};
}

/// Elements that a step copies out of put targets, and not to a node-mate.
std::uint64_t slot_elements(const Program& program, const Partition& partition, const Step& step,
                            std::uint32_t segment) {
    if (step.kind != StepKind::copy) return 0;
    if (std::ranges::any_of(blocks_of(program, step.target), is_mapped)) return 0;
    std::uint64_t elements = 0;
    for (const Block& block : blocks_of(program, step.source))
        if (block.buffer == Buffer::slot)
            elements += elements_in(partition, block, block.first + block.advance * segment);
    return elements;
}

/// What a message carries. An exposed block is named, not sent.
BlockList sent_by(const Step& step) {
    return step.kind == StepKind::expose ? BlockList{} : step.source;
}

}  // namespace

void for_each_happening(const Program& program, const Lane& lane, const VectorSize& size,
                        const std::function<bool(const Happening&)>& visit, bool slots) {
    const Partition partition = program.partition(size.elements);
    for (Cursor cursor = begin_of(lane, program.segments); !cursor.ended();
         advance(cursor, program)) {
        const Step& step = program.steps[cursor.at];
        const std::uint32_t segment = cursor.segment;
        if (step.kind == StepKind::loop || skips(cursor, step)) continue;
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
            happening.bytes = elements_of(program, partition, sent_by(step), segment,
                                          reduces ? step.operands : 1) *
                              size.element_bytes;
        const InPlace used = in_place(program, partition, step, segment);
        happening.mapped_vectors = used.vectors;
        happening.mapped_bytes = used.elements * size.element_bytes;
        if (slots)
            happening.slot_bytes =
                slot_elements(program, partition, step, segment) * size.element_bytes;
        if (!visit(happening)) return;
    }
}

void for_each_message(const Program& program, const VectorSize& size,
                      const std::function<void(Rank peer, std::uint64_t bytes)>& visit) {
    for (const Lane& lane : program.lanes)
        for_each_happening(program, lane, size, [&](const Happening& happening) {
            if (happening.message) visit(happening.peer, happening.bytes);
            return true;
        });
}

void for_each_reduction(const Program& program, const VectorSize& size,
                        const std::function<void(const Happening&)>& visit) {
    for (const Lane& lane : program.lanes)
        for_each_happening(program, lane, size, [&](const Happening& happening) {
            if (happening.kind == StepKind::reduce) visit(happening);
            return true;
        });
}

void for_each_mapped(const Program& program, const VectorSize& size,
                     const std::function<void(std::uint32_t vectors, std::uint64_t bytes)>& visit) {
    for (const Lane& lane : program.lanes)
        for_each_happening(program, lane, size, [&](const Happening& happening) {
            if (happening.mapped_vectors > 0)
                visit(happening.mapped_vectors, happening.mapped_bytes);
            return true;
        });
}

void for_each_unpacking(const Program& program, const VectorSize& size,
                        const std::function<void(std::uint64_t bytes)>& visit) {
    for (const Lane& lane : program.lanes)
        for_each_happening(
            program, lane, size,
            [&](const Happening& happening) {
                if (happening.slot_bytes > 0) visit(happening.slot_bytes);
                return true;
            },
            true);
}

void ImagePart::reserve(std::size_t ranks) {
    if (lanes_.empty()) return;
    pieces_.reserve(pieces_.rows().size() * ranks / lanes_.size());
    lanes_.reserve(lanes_.size() + ranks);
}

base::Result<void> ImagePart::admit(const Program& header) {
    if (header.pairwise)
        return base::fail(Status::unsupported,
                          "rank {}: counts that two ranks know are not simulated", header.rank);
    const std::uint64_t keys = std::uint64_t{header.slots} * header.segments;
    if (keys >= kKeysMax)
        return base::fail(Status::unsupported,
                          "rank {}: {} numbers in {} segments are more than a simulation holds",
                          header.rank, header.slots, header.segments);
    keys_ = std::max(keys_, static_cast<std::uint32_t>(keys));
    partition_ = header.partition(size_.elements);
    return base::Done{};
}

base::Result<void> ImagePart::check_room(Rank rank) const {
    if (!pieces_.overflown()) return base::Done{};
    return base::fail(Status::unsupported,
                      "rank {}: the programs so far are more than one part of a simulation holds",
                      rank);
}

base::Result<void> ImagePart::add(const Program& program, Rank rank) {
    if (auto admitted = admit(program); !admitted) return admitted;
    busy_.known = false;
    rank_ = rank;
    shift_ = rank >= program.rank ? rank - program.rank : rank + program.size - program.rank;
    const Rank size = fold_ ? fold_->ranks : program.size;
    added_ = {.lane = lanes_.size(),
              .row = pieces_.rows().size(),
              .raises = pieces_.raises(),
              .waits = pieces_.waits()};
    std::uint32_t number = 0;
    if (program.lanes.empty()) {
        begin_lane(shown(rank), size, number++);
        pieces_.end_lane();
    }
    for (const Lane& lane : program.lanes) {
        begin_lane(shown(rank), size, number++);
        for_each_step(program, lane, [&](const Step& step, std::uint32_t segment) {
            add_step(program, step, segment);
        });
        pieces_.end_lane();
    }
    added_.lanes = lanes_.size() - added_.lane;
    added_.rows = pieces_.rows().size() - added_.row;
    added_.raises = pieces_.raises() - added_.raises;
    added_.waits = pieces_.waits() - added_.waits;
    return check_room(rank);
}

void ImagePart::repeat(const Added& like, Rank rank) {
    const std::size_t ahead = pieces_.rows().size() - like.row;
    for (std::size_t i = 0; i < like.lanes; ++i) {
        ImageLane lane = lanes_[like.lane + i];
        lane.rank = rank;
        lane.first += ahead;
        lanes_.push_back(lane);
    }
    pieces_.repeat(like.row, like.rows, like.raises, like.waits);
}

void ImagePart::add_step(const Program& program, const Step& step, std::uint32_t segment) {
    const std::uint32_t key = step.signal * program.segments + segment;
    switch (step.kind) {
        case StepKind::wait:
            add_wait(program, step, segment);
            break;
        case StepKind::put:
        case StepKind::signal:
        case StepKind::expose:
            pieces_.send(key, busy_of(program, step, segment),
                         shown(meant(step.peer, program.size)));
            break;
        case StepKind::publish:
            pieces_.publish(key, busy_of(program, step, segment));
            break;
        case StepKind::reduce:
            compute(model_.combine(bytes_of(program, step.source, segment, step.operands),
                                   step.operands,
                                   in_place(program, partition_, step, segment).vectors > 0) +
                    touch(program, step, segment));
            break;
        default:  // other copies and the ends of flushes cost nothing in these models
            compute(touch(program, step, segment));
            break;
    }
}

void ImagePart::compute(Time time) {
    pieces_.interrupt();
    if (time > 0) pieces_.compute(index_of(time));
}

Time ImagePart::touch(const Program& program, const Step& step, std::uint32_t segment) const {
    const InPlace used = in_place(program, partition_, step, segment);
    return model_.touch(used.vectors, used.elements * size_.element_bytes);
}

void ImagePart::add_wait(const Program& program, const Step& step, std::uint32_t segment) {
    // A wait with a lag is for what was raised so many segments before.
    const std::uint32_t raised = segment - std::min<std::uint32_t>(segment, step.lag);
    const std::uint32_t key = step.signal * program.segments + raised;
    if ((step.flags & kFromPublished) != 0)
        pieces_.await_cell(key, shown(meant(step.peer, program.size)));
    else
        pieces_.await(key);
}

/// The index of the time that a message keeps its sender busy.
std::uint32_t ImagePart::busy_of(const Program& program, const Step& step, std::uint32_t segment) {
    const BlockList source = sent_by(step);
    const bool far =
        far_ && step.kind != StepKind::publish && is_far(rank_, meant(step.peer, program.size));
    if (busy_.known && far == busy_.far && source == busy_.source && segment == busy_.segment)
        return busy_.index;
    const std::uint64_t bytes = bytes_of(program, source, segment);
    const Time time = far ? far_->model.busy(bytes) : model_.busy(bytes);
    const Time delay = far ? far_->model.latency - model_.latency : 0;
    const Time hold = far ? far_->card.held(bytes) : 0;
    busy_ = {index_of(time, delay, hold), true, far, source, segment};
    return busy_.index;
}

std::uint64_t ImagePart::bytes_in(const Block& block, std::uint32_t first) const {
    return elements_in(partition_, block, first) * size_.element_bytes;
}

std::uint32_t ImagePart::index_of(Time time, Time delay, Time hold) {
    std::size_t index = 0;
    while (index < times_.size() &&
           (times_[index] != time || delays_[index] != delay || holds_[index] != hold))
        ++index;
    if (index == times_.size()) {
        times_.push_back(time);
        delays_.push_back(delay);
        holds_.push_back(hold);
        has_cards_ = has_cards_ || hold > 0;
    }
    return static_cast<std::uint32_t>(index);
}

/// Of a list of blocks, or of one share of it. Folded, the vector is spread evenly over its units,
/// so that ranks which do the same to other units take the same time.
std::uint64_t ImagePart::carried_by(const Program& program, BlockList list, std::uint32_t segment,
                                    std::uint32_t share) const {
    if (!fold_) return elements_of(program, partition_, list, segment, share);
    std::uint64_t units = 0;
    for (const Block& block : blocks_of(program, {list.start, list.count / share}))
        units += block.count;
    const std::uint64_t all = std::max<std::uint64_t>(1, program.units);
    return (units * size_.elements + all - 1) / all;
}

std::uint64_t ImagePart::bytes_of(const Program& program, BlockList list, std::uint32_t segment,
                                  std::uint32_t share) const {
    return carried_by(program, list, segment, share) * size_.element_bytes;
}

}  // namespace weft::plan
