// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/image.hpp"

#include <algorithm>

#include "plan/schedule/canonical.hpp"
#include "plan/schedule/step.hpp"
#include "plan/schedule/walk.hpp"
#include "plan/simulate/touched.hpp"

namespace weft::plan {

namespace {

constexpr std::uint64_t kKeysMax = 1U << 29;

bool is_raise(StepKind kind) {
    return kind == StepKind::put || kind == StepKind::signal || kind == StepKind::expose ||
           kind == StepKind::publish;
}

/// Returns the data of a message. An exposed block is named, not sent.
BlockList sent_by(const Step& step) {
    return step.kind == StepKind::expose ? BlockList{} : step.source;
}

}  // namespace

void for_each_happening(const Program& program, const Lane& lane, const VectorSize& size,
                        const std::function<bool(const Happening&)>& visit, bool of_own,
                        const std::vector<bool>& slots) {
    const Partition partition = program.partition(size.elements);
    const bool touches = of_own || names_mapped(program);
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
                            .shared = (step.flags & kShared) != 0,
                            .operands = step.operands};
        // A wait with a lag is for the signal raised `lag` segments before.
        const std::uint32_t raised =
            waits ? segment - std::min<std::uint32_t>(segment, step.lag) : segment;
        happening.key = std::uint64_t{step.signal} * program.segments + raised;
        if (happening.message || reduces)
            happening.bytes = elements_of(program, partition, sent_by(step), segment,
                                          reduces ? step.operands : 1) *
                              size.element_bytes;
        if (touches) {
            const Touched touched = touched_by(program, partition, step, segment, of_own);
            happening.mapped_vectors = touched.mapped_vectors;
            happening.mapped_bytes = touched.mapped * size.element_bytes;
            happening.own_bytes = touched.own * size.element_bytes;
            happening.slot_bytes = touched.slots * size.element_bytes;
        }
        if (!slots.empty() && (reduces || step.kind == StepKind::copy))
            happening.unpacked_bytes =
                slot_elements(program, partition, step, segment, slots) * size.element_bytes;
        if (!visit(happening)) return;
    }
}

