// SPDX-License-Identifier: BSD-3-Clause
// node_map.hpp - the segments of the ranks of this node, mapped next to each other.
//
// Idea     Ranks with the same host and virtual node are *candidates*. If possible, all candidates
//          reserve the same range of addresses. Each candidate maps the segment of candidate i at
//          base + i * stride. Pointers into any segment are then valid in all of these processes.
// Why      Only actual mappings count, because a card can be wrong (containers, pid namespaces,
//          permissions). So each rank publishes a verdict. From the verdicts, all ranks derive the
//          same result: the ranks of the node, and whether their addresses are equal.
// Holds    Mappings are placed only inside the map's own reservation. A descriptor is checked
//          before it is opened, so opening does not affect foreign files. base() is valid while the
//          map lives, even after the owner's death.
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
    equal,   ///< pointers into the node's segments are valid in all processes of the node
    offset,  ///< each process has other addresses; only (rank, offset) is valid in all of them
};

/// Result of one rank's attempt to map the segments of its candidates, which read it.
struct MapVerdict {
    Rank rank = 0;  ///< rank that mapped the segments
    AddressMode mode = AddressMode::offset;
    std::uint64_t base = 0;    ///< address of candidate 0
    std::uint64_t stride = 0;  ///< bytes from one candidate to the next
    std::vector<Rank> mapped;  ///< ranks whose segments are mapped; ascending; contains `rank`

    [[nodiscard]] std::vector<std::byte> to_bytes() const;
    static base::Result<MapVerdict> from_bytes(std::span<const std::byte> bytes);

    friend bool operator==(const MapVerdict&, const MapVerdict&) = default;
};

/// Ranks that have all mapped each other, and whether their addresses are equal.
struct NodeGroup {
    std::vector<Rank> ranks;  ///< ascending; contains the calling rank
    AddressMode mode = AddressMode::offset;
};

/// Divides the ranks of the verdicts into groups whose members have all mapped each other, and
/// returns the group of `me`, which must have a verdict. In ascending order, each rank joins the
/// first group in which each member and the rank have mapped each other. The result depends
/// only on the verdicts, so all ranks form equal groups. A rank without a verdict is in no group.
[[nodiscard]] NodeGroup clique(std::span<const MapVerdict> verdicts, Rank me);

struct NodeMapOptions {
    bool force_offset = false;  ///< do not try equal addresses
};

class NodeMap {
  public:
    /// Maps the segments of all candidates. If a candidate cannot be mapped, records the reason.
    /// Fails only if this rank cannot reserve addresses or map its own segment. cards_by_rank[r] is
    /// the card of rank r; the card of `me` must be the card of `mine`.
    static base::Result<NodeMap> open(const Segment& mine,
                                      std::span<const SegmentCard> cards_by_rank, Rank me,
                                      NodeMapOptions options = {});

    /// Returns the start of a rank's segment (its header) if it is mapped here, else nullptr.
    [[nodiscard]] std::byte* base(Rank rank) const noexcept {
        const LocalRank* const candidate = find(rank);
        return candidate == nullptr ? nullptr : candidate->base;
    }
    [[nodiscard]] AddressMode mode() const noexcept { return mode_; }
    /// Returns the ranks with the same host and virtual node, including this one, ascending.
    [[nodiscard]] std::vector<Rank> candidates() const;
    /// Returns the verdict of this rank, to be published.
    [[nodiscard]] MapVerdict verdict() const;
    /// Unmaps the segments of ranks outside the group of clique(), and takes the group's mode.
    void settle(const NodeGroup& group);

    /// Returns lines with reasons: one for each unmapped candidate, and one if addresses differ.
    [[nodiscard]] std::string problems() const;

  private:
    struct LocalRank {
        Rank rank = 0;
        std::byte* base = nullptr;  ///< its segment in this process; nullptr: not mapped
        std::string problem;        ///< reason why the segment is not mapped
    };

    NodeMap() = default;
    [[nodiscard]] const LocalRank* find(Rank rank) const noexcept;
    base::Result<void> reserve(std::uint32_t common_bases, NodeMapOptions options);
    void map_candidates(const Segment& mine, std::span<const SegmentCard> cards_by_rank);

    Rank me_ = 0;
    AddressMode mode_ = AddressMode::offset;
    std::string mode_problem_;  ///< reason why the mode is `offset`
    AddressRange range_;        ///< the reservation
    std::uint64_t alignment_ = 0;
    std::byte* first_ = nullptr;  ///< address of candidate 0, aligned to alignment_
    std::uint64_t stride_ = 0;
    std::vector<LocalRank> candidates_;  ///< ascending ranks; the index determines the address
};

}  // namespace weft::link
