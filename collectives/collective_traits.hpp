// SPDX-License-Identifier: BSD-3-Clause
// collective_traits.hpp - properties of each collective, in one table.
//
// Idea     A row names the part of the buffer that a rank reads and writes, the ranks that
//          contribute to its output, and the ranks that know the counts. Names, roots,
//          contracts, checks of arguments, block positions in place, benches and tests are
//          derived from the table.
// Holds    Rows are in the order of weft::Collective. A collective with counts has its own row, and
//          `even` names the collective with equal blocks.
// Next     README.md for how to add a collective.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "weft/types.hpp"

namespace weft::collectives {

/// Part of the call's buffer that a rank has. `whole_at_root`: only the root has the buffer.
/// `whole_after_first`: all ranks but rank 0 have it.
enum class VectorPart : std::uint8_t { none, whole, whole_at_root, whole_after_first, own_block };

/// Source of an element of the output; for reductions, the ranks whose inputs are combined.
enum class Contribution : std::uint8_t {
    none,             ///< no data: completion on one rank means that all have entered
    root,             ///< the same element of the root's input
    owner,            ///< the same element of the input of the rank that owns the block
    owner_own_block,  ///< this rank's block in the input of the rank that owns the block
    all,              ///< reduction over all ranks
    up_to_own,        ///< reduction over the ranks up to this one
    before_own        ///< reduction over the ranks before this one
};

/// Sizes of blocks. `known_to_pair`: only a block's sender and receiver know its size.
enum class BlockCounts : std::uint8_t { equal, known_to_all, known_to_pair };

/// Argument that may be WEFT_IN_PLACE. The other argument is then the whole buffer, and each side
/// uses its part of it.
enum class InPlace : std::uint8_t { never, input, output };

struct CollectiveTraits {
    Collective collective = Collective::barrier;
    std::string_view name;  ///< on the command line, in reports, and in WEFT_<COLLECTIVE>
    VectorPart input = VectorPart::none;
    VectorPart output = VectorPart::none;
    Contribution contribution = Contribution::none;
    InPlace in_place = InPlace::input;
    BlockCounts counts = BlockCounts::equal;
    Collective even = Collective::barrier;  ///< the collective with equal blocks

    [[nodiscard]] constexpr bool has_data() const { return contribution != Contribution::none; }
    [[nodiscard]] constexpr bool rooted() const {
        return contribution == Contribution::root || input == VectorPart::whole_at_root ||
               output == VectorPart::whole_at_root;
    }
    [[nodiscard]] constexpr bool reduces() const { return contribution >= Contribution::all; }
    /// Returns true if the buffer has a block for each rank. Counts are then counts of a block.
    [[nodiscard]] constexpr bool blocks() const {
        return input == VectorPart::own_block || output == VectorPart::own_block ||
               contribution == Contribution::owner_own_block;
    }
    /// Returns true if each block has its own count.
    [[nodiscard]] constexpr bool has_counts() const { return counts != BlockCounts::equal; }
    // Return true if the caller passes an array of counts for the input or the output.
    [[nodiscard]] constexpr bool has_input_counts() const {
        return has_counts() && input != VectorPart::own_block;
    }
    [[nodiscard]] constexpr bool has_output_counts() const {
        return has_counts() && output != VectorPart::own_block;
    }
    [[nodiscard]] constexpr bool has_pairwise_counts() const {
        return counts == BlockCounts::known_to_pair;
    }
    /// Returns true if completion on one rank must mean that all ranks have entered.
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
                         InPlace::input, BlockCounts::known_to_pair, gather},
        CollectiveTraits{scatterv, "scatterv", Part::whole_at_root, Part::own_block, From::root,
                         InPlace::output, BlockCounts::known_to_pair, scatter},
        CollectiveTraits{allgatherv, "allgatherv", Part::own_block, Part::whole, From::owner,
                         InPlace::input, BlockCounts::known_to_all, allgather},
        CollectiveTraits{alltoallv, "alltoallv", Part::whole, Part::whole, From::owner_own_block,
                         InPlace::never, BlockCounts::known_to_pair, alltoall},
        CollectiveTraits{reduce_scatterv, "reduce_scatterv", Part::whole, Part::own_block,
                         From::all, InPlace::input, BlockCounts::known_to_all, reduce_scatter},
    };
    // Not a default member initializer: clang 16 rejects one that reads another member
    // as not constant.
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

/// First collective with counts; all later collectives have counts, too.
inline constexpr Collective kFirstWithCounts = [] {
    Collective first = Collective::barrier;
    for (std::size_t i = kCollectives.size(); i-- > 0 && kCollectives[i].has_counts();)
        first = kCollectives[i].collective;
    return first;
}();

inline constexpr auto kCollectiveNames = [] {
    std::array<std::string_view, kCollectives.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kCollectives[i].name;
    return names;
}();

[[nodiscard]] constexpr const CollectiveTraits& traits_of(Collective collective) {
    return kCollectives[static_cast<std::size_t>(collective)];
}
/// Returns the traits of the named collective, or nullptr.
[[nodiscard]] constexpr const CollectiveTraits* find_collective(std::string_view name) {
    for (const CollectiveTraits& traits : kCollectives) {
        if (traits.name == name) return &traits;
    }
    return nullptr;
}

}  // namespace weft::collectives