void for_each_message(const Program& program, const VectorSize& size,
                      const std::function<void(const Happening&)>& visit) {
    for (const Lane& lane : program.lanes)
        for_each_happening(program, lane, size, [&](const Happening& happening) {
            if (happening.message) visit(happening);
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

void for_each_touching(const Program& program, const VectorSize& size,
                       const std::function<void(const Happening&)>& visit, bool of_own) {
    if (!of_own && !names_mapped(program)) return;
    const auto touches = [&](const Happening& happening) {
        if (happening.mapped_vectors > 0 || happening.own_bytes > 0 || happening.slot_bytes > 0)
            visit(happening);
        return true;
    };
    for (const Lane& lane : program.lanes) for_each_happening(program, lane, size, touches, of_own);
}

std::uint64_t touched_bytes(const Program& program, const VectorSize& size,
                            const std::function<bool(Rank peer)>& is_near) {
    const Partition partition = program.partition(size.elements);
    std::uint64_t elements = 0;
    for (const Lane& lane : program.lanes)
        for_each_step(program, lane, [&](const Step& step, std::uint32_t segment) {
            if (step.kind == StepKind::put && !is_near(step.peer)) return;
            elements += memory_elements(program, partition, step, segment);
        });
    return elements * size.element_bytes;
}

std::uint32_t exposed_vectors(const Program& program,
                              const std::function<bool(Rank peer)>& is_near) {
    std::array<bool, 2> exposed{};
    for (const Step& step : program.steps) {
        if (step.kind != StepKind::expose || !is_near(step.peer)) continue;
        for (const Block& block : blocks_of(program, step.source)) {
            if (block.buffer == Buffer::input || block.buffer == Buffer::output)
                exposed[block.buffer == Buffer::output ? 1 : 0] = true;
        }
    }
    return static_cast<std::uint32_t>(std::ranges::count(exposed, true));
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
    cold_fs_ = 0;
    if (model_.is_cold(size_.elements * size_.element_bytes))
        cold_fs_ = model_.cold_fs_of(vector_elements(program, partition_) * size_.element_bytes);
    find_unpacked(program);
    mapped_ = names_mapped(program);
    std::uint32_t number = 0;
    if (program.lanes.empty()) {
        begin_lane(shown(rank), size, number++);
        pieces_.end_lane();
    }
    for (const Lane& lane : program.lanes) {
        begin_lane(shown(rank), size, number++);
        if (number == 1 && model_.expose > 0) compute(expose(program));
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
            if (cold_fs_ > 0 && !goes_far(program, step))
                compute(touch(program, step, segment, {}));
            [[fallthrough]];
        case StepKind::signal:
        case StepKind::expose:
            pieces_.send(key, busy_of(program, step, segment),
                         shown(meant(step.peer, program.size)));
            break;
        case StepKind::publish:
            pieces_.publish(key, busy_of(program, step, segment));
            break;
        case StepKind::reduce: {
            const Touched by = touched(program, step, segment);
            compute(model_.combine(bytes_of(program, step.source, segment, step.operands),
                                   step.operands, by.mapped_vectors > 0) +
                    touch(program, step, segment, by));
            break;
        }
        default:  // the ends of flushes cost nothing in these models
            compute(touch(program, step, segment, touched(program, step, segment)));
            break;
    }
}

void ImagePart::compute(Time time) {
    pieces_.interrupt();
    if (time > 0) pieces_.compute(index_of(time));
}

Touched ImagePart::touched(const Program& program, const Step& step, std::uint32_t segment) const {
    const bool of_own = model_.copy_byte_fs > 0;
    if (!mapped_ && !of_own) return {};
    return touched_by(program, partition_, step, segment, of_own);
}

Time ImagePart::touch(const Program& program, const Step& step, std::uint32_t segment,
                      const Touched& touched) const {
    const std::uint64_t cold =
        cold_fs_ > 0 ? memory_elements(program, partition_, step, segment) : 0;
    return to_time(static_cast<std::int64_t>(cold * size_.element_bytes) * cold_fs_) +
           model_.touch(touched.mapped_vectors, touched.mapped * size_.element_bytes) +
           model_.copy(touched.own * size_.element_bytes) + unpack(program, step, segment);
}

/// Finds the put targets that the network fills, if reading them takes time. Near, that is part of
/// the cost of a put.
void ImagePart::find_unpacked(const Program& program) {
    const MessageModel& model = far_ ? far_->model : model_;
    unpacked_.clear();
    if (!model.unpacks(size_.elements * size_.element_bytes)) return;
    unpacked_ = slots_filled_by(program, [&](Rank peer) {
        return !far_ || (peer != kNoRank && is_far(rank_, meant(peer, program.size)));
    });
}

Time ImagePart::unpack(const Program& program, const Step& step, std::uint32_t segment) const {
    if (unpacked_.empty()) return 0;
    const std::uint64_t elements = slot_elements(program, partition_, step, segment, unpacked_);
    return (far_ ? far_->model : model_).unpack(elements * size_.element_bytes);
}

bool ImagePart::goes_far(const Program& program, const Step& step) const {
    return far_ && is_far(rank_, meant(step.peer, program.size));
}

/// Returns the cost of the exposures with which a call starts (run/execute/stepper.hpp).
Time ImagePart::expose(const Program& program) const {
    const auto is_near = [&](Rank peer) {
        return !far_ || !is_far(rank_, meant(peer, program.size));
    };
    return model_.expose * exposed_vectors(program, is_near);
}

void ImagePart::add_wait(const Program& program, const Step& step, std::uint32_t segment) {
    // A wait with a lag is for the signal raised `lag` segments before.
    const std::uint32_t raised = segment - std::min<std::uint32_t>(segment, step.lag);
    const std::uint32_t key = step.signal * program.segments + raised;
    if ((step.flags & kFromPublished) != 0)
        pieces_.await_cell(key, shown(meant(step.peer, program.size)));
    else
        pieces_.await(key);
}

/// Returns the index of the time that a message keeps its sender busy.
std::uint32_t ImagePart::busy_of(const Program& program, const Step& step, std::uint32_t segment) {
    const BlockList source = sent_by(step);
    const bool far = step.kind != StepKind::publish && goes_far(program, step);
    if (busy_.known && far == busy_.far && source == busy_.source && segment == busy_.segment)
        return busy_.index;
    const std::uint64_t bytes = bytes_of(program, source, segment);
    const MessageModel& model = far ? far_->model : model_;
    const Time delay = far ? far_->model.latency - model_.latency : 0;
    const Time hold = far ? far_->card.held(bytes) : 0;
    busy_ = {index_of(model.busy(bytes), delay, hold, model.take_in(bytes)), true, far, source,
             segment};
    return busy_.index;
}

std::uint64_t ImagePart::bytes_in(const Block& block, std::uint32_t first) const {
    return elements_in(partition_, block, first) * size_.element_bytes;
}

std::uint32_t ImagePart::index_of(Time time, Time delay, Time hold, Time work) {
    const auto is_at = [&](std::size_t index) {
        return times_[index] == time && delays_[index] == delay && holds_[index] == hold &&
               works_[index] == work;
    };
    const auto mixed = static_cast<std::uint64_t>(time + 3 * delay) * 0x9e3779b97f4a7c15U;
    std::uint32_t& found = found_[mixed >> (64 - kFoundBits)];
    if (found < times_.size() && is_at(found)) return found;
    std::size_t index = 0;
    while (index < times_.size() && !is_at(index)) ++index;
    if (index == times_.size()) {
        times_.push_back(time);
        delays_.push_back(delay);
        holds_.push_back(hold);
        works_.push_back(work);
        has_cards_ = has_cards_ || hold > 0;
        has_works_ = has_works_ || work > 0;
    }
    return found = static_cast<std::uint32_t>(index);
}

/// Returns the elements of a list of blocks, or of one share of it. With folding the buffer is
/// spread evenly over its units, so ranks that do the same to other units take the same time.
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
