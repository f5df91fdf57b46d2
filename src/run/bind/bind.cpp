// SPDX-License-Identifier: BSD-3-Clause
#include "run/bind/bind.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "base/check.hpp"
#include "base/random.hpp"

namespace weft::run {
namespace {

using plan::Block;
using plan::Buffer;
using plan::Partition;
using plan::StepKind;

/// Sums and products of sizes are limited to this value: a wrapped size would seem to fit.
constexpr std::uint64_t kBytesMax = std::numeric_limits<std::int64_t>::max();

constexpr std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    return a != 0 && b > kBytesMax / a ? kBytesMax : a * b;
}
constexpr std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
    return a > kBytesMax || b > kBytesMax - a ? kBytesMax : a + b;
}
/// Rounds up to whole cache lines of 64 bytes.
constexpr std::uint64_t rounded_to_lines(std::uint64_t bytes) {
    return plus(bytes, 63) / 64 * 64;
}

/// Binds the steps of a program: divides their blocks into pieces of consecutive units.
class Binder {
  public:
    Binder(BoundProgram& bound, const Partition& partition, const std::vector<bool>* near)
        : bound_(bound), partition_(partition), near_(near) {}

    void add_steps() {
        for (const plan::Step& step : bound_.program.steps) {
            BoundStep& out = bound_.steps.emplace_back(BoundStep{.kind = step.kind,
                                                                 .flags = step.flags,
                                                                 .lag = step.lag,
                                                                 .peer = step.peer,
                                                                 .number = step.signal,
                                                                 .operands = step.operands});
            out.target = cut(step.target);
            out.source = cut(step.source);
            bound_.pieces_max = std::max({bound_.pieces_max, out.target.count, out.source.count});
            if (step.kind == StepKind::publish)
                published_max_ = std::max(published_max_, bytes_max(out.source));
            if (step.kind == StepKind::expose) {
                out.operands = bound_.exposes++;  // index
                mark_exposed(step, bytes_max(out.source));
            }
            if (step.kind == StepKind::loop)
                out.operands = bound_.program.repeats(step);  // iterations
            if (step.kind == StepKind::reduce) check_and_pack(out);
        }
        set_more();
        for (const plan::Lane& lane : bound_.lanes)
            if (bound_.exposes > 0) bound_.tails.push_back(bound_.tail_of(lane, near_));
        measure_scratch();
        const bool reads_mapped = std::ranges::any_of(
            bound_.pieces, [](const Piece& piece) { return piece.buffer == Buffer::mapped; });
        if (bound_.exposes > 0 || reads_mapped) measure_touched();
        bound_.place_scratch();
    }

    /// Records the counts of a pairwise program, and their hashes as salts of flags.
    void add_pairs() {
        for (std::size_t at = 0; at < bound_.steps.size(); ++at) {
            BoundStep& step = bound_.steps[at];
            if (step.kind == StepKind::put || step.kind == StepKind::expose) {
                const std::uint64_t count = block_elements(step.source);
                step.salt = salt_of(count);
                step.in_cell = step.kind == StepKind::put && fits_cell(count);
                if (step.kind == StepKind::put && !step.in_cell)
                    bound_.bulk_receivers.push_back(step.peer);
                pair_with(step.peer).sends = count;
            } else if (step.kind == StepKind::wait && step.lag == 0) {  // not a wait for a credit
                const BoundStep* const reader = reader_of(at);
                if (reader == nullptr) continue;  // it waits until the peer has copied
                const std::uint64_t count = block_elements(reader->target);
                step.salt = salt_of(count);
                Piece& piece = bound_.pieces[reader->source.start];
                piece.in_cell = piece.buffer == Buffer::slot && fits_cell(count);
                pair_with(step.peer).awaits = count;
            }
        }
    }

    [[nodiscard]] std::uint64_t published_max() const { return published_max_; }

