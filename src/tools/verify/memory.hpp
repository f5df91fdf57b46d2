// SPDX-License-Identifier: BSD-3-Clause
// memory.hpp - the buffers of all ranks, and the rule that accesses to a unit are ordered.
//
// Idea     A cell is one unit of one buffer (input, output, scratch) of one rank. It stores its
//          value, its last write and the later reads. Two accesses race if they may be simultaneous
//          and one of them writes.
// Holds    Without a race, every execution that the programs allow gives the same values, since
//          ordered accesses to a cell form one chain.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/verify/order.hpp"
#include "tools/verify/values.hpp"

namespace weft::plan {

/// Reason for a failed check.
struct Reason {
    std::string text;
    /// Formats `text`, unless an earlier check has failed. Returns false.
    template <class... Arguments>
    bool fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        if (text.empty()) text = fmt::format(format, std::forward<Arguments>(arguments)...);
        return false;
    }
};

/// Cells of all ranks. read() and write() return false, and set the reason, if a rule is broken.
class Memory {
  public:
    /// `in_place`, by rank: unit u of the input and unit u of the output are one cell. `contract`
    /// defines the units of input and output that a rank has; nullptr: all.
    Memory(std::span<const Program> programs, const Contract* contract, std::vector<bool> in_place,
           Order& order, Values& values, Reason& reason);

    /// Returns the cell of a unit of input, output or scratch.
    [[nodiscard]] std::uint32_t cell(Rank rank, const Block& block, std::uint32_t unit) const;

    /// Reads a cell for the current step of `lane`, as unit `position` of an operand. Fails if the
    /// last write is not ordered before the step.
    [[nodiscard]] bool read(std::uint32_t cell, std::uint32_t lane, const Access& access,
                            std::uint32_t position, Value& value);
    /// Writes a cell. Fails if an earlier access is not ordered before the step, or if the step
    /// reads the cell at another position: a step handles its positions in any order.
    [[nodiscard]] bool write(std::uint32_t cell, std::uint32_t lane, const Access& access,
                             std::uint32_t position, Value value);

    /// Returns the final value of an output unit; kUndefined if it was not written.
    [[nodiscard]] Value final_output(Rank rank, std::uint32_t unit);
    /// Returns a name such as "output[3] of rank 1".
    [[nodiscard]] std::string name(std::uint32_t cell) const;

  private:
    /// Value of an input unit that was not read; the first read makes it a leaf.
    static constexpr Value kUnread = kUndefined - 1;
    /// Value of read_position if a step reads the unit at several positions.
    static constexpr std::uint32_t kManyPositions = ~std::uint32_t{0};

    struct UnitState {
        Value value = kUndefined;
        std::uint32_t read_step = kNone;      ///< last step that read it
        std::uint32_t read_position = kNone;  ///< position in the operands of that step
        Access written;                       ///< last write
        Reads reads;                          ///< reads since the last write
    };
    /// Buffer and unit of a cell. Buffer 0 is the input, 1 the output, b scratch buffer b - 2.
    /// In place, buffer 1 is both input and output.
    struct Location {
        std::size_t rank = 0;
        std::uint32_t buffer = 0;
        std::uint32_t unit = 0;
    };

    [[nodiscard]] Value value_of(std::uint32_t cell);
    [[nodiscard]] Location location_of(std::uint32_t cell) const;
    [[nodiscard]] std::string pending(const Access& access) const;

    std::span<const Program> programs_;
    std::vector<bool> in_place_;  ///< by rank
    Order& order_;
    Values& values_;
    Reason& reason_;
    std::vector<std::uint32_t> base_;  ///< first cell of each rank
    std::vector<UnitRange> outputs_;   ///< output range of each rank; empty: all units
    std::vector<UnitState> cells_;
};

}  // namespace weft::plan
