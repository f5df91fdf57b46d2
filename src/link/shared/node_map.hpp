// SPDX-License-Identifier: BSD-3-Clause
// node_map.hpp - the segments of the ranks of this node, mapped side by side.
//
// Idea     Ranks with the same host and virtual node are candidates. Each one reserves the same
//          range of addresses, if all of them can, and maps candidate i at base + i * stride. Raw
//          pointers into any segment then mean the same in all of them.
// Why      What counts is what was really mapped: a card can lie (containers, pid namespaces, a
//          permission). So each rank publishes a verdict, and from the verdicts all derive the
//          same answer: which ranks form a node and whether their addresses are equal.
// Holds    Mappings are only ever placed inside the map's own reservation. Opening has no effect on
//          a descriptor that is not the segment on the card: it is checked before it is opened.
//          base() is valid while the map lives, also after the owner's death.
// Next     segment.hpp for the owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "link/shared/os_handles.hpp"
#include "link/shared/segment.hpp"
#include "weft/types.hpp"

namespace weft::link {

enum class AddressMode : std::uint8_t {
    equal,   ///< a pointer into a segment of the node is valid in all processes of the node
    offset,  ///< only (rank, offset) is; each process has its own addresses
};

/// What one rank could map. Published by each rank, read by its candidates.
struct MapVerdict {
    Rank rank = 0;
    AddressMode mode = AddressMode::offset;
    std::uint64_t base = 0;    ///< address of candidate 0
    std::uint64_t stride = 0;  ///< bytes from one candidate to the next
    std::vector<Rank> mapped;  ///< ascending; contains `rank`

    [[nodiscard]] std::vector<std::byte> to_bytes() const;
    [[nodiscard]] static base::Result<MapVerdict> from_bytes(std::span<const std::byte> bytes);

    friend bool operator==(const MapVerdict&, const MapVerdict&) = default;
};

/// The ranks that have all mapped each other, and how they may share addresses.
struct NodeGroup {
    std::vector<Rank> ranks;  ///< ascending; contains the asking rank
    AddressMode mode = AddressMode::offset;
};

/// Divides the ranks of the verdicts into groups that have all mapped each other and returns the
/// one `me` is in. Ranks are taken in ascending order, and each joins the first group all of whose
/// members it has mapped and is mapped by, so that all ranks with the same verdicts decide
/// the same. A candidate without a verdict is in no group. There is a verdict of `me`.
[[nodiscard]] NodeGroup clique(std::span<const MapVerdict> verdicts, Rank me);

struct NodeMapOptions {
    bool force_offset = false;  ///< do not try equal addresses
};

class NodeMap {
  public:
    /// Maps the segments of all candidates. A candidate that cannot be mapped is recorded, with the
    /// reason; it is a failure only if the own segment cannot be mapped.
    /// cards_by_rank[r] is the card of rank r; the card of `me` is that of `mine`.
    [[nodiscard]] static base::Result<NodeMap> open(const Segment& mine,
                                                    std::span<const SegmentCard> cards_by_rank,
                                                    Rank me, NodeMapOptions options = {});

    /// Start of a rank's segment (its header) if it is mapped here, else nullptr.
    [[nodiscard]] std::byte* base(Rank rank) const noexcept {
        const Candidate* const candidate = find(rank);
        return candidate == nullptr ? nullptr : candidate->base;
    }
    [[nodiscard]] AddressMode mode() const noexcept { return mode_; }
    /// Ranks with the same host and virtual node as this one, itself included, ascending.
    [[nodiscard]] std::vector<Rank> candidates() const;
    [[nodiscard]] MapVerdict verdict() const;
    /// Keeps the group's members only, and its mode. The group comes from clique().
    void settle(const NodeGroup& group);

    /// Why candidates are not mapped and why addresses differ, a line each; empty if neither is so.
    [[nodiscard]] std::string problems() const;

  private:
    struct Candidate {
        Rank rank = 0;
        std::byte* base = nullptr;
        std::string problem;
    };

    NodeMap() = default;
    [[nodiscard]] const Candidate* find(Rank rank) const noexcept;
    [[nodiscard]] base::Result<void> reserve(std::uint32_t common_bases, NodeMapOptions options);
    void map_candidates(const Segment& mine, std::span<const SegmentCard> cards_by_rank);

    Rank me_ = 0;
    AddressMode mode_ = AddressMode::offset;
    std::string mode_problem_;
    AddressRange range_;
    std::uint64_t alignment_ = 0;
    std::byte* first_ = nullptr;  ///< where candidate 0 goes; aligned so
    std::uint64_t stride_ = 0;
    std::vector<Candidate>
        candidates_;  ///< all candidates, by rank; their index decides their address
};

}  // namespace weft::link