  private:
    /// Returns the number of elements in the block that contains the list's first unit.
    [[nodiscard]] std::uint64_t block_elements(PieceList list) const {
        const std::uint32_t units = partition_.units_of_block();
        const std::uint32_t first = bound_.pieces[list.start].first / units * units;
        return partition_.size(first, units);
    }
    /// Returns true if a message fits into a cell. The sender and the receiver know the count.
    [[nodiscard]] bool fits_cell(std::uint64_t count) const {
        return count * bound_.element_bytes <= base::kCellPayload;
    }
    [[nodiscard]] static std::uint16_t salt_of(std::uint64_t count) {
        return std::max<std::uint16_t>(1, static_cast<std::uint16_t>(base::mix(count)));
    }
    PairCounts& pair_with(Rank peer) {
        const auto found = std::ranges::find(bound_.pairs, peer, &PairCounts::peer);
        return found != bound_.pairs.end() ? *found
                                           : bound_.pairs.emplace_back(PairCounts{.peer = peer});
    }
    /// Returns the copy step that reads the data for which a wait step waits, or nullptr.
    [[nodiscard]] const BoundStep* reader_of(std::size_t wait) const {
        const std::uint32_t number = bound_.steps[wait].number;
        const auto reader = std::find_if(
            bound_.steps.begin() + static_cast<std::ptrdiff_t>(wait), bound_.steps.end(),
            [&](const BoundStep& step) {
                if (step.kind != StepKind::copy) return false;
                const Piece& piece = bound_.pieces[step.source.start];
                return (piece.buffer == Buffer::slot || piece.buffer == Buffer::mapped) &&
                       piece.index == number;
            });
        return reader == bound_.steps.end() ? nullptr : &*reader;
    }

    [[nodiscard]] bool is_near(Rank rank) const {
        return near_ == nullptr || (*near_)[static_cast<std::size_t>(rank)];
    }

    /// Sets `more` on steps that raise a flag if the next step of their lane raises a remote flag.
    void set_more() {
        for (const plan::Lane& lane : bound_.lanes)
            for (std::uint32_t at = lane.first; at + 1 < lane.first + lane.count; ++at) {
                const BoundStep& next = bound_.steps[at + 1];
                bound_.steps[at].more = puts_to_peer(bound_.steps[at].kind) &&
                                        puts_to_peer(next.kind) && !is_near(next.peer);
            }
    }

    /// Divides blocks into pieces.
    PieceList cut(plan::BlockList list) {
        const auto start = static_cast<std::uint32_t>(bound_.pieces.size());
        for (std::uint32_t i = 0; i < list.count; ++i) {
            const Block& block = bound_.program.blocks[list.start + i];
            if (block.stride == 1 || block.count <= 1) {
                add_run(block);
                continue;
            }
            for (std::uint32_t k = 0; k < block.count; ++k)
                add_piece(block, block.first + k * block.stride, 1);
        }
        // If the size of a piece varies with the segment, other offsets in the payload may, too.
        const auto added = std::span(bound_.pieces).subspan(start);
        if (std::ranges::any_of(added, &Piece::moving))
            for (Piece& piece : added) piece.moving = true;
        pack(added);
        return {start, static_cast<std::uint32_t>(added.size())};
    }

    /// Returns the largest size of a list in any segment, in bytes.
    [[nodiscard]] std::uint64_t bytes_max(PieceList list) const {
        std::uint64_t bytes = 0;
        for (const Piece& piece : std::span(bound_.pieces).subspan(list.start, list.count))
            bytes += piece.moving ? piece.count * partition_.unit_max() * bound_.element_bytes
                                  : piece.bytes;
        return bytes;
    }

