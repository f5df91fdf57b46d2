// SPDX-License-Identifier: BSD-3-Clause
// memory.hpp - the vectors of all ranks, and the rule that accesses to a unit are ordered.
//
// Idea     A cell is one unit of one vector (input, output, scratch) of one rank. It remembers its
//          value, who wrote it last, and who has read it since. An access that could be
//          simultaneous with an earlier one of which either writes is a race.
// Holds    If no race is found, every execution that the programs allow gives the same values: a
//          chain of ordered neighbours is ordered.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/verify/order.hpp"
#include "plan/verify/values.hpp"

namespace weft::plan {

/// Why something is not sound; the first reason is kept.
struct Reason {
    std::string text;
    bool no(std::string why) {
        if (text.empty()) text = std::move(why);
        return false;
    }
};

class Memory {
  public:
    /// in_place, by rank: unit u of the input and unit u of the output are one cell. A contract (or
    /// none) says which units of them a rank has.
    Memory(std::span<const Program> programs, const Contract* contract, std::vector<bool> in_place,
           Order& order, Values& values, Reason& reason);

    /// The cell of a unit of input, output or scratch.
    [[nodiscard]] std::uint32_t cell(Rank rank, const Block& block, std::uint32_t unit) const;

    /// Reads for the current step of `lane`, as the unit at `position` of an operand.
    [[nodiscard]] bool read(std::uint32_t cell, std::uint32_t lane, const Access& access,
                            std::uint32_t position, Value& value);
    [[nodiscard]] bool write(std::uint32_t cell, std::uint32_t lane, const Access& access,
                             std::uint32_t position, Value value);

    /// What the unit of the output holds at the end; kUndefined if nothing.
    [[nodiscard]] Value final_output(Rank rank, std::uint32_t unit);
    [[nodiscard]] std::string name(std::uint32_t cell) const;

  private:
    static constexpr Value kUnread = kUndefined - 1;  ///< an input: becomes a leaf when it is read
    static constexpr std::uint32_t kManyPositions = ~std::uint32_t{0};

    struct Cell {
        Value value = kUndefined;
        std::uint32_t read_step = kNone;      ///< the last step that read it
        std::uint32_t read_position = kNone;  ///< where in its operands
        Access written;
        Reads reads;
    };
    [[nodiscard]] Value value_of(std::uint32_t cell);
    [[nodiscard]] bool is_input(std::uint32_t cell) const;
    /// Of an input or output that the rank does not have.
    [[nodiscard]] bool is_missing_output(std::uint32_t cell) const;
    [[nodiscard]] Rank owner(std::uint32_t cell) const;
    [[nodiscard]] std::string pending(const Access& access) const;

    std::span<const Program> programs_;
    std::vector<bool> in_place_;  ///< by rank
    Order& order_;
    Values& values_;
    Reason& reason_;
    std::vector<std::uint32_t> base_;  ///< first cell of each rank
    std::vector<UnitRange> outputs_;   ///< what each rank has of its output; empty: everything
    std::vector<Cell> cells_;
};

}  // namespace weft::plan
