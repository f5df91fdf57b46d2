// SPDX-License-Identifier: BSD-3-Clause
// agreement_area.hpp - memory in every segment for the messages of agreements.
//
// Holds    Each team region has an entry for each member and step, so each entry has one writer.
//          Consecutive agreements use different entries. A member overwrites the entries of
//          agreement n in agreement n + 2. By then, all survivors have ended agreement n, because
//          each of them has voted in agreement n + 1.
#pragma once

#include <cstdint>

#include "base/region.hpp"
#include "run/agree/agreement.hpp"

namespace weft::run {

/// Fixed part of a message. The bits of the dead members follow it.
struct BallotHead {
    std::uint64_t word = 0;
    std::uint64_t bound = 0;
    std::int64_t proposer = -1;
};

struct AgreementArea {
    std::uint64_t offset = 0;  ///< offset in every segment; a multiple of kCellStride
    Rank ranks = 0;            ///< ranks of the job; 0: no area

    /// Returns the offset of the cell of a sender's message; the message follows the cell. The
    /// ticks of consecutive agreements differ by 1.
    [[nodiscard]] constexpr std::uint64_t cell(std::uint32_t team, Rank sender, AgreementStep step,
                                               base::Tick tick) const {
        const std::uint64_t senders = team * static_cast<std::uint64_t>(ranks);
        const std::uint64_t agreement =
            (senders + static_cast<std::uint64_t>(sender)) * kAgreements + tick % kAgreements;
        return offset +
               (agreement * kAgreementSteps + static_cast<std::uint64_t>(step)) * entry_bytes();
    }
    [[nodiscard]] constexpr std::uint64_t bytes(std::uint32_t teams) const {
        return teams * static_cast<std::uint64_t>(ranks) * kAgreements * kAgreementSteps *
               entry_bytes();
    }

  private:
    static constexpr std::uint64_t kAgreements = 2;  ///< consecutive agreements with own entries

    [[nodiscard]] constexpr std::uint64_t entry_bytes() const {
        constexpr std::uint64_t kUnit = sizeof(base::Cell);
        const std::uint64_t message =
            sizeof(BallotHead) +
            (static_cast<std::uint64_t>(ranks) + 63) / 64 * sizeof(std::uint64_t);
        return base::kCellStride + (message + kUnit - 1) / kUnit * kUnit;
    }
};

}  // namespace weft::run