    /// Adds consecutive units as one piece or, if blocks have displacements in the caller's memory,
    /// as one piece for each block. A unit whose index advances with the segment is then a separate
    /// piece, because its next index may be in another block.
    void add_run(const Block& block) {
        if (!bound_.has_displacements(block.buffer))
            return add_piece(block, block.first, block.count);
        const std::uint32_t end = block.first + block.count;
        for (std::uint32_t unit = block.first; unit < end;) {
            const std::uint32_t units_in_block = partition_.units_of_block();
            const std::uint32_t next =
                block.advance != 0 ? unit + 1
                                   : std::min(end, (unit / units_in_block + 1) * units_in_block);
            add_piece(block, unit, next - unit);
            unit = next;
        }
    }

    void add_piece(const Block& block, std::uint32_t first, std::uint32_t count) {
        Piece piece{.buffer = block.buffer,
                    .moving = block.advance != 0,
                    .peer = block.peer,
                    .index = block.index,
                    .origin = block.stride == 1 ? block.origin : first,
                    .first = first,
                    .count = count,
                    .advance = block.advance};
        piece.bytes = partition_.size(first, count) * bound_.element_bytes;
        if (!is_payload(block.buffer))
            piece.offset = bound_.place(block.buffer, first) * bound_.element_bytes;
        bound_.pieces.push_back(piece);
    }

    /// Checks the sizes of a reduction, and packs each operand and target as a separate list.
    void check_and_pack(BoundStep& step) {
        if (step.source.count == 0) return;
        const std::uint32_t pieces = step.source.count / step.operands;  // in each operand
        WEFT_CHECK(pieces * step.operands == step.source.count && step.target.count % pieces == 0,
                   step.operands, step.target.count, step.source.count);
        for (std::uint32_t i = 0; i < step.source.count; ++i) {
            const Piece& piece = bound_.pieces[step.source.start + i];
            const Piece& target = bound_.pieces[step.target.start + i % pieces];
            WEFT_CHECK(piece.count == target.count, piece.count, target.count);
        }
        for (const PieceList list : {step.source, step.target}) {
            for (std::uint32_t done = 0; done < list.count; done += pieces)
                pack(std::span(bound_.pieces).subspan(list.start + done, pieces));
        }
    }

    /// Sets the offset of each piece in the payload of its list.
    void pack(std::span<Piece> list) const {
        std::uint64_t packed = 0;
        for (Piece& piece : list) {
            const std::uint64_t offset =
                partition_.begin(piece.first) - partition_.begin(piece.origin);
            if (is_payload(piece.buffer))
                piece.offset =
                    (piece.buffer == Buffer::mapped ? 0 : packed) + offset * bound_.element_bytes;
            packed += piece.bytes;
        }
    }

