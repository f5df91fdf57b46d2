// SPDX-License-Identifier: BSD-3-Clause
// layout.hpp - the layout of every rank's segment.
//
// Idea     The parts of a segment, in order: header, mailboxes, one-sided area; for each team
//          region and member, a word that the member sets when it leaves the team; for each team
//          region, a word that a member sets when it revokes the team; choices of algorithms (used
//          in the segment of the node's first rank); active messages; messages of agreements, if
//          the job continues after deaths; a fixed table of team regions; space for copies of
//          buffers that local peers cannot map; heap.
// Why      A network may pin registered memory, so each section of a segment is registered at its
//          first use. Sections are: the part that every rank needs; for each team, the cells and
//          bulk banks that all calls use; for each team, the cells that only some calls need; parts
//          of the heap. Sections stay registered, because regions and the heap are reused.
// Holds    The layout depends only on job size and settings, so offsets are equal on all ranks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/environment.hpp"
#include "base/extent.hpp"
#include "base/region.hpp"
#include "run/agree/agreement.hpp"
#include "run/execute/inquiry.hpp"
#include "run/onesided/area.hpp"

namespace weft::run {

struct SegmentLayout {
    /// Offset of the sections' network keys, which peers read, after the segment's header.
    static constexpr std::uint64_t kSectionKeys = 1024;
    static constexpr std::uint64_t kHeapSections = 28;                        ///< limit
    static constexpr std::uint64_t kHeapSectionMin = std::uint64_t{1} << 20;  ///< bytes

    static constexpr std::uint32_t kTeams = 32;  ///< regions, and teams that a rank may be in
    static constexpr std::uint64_t kChoicesBytes = std::uint64_t{64} << 10;  ///< size for a node
    static constexpr std::uint32_t kBulkBanks = 4;
    /// Small bulk banks, by size class. A rank may run ahead by the number of banks, which should
    /// fit into the cache. Sizes above a power of two spread the banks over the cache sets.
    static constexpr std::array<base::BankClass, base::kSmallClasses> kSmallBanks{
        {{.banks = 512, .bytes = 1024 + 64},
         {.banks = 256, .bytes = 4096 + 64},
         {.banks = 256, .bytes = 17 << 10},
         {.banks = 16, .bytes = 65 << 10}}};
    /// Teams within a node use the small banks only up to this class, and its banks have at most
    /// kNearSmallBytes. Their banks then stay in the cache.
    static constexpr std::size_t kNearClass = 2;
    static constexpr std::uint64_t kNearSmallBytes = std::uint64_t{16} << 10;
    static constexpr std::uint64_t kAlignment = std::uint64_t{64} << 10;  ///< for regions, heap
    static constexpr std::uint32_t kBanksMin = 4;
    /// Limit for the cells of a region, in bytes. Reduces the banks, but not below kBanksMin.
    static constexpr std::uint64_t kCellsBytesMax = std::uint64_t{64} << 20;

    SegmentLayout(Rank job_size, const base::Settings& settings) {
        const auto ranks = static_cast<std::uint32_t>(job_size);
        shape.cells = base::cells_for(ranks);
        shape.banks = std::min(settings.banks, banks_that_fit(shape.cells));
        shape.bulk_banks = kBulkBanks;
        shape.bulk_bytes = base::round_up(settings.bank_bytes, sizeof(base::Cell));
        shape.copied_bytes = base::round_up(settings.bank_bytes / 2, sizeof(base::Cell));
        for (std::size_t number = 0; number < base::kSmallClasses; ++number)
            if (kSmallBanks[number].bytes < shape.bulk_bytes)
                shape.small[number] = kSmallBanks[number];
        region_bytes = base::round_up(shape.bytes(), kAlignment);
        onesided = {.offset = base::round_up(Mailboxes::kEnd, base::kCellStride),
                    .ranks = job_size};
        left_words = base::round_up(onesided.offset + onesided.bytes(), sizeof(std::uint64_t));
        revoked_words = left_words + kTeams * std::uint64_t{ranks} * sizeof(std::uint64_t);
        choices =
            base::round_up(revoked_words + kTeams * sizeof(std::uint64_t), sizeof(base::Cell));
        messages = {.offset = choices + kChoicesBytes, .ranks = job_size};
        const bool agrees = settings.on_failure == base::FailureAction::proceed;
        agreements = {
            .offset = base::round_up(messages.offset + messages.bytes(), sizeof(base::Cell)),
            .ranks = agrees ? job_size : 0};
        regions = base::round_up(agreements.offset + agreements.bytes(kTeams), kAlignment);
        bounce = regions + kTeams * region_bytes;
        heap = bounce + bounce_bytes_for(ranks);
        onesided.words = {left_words, kTeams * (std::uint64_t{ranks} + 1), heap};
        bytes = heap + base::round_up(settings.heap_bytes, kAlignment);
    }

