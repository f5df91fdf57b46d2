// SPDX-License-Identifier: BSD-3-Clause
// stages.hpp - the programs of all ranks as one small value, for algorithms in stages.
//
// Idea     The ranks that take part in a stage are numbered, so a stage is arithmetic on numbers:
//          an *exchange* in groups, in which every sender puts to every receiver, or a *shift*, in
//          which each rank signals ranks at given distances. program_of() derives the program of
//          one rank.
// Why      The programs of ranks and the simulation of a billion ranks are derived from the same
//          description of the algorithm.
// Holds    The size of the value depends on the number of stages, not of ranks. The time of
//          program_of() is proportional to the size of the program and the number of stages.
#pragma once

#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

inline constexpr Rank kNoNumber = -1;  ///< the rank is not in a numbering

/// Selection of `count` numbers of an outer numbering, in rows of adjacent numbers. The number i in
/// the run is the outer number first + i / width * pitch + i % width.
struct RankRun {
    Rank first = 0;
    Rank count = 0;
    Rank width = 1;  ///< numbers in each row
    Rank pitch = 1;  ///< distance between the starts of rows, at least `width`

    /// Returns a run of `count` adjacent outer numbers.
    [[nodiscard]] static RankRun adjacent(Rank first, Rank count) {
        return {.first = first, .count = count, .width = count, .pitch = count};
    }
    [[nodiscard]] Rank outer_of(Rank number) const {
        return first + number / width * pitch + number % width;
    }
    /// Returns the number in the run of an outer number, or kNoNumber.
    [[nodiscard]] Rank number_of(Rank outer) const {
        if (outer < first) return kNoNumber;
        const Rank row = (outer - first) / pitch;
        const Rank in_row = (outer - first) % pitch;
        if (in_row >= width) return kNoNumber;
        const std::int64_t number = std::int64_t{row} * width + in_row;
        return number < count ? static_cast<Rank>(number) : kNoNumber;
    }

    friend bool operator==(const RankRun&, const RankRun&) = default;
};

/// Numbers 0 .. count - 1 for the outer numbers in the runs, in order.
struct Numbering {
    std::uint32_t outer = 0;  ///< index of an earlier entry of Stages::numberings
    Rank count = 0;           ///< sum over the runs
    std::vector<RankRun> runs;

    [[nodiscard]] Rank outer_of(Rank number) const;
    [[nodiscard]] Rank number_of(Rank outer) const;

    friend bool operator==(const Numbering&, const Numbering&) = default;
};

/// Members of a group, by position.
enum class Members : std::uint8_t { all, last, all_but_last };

inline constexpr std::uint32_t kNoRemainders = std::numeric_limits<std::uint32_t>::max();

/// Groups in which every sender puts its value to every receiver but itself. A receiver replaces
/// its value by the combination of the senders' values, in order of their positions. A member sends
/// to the receivers after itself first, then to the receivers before itself, so that no rank is the
/// first receiver of all. It sends to remainders last.
struct ExchangeStage {
    std::uint32_t numbering = 0;  ///< numbering of the members
    Rank groups = 1;
    Rank base = 2;    ///< number of members of a group
    Rank stride = 1;  ///< distance between the numbers of neighboring members; divides `groups`
    Members senders = Members::all;
    Members receivers = Members::all;
    bool keeps_own = true;  ///< a receiver also combines its own value, at its own position
    /// Numbering of the remainders: further ranks, divided evenly over the groups. The first groups
    /// may have one more.
    std::uint32_t remainders = kNoRemainders;
    /// True: remainder k of group g has the number k * groups + g. False: the remainders of a group
    /// have consecutive numbers.
    bool dealt = false;
    bool remainders_send = false;     ///< to all receivers, which combine these values first
    bool remainders_receive = false;  ///< from all senders; replaces the remainder's value

