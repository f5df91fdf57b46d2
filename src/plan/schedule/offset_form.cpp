// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/offset_form.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "plan/schedule/canonical.hpp"

namespace weft::plan {

namespace {

/// From numbers to distances from a rank (away), or back.
class Shift {
  public:
    Shift(const OffsetForm& form, Rank from, bool away)
        : relative_(form.relative),
          size_(static_cast<std::uint32_t>(form.program.size)),
          units_(form.program.units),
          move_units_(form.units),
          from_(static_cast<std::uint32_t>(from)),
          away_(away) {}

    void apply(Program& program) const {
        for (Step& step : program.steps) {
            if (step.peer != kNoRank) step.peer = rank(step.peer);
        }
        for (Block& block : program.blocks) {
            if (block.peer != kNoRank) block.peer = rank(block.peer);
            if (!move_units_) continue;
            block.first = unit(block.first, block.count);
            const bool payload = block.buffer == Buffer::slot ||
                                 block.buffer == Buffer::published ||
                                 block.buffer == Buffer::mapped;
            if (payload) block.origin = unit(block.origin, block.count);
        }
        program = canonical(program);
    }

  private:
    [[nodiscard]] std::uint32_t turn(std::uint32_t value, std::uint32_t size) const {
        const std::uint32_t by = from_ % size;
        return static_cast<std::uint32_t>((std::uint64_t{value} + (away_ ? size - by : by)) % size);
    }
    [[nodiscard]] Rank rank(Rank value) const {
        const auto number = static_cast<std::uint32_t>(value);
        return static_cast<Rank>(relative_ == Relative::ring ? turn(number, size_)
                                                             : number ^ from_);
    }
    /// Halving algorithms name aligned blocks of 2^k units: the bits inside a block stay.
    [[nodiscard]] std::uint32_t unit(std::uint32_t value, std::uint32_t count) const {
        if (relative_ == Relative::ring) return turn(value, units_);
        const std::uint32_t inside = std::bit_floor(std::max(count, 1U)) - 1;
        return value ^ (from_ & ~inside);
    }

    Relative relative_;
    std::uint32_t size_;
    std::uint32_t units_;
    bool move_units_;
    std::uint32_t from_;
    bool away_;
};

/// Mixes numbers into one.
class Hash {
  public:
    Hash& add(std::uint64_t value) {
        state_ = (state_ ^ value) * 0x9e3779b97f4a7c15;
        state_ ^= state_ >> 29;
        return *this;
    }
    Hash& add(std::string_view text) {
        for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
        return add(std::uint64_t{text.size()});
    }
    Hash& add(BlockList list) { return add(std::uint64_t{list.start} << 32 | list.count); }
    [[nodiscard]] std::uint64_t value() const { return state_; }

  private:
    std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

OffsetForm offset_form(const Program& program, Relative relative, bool units) {
    OffsetForm form{.program = program, .relative = relative, .units = units};
    Shift(form, program.rank, true).apply(form.program);
    form.program.rank = 0;
    return form;
}

Program at(const OffsetForm& form, Rank rank) {
    Program program = form.program;
    Shift(form, rank, false).apply(program);
    program.rank = rank;
    return program;
}

std::uint64_t class_hash(const OffsetForm& form) {
    const Program& program = form.program;
    Hash hash;
    hash.add(static_cast<std::uint64_t>(form.relative) << 1 | (form.units ? 1 : 0));
    hash.add(program.collective).add(program.algorithm);
    const auto number = [](Rank rank) { return static_cast<std::uint64_t>(rank); };
    hash.add(number(program.size)).add(number(program.root)).add(program.units);
    hash.add(program.segments).add(program.depth).add(program.slots).add(program.slot_units);
    hash.add(program.scratch).add(std::uint64_t{program.synchronizing});
    hash.add(std::uint64_t{program.pairwise});
    for (const std::uint64_t count : program.unit_counts) hash.add(count);
    hash.add(program.unit_elements);
    for (const std::uint32_t room : program.slot_capacity) hash.add(room);
    for (const Step& step : program.steps) {
        hash.add(static_cast<std::uint64_t>(step.kind) << 32 | std::uint64_t{step.flags} << 16 |
                 step.lag);
        hash.add(number(step.peer)).add(step.signal).add(step.operands);
        hash.add(step.target).add(step.source);
    }
    for (const Lane& lane : program.lanes) hash.add(std::uint64_t{lane.first} << 32 | lane.count);
    for (const Block& block : program.blocks) {
        hash.add(static_cast<std::uint64_t>(block.buffer)).add(number(block.peer));
        hash.add(block.index).add(block.origin).add(block.first);
        hash.add(block.count).add(block.stride).add(block.advance);
    }
    return hash.value();
}

}  // namespace weft::plan