    /// Removes from `shape` the banks that a team within a node does not use (kNearClass).
    static void keep_near_banks(base::RegionShape& shape) {
        for (std::size_t number = 0; number < base::kSmallClasses; ++number)
            if (number > kNearClass) shape.small[number] = {};
        shape.small[kNearClass].bytes = std::min(shape.small[kNearClass].bytes, kNearSmallBytes);
    }

    [[nodiscard]] std::uint64_t region(std::uint32_t team) const {
        return regions + team * region_bytes;
    }

    [[nodiscard]] std::uint64_t left_word(std::uint32_t team, Rank member) const {
        const std::uint64_t number = team * static_cast<std::uint64_t>(onesided.ranks);
        return left_words + (number + static_cast<std::uint64_t>(member)) * sizeof(std::uint64_t);
    }
    [[nodiscard]] std::uint64_t revoked_word(std::uint32_t team) const {
        return revoked_words + team * sizeof(std::uint64_t);
    }

    /// Returns the parts of a region that all calls may use: first cells and bulk banks.
    [[nodiscard]] std::array<base::Extent, 2> usual_memory(std::uint32_t team) const {
        const std::uint64_t at = region(team);
        return {{{at, first_cells_bytes()}, {at + shape.bulk(0), region_bytes - shape.bulk(0)}}};
    }
    [[nodiscard]] base::Extent other_cells(std::uint32_t team) const {
        const std::uint64_t first = first_cells_bytes();
        return {region(team) + first, shape.cell(0, shape.cells) - first};
    }

    /// Returns the number of bytes that a network registers at start-up.
    [[nodiscard]] std::uint64_t registered_bytes() const {
        const std::uint64_t first = first_cells_bytes();
        return region(0) + first + region_bytes - shape.bulk(0) + first;
    }
    [[nodiscard]] std::uint64_t heap_bytes() const { return bytes - heap; }
    /// Returns the offset of each section (see above), ascending. A section ends at the next one.
    [[nodiscard]] std::vector<std::uint64_t> sections() const {
        std::vector<std::uint64_t> starts{0};
        for (std::uint32_t team = 0; team < kTeams; ++team) {
            starts.push_back(region(team) + first_cells_bytes());
            starts.push_back(region(team) + shape.bulk(0));
        }
        const std::uint64_t section_bytes =
            base::round_up(std::max(heap_bytes() / kHeapSections + 1, kHeapSectionMin), kAlignment);
        for (std::uint64_t at = heap; at < bytes; at += section_bytes) starts.push_back(at);
        return starts;
    }

    OneSidedArea onesided;
    MessageArea messages;
    AgreementArea agreements;
    std::uint64_t left_words = 0;     ///< offset of the words of members that have left
    std::uint64_t revoked_words = 0;  ///< offset of the words of revoked teams
    std::uint64_t choices = 0;        ///< offset of the choices (run/team/node_choices.hpp)
    base::RegionShape shape;
    std::uint64_t region_bytes = 0;
    std::uint64_t regions = 0;  ///< offset of the table of regions
    std::uint64_t bounce = 0;   ///< offset of the space for copies, which ends at the heap
    std::uint64_t heap = 0;     ///< offset
    std::uint64_t bytes = 0;    ///< size of the whole segment

  private:
    [[nodiscard]] std::uint64_t first_cells_bytes() const {
        return shape.cell(0, shape.first_cells());
    }
    /// Returns each rank's share of 32 MiB, within 256 KiB and 4 MiB.
    static constexpr std::uint64_t bounce_bytes_for(std::uint64_t ranks) {
        constexpr std::uint64_t kAllRanks = std::uint64_t{32} << 20;
        return std::clamp(kAllRanks / ranks, std::uint64_t{256} << 10, std::uint64_t{4} << 20) /
               kAlignment * kAlignment;
    }
    /// Returns the largest power of two of banks whose cells fit into kCellsBytesMax.
    static constexpr std::uint32_t banks_that_fit(std::uint32_t cells) {
        const std::uint64_t bank_bytes = cells * (base::kCellStride + sizeof(base::Cell));
        return std::bit_floor(static_cast<std::uint32_t>(
            std::max<std::uint64_t>(kCellsBytesMax / bank_bytes, kBanksMin)));
    }
};

}  // namespace weft::run