    TouchedBuffer* touched(Buffer buffer) {
        if (buffer == Buffer::input) return &bound_.touched_input;
        return buffer == Buffer::output ? &bound_.touched_output : nullptr;
    }
    void mark_exposed(const plan::Step& step, std::uint64_t bytes) {
        const Buffer buffer = bound_.program.blocks[step.source.start].buffer;
        TouchedBuffer* const exposed = touched(buffer);
        if (exposed == nullptr || !is_near(step.peer)) return;
        exposed->exposed = true;
        const std::uint32_t times = bound_.program.pairwise ? 1 : bound_.segments;
        exposed->copies.count += times;
        exposed->copies.bytes += times * bytes;
        if (bound_.program.root == bound_.program.rank) exposed->copies.at_once = ++root_exposes_;
        exposed->gaps = bound_.has_displacements(buffer);
        // An output: this rank may write it during the exposure, so the access is not `read`
        // (Exposure::alias). Its old contents are not needed (plan::Contract).
        if (buffer == Buffer::output)
            exposed->access = base::Access::overwrite;
        else if ((step.flags & plan::kWritten) != 0)
            exposed->access = base::Access::write;
    }
    void measure_touched() {
        for (const Piece& piece : bound_.pieces) {
            TouchedBuffer* const buffer = touched(piece.buffer);
            // Pairwise programs do not expose the pieces of loops.
            if (buffer != nullptr && !(piece.moving && bound_.program.pairwise))
                add_touched(piece, *buffer);
        }
        if (bound_.program.pairwise) {  // exposes only input
            TouchedBuffer& range = bound_.touched_input;
            range.gaps = bound_.input_has_holes();
            range.copies.read_once = range.copies.bytes <= range.bytes();
        }
        const auto near = near_ == nullptr ? bound_.program.size : std::ranges::count(*near_, true);
        bound_.node_bytes = times(static_cast<std::uint64_t>(near),
                                  bound_.touched_input.bytes() + bound_.touched_output.bytes());
    }
    /// Measures the touched scratch memory: whole buffers if a loop has its own iteration count.
    void measure_scratch() {
        const bool repeats = std::ranges::any_of(bound_.program.steps, [](const plan::Step& step) {
            return step.kind == StepKind::loop && step.operands != 0;
        });
        for (const Piece& piece : bound_.pieces) {
            if (piece.buffer != Buffer::scratch || piece.count == 0) continue;
            if (repeats)
                bound_.touched_scratch.add(0, partition_.elements() * bound_.element_bytes);
            else
                add_touched(piece, bound_.touched_scratch);
        }
    }
    /// Adds the range that a piece covers in all segments.
    void add_touched(const Piece& piece, TouchedBuffer& buffer) const {
        if (piece.count == 0) return;
        const std::uint32_t last = piece.first + piece.advance * (bound_.segments - 1);
        const std::uint64_t begin = bound_.place(piece.buffer, piece.first);
        const std::uint64_t end =
            bound_.place(piece.buffer, last) + partition_.size(last, piece.count);
        buffer.add(begin * bound_.element_bytes, end * bound_.element_bytes);
    }

    BoundProgram& bound_;
    const Partition& partition_;
    const std::vector<bool>* near_;
    std::uint64_t published_max_ = 0;
    std::uint32_t root_exposes_ = 0;  ///< a root's local peers all copy at the same time
};

std::uint64_t unit_bytes_max(const plan::Program& program, const BindOptions& options) {
    return times(program.partition(options.elements).unit_max(), options.element_bytes);
}
std::uint64_t payload_bytes_max(const plan::Program& program, const BindOptions& options) {
    return times(program.slot_units, unit_bytes_max(program, options));
}

/// Returns the offset of each slot, and the end. `unit_bytes`: size of the largest unit.
std::vector<std::uint64_t> slot_starts(const plan::Program& program, std::uint64_t unit_bytes) {
    std::vector<std::uint64_t> starts{0};
    for (const std::uint32_t units : program.slot_capacity)
        starts.push_back(
            plus(starts.back(), times(program.depth, rounded_to_lines(times(units, unit_bytes)))));
    return starts;
}

std::uint64_t slots_bytes(const plan::Program& program, std::uint64_t unit_bytes) {
    if (!program.slot_capacity.empty()) return slot_starts(program, unit_bytes).back();
    return times(std::uint64_t{program.slots} * program.depth,
                 rounded_to_lines(times(program.slot_units, unit_bytes)));
}

/// Returns the class of bulk banks for `bank_bytes` bytes: the first small class that fits, or the
/// large banks. For a synchronizing call, returns the last small class that fits, which has the
/// fewest banks. A rank cannot run ahead with such calls, and few banks stay in the cache.
[[nodiscard]] std::uint8_t class_for(const base::RegionShape& shape, std::uint64_t bank_bytes,
                                     bool synchronizing) {
    std::uint8_t found = base::kSmallClasses;
    for (std::uint8_t number = 0; number < base::kSmallClasses; ++number) {
        const base::BankClass& banks = shape.small[number];
        if (banks.banks == 0 || bank_bytes > banks.bytes) continue;
        if (found == base::kSmallClasses || synchronizing) found = number;
    }
    return found;
}

constexpr std::uint64_t kPipelineDepth = 2;

