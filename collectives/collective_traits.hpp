// SPDX-License-Identifier: BSD-3-Clause
// collective_traits.hpp - what each collective is, in one table.
//
// Idea     A row says which part of the vector a rank reads and writes, whose contributions reach
//          its output, and who knows the counts. Names, roots, contracts, checks of arguments,
//          places of blocks in place, and what benches and tests expect are derived from that.
// Holds    Rows are in the order of weft::Collective. A collective whose blocks have counts has a
//          row of its own; what it shares with the one of equal blocks is found through `even`.
// Next     contracts.cpp for what programs must achieve; README.md for how to add a collective.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "weft/types.hpp"

namespace weft::collectives {

/// The part of the vector of a call that a rank has. In rooted collectives others than the root
/// have nothing of `whole_at_root`; only they see a difference.
enum class VectorPart : std::uint8_t { none, whole, whole_at_root, whole_after_first, own_block };

/// What stands at a place of the output. Ranks combined: those whose inputs are reduced there.
enum class Contribution : std::uint8_t {
    none,             ///< no data: completion anywhere means entry everywhere
    root,             ///< the same place of the root's input
    owner,            ///< the same place of the input of the rank that the block belongs to
    owner_own_block,  ///< of the input of that rank, the block that belongs to this one
    all,              ///< ranks combined: all
    up_to_own,        ///< ranks combined: all up to this one
    before_own        ///< ranks combined: all before this one
};

/// How large blocks are, and who knows it.
enum class Counts : std::uint8_t { equal, known_to_all, known_to_pair };

/// The argument that may say "in place"; the other one is the vector then, and each side has its
/// part of it.
enum class InPlace : std::uint8_t { never, input, output };

struct CollectiveTraits {
    Collective collective = Collective::barrier;
    std::string_view name;  ///< on the command line, in reports, and in WEFT_<COLLECTIVE>
    VectorPart input = VectorPart::none;
    VectorPart output = VectorPart::none;
    Contribution contribution = Contribution::none;
    InPlace in_place = InPlace::input;
    Counts counts = Counts::equal;
    Collective even = Collective::barrier;  ///< the same with equal blocks

    [[nodiscard]] constexpr bool has_data() const { return contribution != Contribution::none; }
    [[nodiscard]] constexpr bool rooted() const {
        return contribution == Contribution::root || input == VectorPart::whole_at_root ||
               output == VectorPart::whole_at_root;
    }
    [[nodiscard]] constexpr bool reduces() const { return contribution >= Contribution::all; }
    /// The vector has a block for each rank; a count is one of a block.
    [[nodiscard]] constexpr bool blocks() const {
        return input == VectorPart::own_block || output == VectorPart::own_block ||
               contribution == Contribution::owner_own_block;
    }
    /// Blocks have counts of their own: of the input (output), an array where a rank has all of
    /// them.
    [[nodiscard]] constexpr bool has_counts() const { return counts != Counts::equal; }
    [[nodiscard]] constexpr bool has_input_counts() const {
        return has_counts() && input != VectorPart::own_block;
    }
    [[nodiscard]] constexpr bool has_output_counts() const {
        return has_counts() && output != VectorPart::own_block;
    }
    [[nodiscard]] constexpr bool has_pairwise_counts() const {
        return counts == Counts::known_to_pair;
    }
    /// Completion anywhere must mean entry everywhere.
    [[nodiscard]] constexpr bool synchronizes() const { return !has_data(); }
};

// clang-format off
inline constexpr auto kCollectives = [] {
    using enum Collective;
    using Part = VectorPart;
    using From = Contribution;
    std::array rows{
        CollectiveTraits{barrier, "barrier", Part::none, Part::none, From::none, InPlace::never},
        CollectiveTraits{broadcast, "broadcast", Part::whole, Part::whole, From::root,
                         InPlace::never},
        CollectiveTraits{reduce, "reduce", Part::whole, Part::whole_at_root, From::all},
        CollectiveTraits{allreduce, "allreduce", Part::whole, Part::whole, From::all},
        CollectiveTraits{gather, "gather", Part::own_block, Part::whole_at_root, From::owner},
        CollectiveTraits{scatter, "scatter", Part::whole_at_root, Part::own_block, From::root,
                         InPlace::output},
        CollectiveTraits{allgather, "allgather", Part::own_block, Part::whole, From::owner},
        CollectiveTraits{alltoall, "alltoall", Part::whole, Part::whole, From::owner_own_block},
        CollectiveTraits{reduce_scatter, "reduce_scatter", Part::whole, Part::own_block, From::all},
        CollectiveTraits{scan, "scan", Part::whole, Part::whole, From::up_to_own},
        CollectiveTraits{exscan, "exscan", Part::whole, Part::whole_after_first, From::before_own},
        CollectiveTraits{gatherv, "gatherv", Part::own_block, Part::whole_at_root, From::owner,
                         InPlace::input, Counts::known_to_pair, gather},
        CollectiveTraits{scatterv, "scatterv", Part::whole_at_root, Part::own_block, From::root,
                         InPlace::output, Counts::known_to_pair, scatter},
        CollectiveTraits{allgatherv, "allgatherv", Part::own_block, Part::whole, From::owner,
                         InPlace::input, Counts::known_to_all, allgather},
        CollectiveTraits{alltoallv, "alltoallv", Part::whole, Part::whole, From::owner_own_block,
                         InPlace::never, Counts::known_to_pair, alltoall},
        CollectiveTraits{reduce_scatterv, "reduce_scatterv", Part::whole, Part::own_block,
                         From::all, InPlace::input, Counts::known_to_all, reduce_scatter},
    };
    // No default of the member: clang 16 takes one that reads another member for no constant.
    for (CollectiveTraits& row : rows)
        if (!row.has_counts()) row.even = row.collective;
    return rows;
}();
// clang-format on

static_assert(
    [] {
        for (std::size_t i = 0; i < kCollectives.size(); ++i) {
            if (kCollectives[i].collective != static_cast<Collective>(i)) return false;
        }
        return true;
    }(),
    "rows are in the order of weft::Collective");

/// Those whose blocks have counts come last.
inline constexpr Collective kFirstWithCounts = [] {
    Collective first = Collective::barrier;
    for (std::size_t i = kCollectives.size(); i-- > 0 && kCollectives[i].has_counts();)
        first = kCollectives[i].collective;
    return first;
}();

/// Their names, in the same order.
inline constexpr auto kCollectiveNames = [] {
    std::array<std::string_view, kCollectives.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kCollectives[i].name;
    return names;
}();

[[nodiscard]] constexpr const CollectiveTraits& traits_of(Collective collective) {
    return kCollectives[static_cast<std::size_t>(collective)];
}
/// nullptr if there is no collective of that name.
[[nodiscard]] constexpr const CollectiveTraits* find_collective(std::string_view name) {
    for (const CollectiveTraits& traits : kCollectives) {
        if (traits.name == name) return &traits;
    }
    return nullptr;
}

}  // namespace weft::collectives