    [[nodiscard]] Rank members() const { return groups * base; }
    // Convert between a member's number, and its group and position in the group.
    [[nodiscard]] Rank member(Rank group, Rank position) const {
        return group / stride * stride * base + group % stride + position * stride;
    }
    [[nodiscard]] Rank group_of(Rank number) const {
        return number / stride / base * stride + number % stride;
    }
    [[nodiscard]] Rank position_of(Rank number) const { return number / stride % base; }
    [[nodiscard]] bool is_in(Members which, Rank position) const {
        return which == Members::all || (position == base - 1) == (which == Members::last);
    }
    [[nodiscard]] bool sends(Rank position) const { return is_in(senders, position); }
    [[nodiscard]] bool receives(Rank position) const { return is_in(receivers, position); }
    [[nodiscard]] Rank count_of(Members which) const {
        return which == Members::all ? base : which == Members::last ? 1 : base - 1;
    }

    friend bool operator==(const ExchangeStage&, const ExchangeStage&) = default;
};

/// Division of `count` remainders over the groups of an exchange.
struct Remainders {
    Rank count = 0;
    Rank groups = 1;
    bool dealt = false;

    /// Returns the number of remainders of a group.
    [[nodiscard]] Rank count_in(Rank group) const {
        return count / groups + (group < count % groups ? 1 : 0);
    }
    /// Returns the largest number of remainders of a group.
    [[nodiscard]] Rank count_max() const { return (count + groups - 1) / groups; }
    // Convert between a remainder's number, and its group and index in the group (`place`).
    [[nodiscard]] Rank number(Rank group, Rank place) const;
    [[nodiscard]] Rank group_of(Rank number) const;
    [[nodiscard]] Rank place_of(Rank remainder) const;
};

/// Each rank signals the ranks whose numbers are j * reach higher, cyclically, for each j from 1 to
/// radix - 1 with j * reach less than the number of ranks. Then it waits for the signals to itself.
struct ShiftStage {
    std::uint32_t numbering = 0;
    std::int64_t reach = 1;
    std::int64_t radix = 2;
    bool aligned = false;  ///< a sender uses one signal number for all receivers

    friend bool operator==(const ShiftStage&, const ShiftStage&) = default;
};

using Stage = std::variant<ExchangeStage, ShiftStage>;

struct Stages {
    Program header;            ///< header of all programs, except the rank
    bool carries = false;      ///< ranks send values (the input, later the output), not signals
    bool interleaves = false;  ///< several segments are in flight (interleave())
    std::vector<Numbering> numberings;  ///< the first one has all ranks
    std::vector<Stage> stages;          ///< run once for each segment of the header

    friend bool operator==(const Stages&, const Stages&) = default;

    [[nodiscard]] Rank size() const { return header.size; }
    [[nodiscard]] Remainders remainders_of(const ExchangeStage& exchange) const {
        if (exchange.remainders == kNoRemainders) return {.groups = exchange.groups};
        return {numberings[exchange.remainders].count, exchange.groups, exchange.dealt};
    }
    /// Returns the rank that has `number` in a numbering.
    [[nodiscard]] Rank rank_of(std::uint32_t numbering, Rank number) const;
    /// Returns the count of slot or signal numbers that the stage uses; equal on all ranks.
    [[nodiscard]] std::uint32_t numbers_of(const Stage& stage) const;
    /// Appends a stage. Its slot and signal numbers follow those of the preceding stages.
    void add(const Stage& stage);
    /// Appends a numbering of some numbers of numbering `outer`, and returns its index.
    std::uint32_t add_numbering(std::uint32_t outer, std::vector<RankRun> runs);
};

/// Returns Stages without a stage, with a numbering of all ranks.
[[nodiscard]] Stages begin_stages(Program header);

[[nodiscard]] Program program_of(const Stages& stages, Rank rank);

/// Returns the number of puts and signals of all ranks in one stage, for one segment.
[[nodiscard]] std::uint64_t raises_of(const Stages& stages, const Stage& stage);

}  // namespace weft::plan