struct Capacity {
    std::uint64_t units = 0;  ///< number of units that all slots together hold
    std::uint32_t slots = 0;  ///< number of slots that hold at least one
};
Capacity capacity_of(const plan::Program& program) {
    Capacity capacity;
    for (std::uint32_t slot = 0; slot < program.slots; ++slot) {
        capacity.units += program.capacity_of(slot);
        if (program.capacity_of(slot) > 0) ++capacity.slots;
    }
    return capacity;
}

/// Returns the elements of the largest unit for one requested segment instead of `segments`.
std::uint64_t whole_unit(const plan::Program& program, std::uint32_t segments,
                         std::uint64_t elements) {
    const std::uint32_t units = program.units / segments;
    if (program.unit_counts.empty()) return Partition(elements, units).unit_max();
    const std::uint64_t units_per_block = units / program.unit_counts.size();
    return (std::ranges::max(program.unit_counts) + units_per_block - 1) / units_per_block;
}

}  // namespace

bool may_publish(const plan::Program& program, const BindOptions& options, bool one_node) {
    if (payload_bytes_max(program, options) <= base::kCellPayload) return true;
    if (!one_node || program.pairwise || program.segments > 1) return false;
    const std::uint64_t bytes = slots_bytes(program, unit_bytes_max(program, options));
    // Does not publish if only the published copy would move the call to the large banks.
    const std::uint64_t both = plus(bytes, bytes);
    const std::uint8_t unpublished = class_for(options.shape, bytes, program.synchronizing);
    const std::uint8_t published = class_for(options.shape, both, program.synchronizing);
    return both <= options.shape.bulk_class(published).bytes &&
           (published == unpublished || published < base::kSmallClasses);
}

std::uint32_t segments_needed(const plan::Program& program, std::uint32_t segments,
                              const BindOptions& options) {
    if (program.slot_units == 0 || program.slots == 0) return 1;  // no payload uses slots
    const std::uint64_t unit = whole_unit(program, segments, options.elements);
    const std::uint64_t unit_bytes = times(unit, options.element_bytes);
    if (times(program.slot_units, unit_bytes) <= base::kCellPayload) return 1;
    plan::Program whole_slots;
    whole_slots.slots = program.slots;
    whole_slots.slot_units = program.slot_units;
    whole_slots.slot_capacity = program.slot_capacity;
    // A pipeline by design has several segments and copies of slots even if one is requested.
    whole_slots.depth = program.segments > segments ? program.depth : 1;
    if (slots_bytes(whole_slots, unit_bytes) <= options.shape.copied_bytes_max()) return 1;
    const Capacity capacity = capacity_of(program);
    const std::uint64_t rounding = kPipelineDepth * capacity.slots * 63;
    const std::uint64_t bytes = std::max(options.shape.copied_bytes_max(), rounding) - rounding;
    const std::uint64_t unit_elements = std::max<std::uint64_t>(
        1, bytes / (kPipelineDepth * capacity.units) / options.element_bytes);
    constexpr std::uint64_t kSegmentsMax = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(
        std::min(plus(unit, unit_elements - 1) / unit_elements, kSegmentsMax));
}

bool has_room(const plan::Program& program, const BindOptions& options) {
    if (program.pairwise || payload_bytes_max(program, options) <= base::kCellPayload) return true;
    return slots_bytes(program, unit_bytes_max(program, options)) <= options.shape.bulk_bytes;
}

bool fits_as_a_whole(const plan::Program& program, BindOptions options) {
    options.shape.copied_bytes = options.shape.bulk_bytes;  // pieces need not stay in the cache
    return segments_needed(program, 1, options) == 1;
}

std::uint32_t banks_for(const plan::Program& program, const BindOptions& options) {
    if (payload_bytes_max(program, options) <= base::kCellPayload) return options.shape.banks;
    const std::uint64_t bytes = slots_bytes(program, unit_bytes_max(program, options));
    return options.shape.bulk_class(class_for(options.shape, bytes, program.synchronizing)).banks;
}

base::Result<BoundProgram> bind(plan::Program program, const BindOptions& options) {
    BoundProgram bound{};
    if (options.elements > kBytesMax / std::max(options.element_bytes, 1U))
        return base::fail(Status::argument, "{} elements of {} bytes overflow 63 bits",
                          options.elements, options.element_bytes);
    const Partition partition = program.partition(options.elements);
    const std::uint64_t payload = payload_bytes_max(program, options);
    bound.partition = partition;
    bound.input_starts = options.input_starts;
    bound.output_starts = options.output_starts;
    bound.description = options.description;
    // 0 is Inquiry::kVerdict, which no call may have.
    bound.call_hash = options.call_hash == 0 ? 1 : options.call_hash;
    bound.elements = options.elements;
    bound.element_bytes = options.element_bytes;
    bound.synchronizing = program.synchronizing;
    bound.bulk = program.pairwise || payload > base::kCellPayload;
    bound.segments = program.segments;
    bound.depth = program.depth;
    bound.slot_bytes = rounded_to_lines(payload);
    bound.scratch_bytes = times(
        program.scratch, rounded_to_lines(times(partition.elements(), options.element_bytes)));
    bound.lanes = program.lanes;
    const std::uint64_t cells = std::uint64_t{program.slots} * program.depth;
    if (cells > options.shape.cells)
        return base::fail(Status::memory,
                          "{} {} needs {} put targets per bank, the team has {} (a schedule "
                          "with fewer members per stage needs fewer)",
                          program.collective, program.algorithm, cells, options.shape.cells);
    if (bound.scratch_bytes >= kBytesMax)
        return base::fail(Status::memory, "{} {}: {} scratch buffers of {} bytes overflow 63 bits",
                          program.collective, program.algorithm, program.scratch,
                          options.elements * options.element_bytes);
    const std::uint64_t unit_bytes = unit_bytes_max(program, options);
    const std::uint32_t slots_with_payload = program.pairwise ? capacity_of(program).slots : 0;
    if (slots_with_payload > 0) {
        bound.slot_bytes = even_slot_bytes(options.shape, slots_with_payload, program.depth);
        WEFT_CHECK(unit_bytes <= bound.slot_bytes, unit_bytes, bound.slot_bytes);
    }
    const std::uint64_t bank_bytes =
        program.pairwise ? std::uint64_t{slots_with_payload} * program.depth * bound.slot_bytes
                         : slots_bytes(program, unit_bytes);
    if (!program.slot_capacity.empty() && !program.pairwise)
        bound.slot_starts = slot_starts(program, unit_bytes);
    if (bound.bulk && bank_bytes > options.shape.bulk_bytes)
        return base::fail(Status::memory,
                          "{} {} needs {} bytes of put targets per bank, the team has {} "
                          "(WEFT_BANK_BYTES sets it)",
                          program.collective, program.algorithm, bank_bytes,
                          options.shape.bulk_bytes);
    if (bound.bulk && !program.pairwise)
        bound.bulk_class = class_for(options.shape, (options.publishes ? 2 : 1) * bank_bytes,
                                     program.synchronizing);
    if (options.publishes && bound.bulk) bound.published_start = bank_bytes;
    bound.program = std::move(program);
    Binder binder(bound, partition, options.near);
    binder.add_steps();
    if (bound.program.pairwise) binder.add_pairs();
    bound.scratch_bytes = bound.program.scratch * rounded_to_lines(bound.touched_scratch.bytes());
    if (binder.published_max() > base::kCellPayload && bound.published_start == 0)
        return base::fail(Status::unsupported,
                          "{} {} publishes {} bytes, a published cell holds {}",
                          bound.program.collective, bound.program.algorithm, binder.published_max(),
                          base::kCellPayload);
    if (options.fuse) bound.fused = fuse(bound, options.shape);
    return bound;
}

}  // namespace weft::run
