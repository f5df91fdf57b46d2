// SPDX-License-Identifier: BSD-3-Clause
// inquiry.hpp - how ranks detect that they disagree about a call.
//
// Idea     Flags carry a hash of the call, so a rank that disagrees never satisfies a wait. A rank
//          that has waited for long writes what it believes the call to be into a mailbox of the
//          peer it waits for. A rank that finds such an inquiry compares it with its own history;
//          if they differ it knows both sides, and sends them to every rank that may wait for it,
//          in the same form: a verdict. A rank that reads a verdict forwards it once.
// Why      The rank that detects a disagreement fails its call and leaves; ranks that agree with
//          it, and wait for it, would otherwise wait forever.
// Holds    Only the slow path of a wait touches this. Mailboxes lie at the start of every segment;
//          one entry may be overwritten by another writer: a torn entry fails its checksum, is
//          ignored, and is sent again a second later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// What one rank believes a call to be; or a verdict about it, if call_hash is kVerdict.
struct Inquiry {
    static constexpr base::CallHash kVerdict = 0;  ///< no call has this hash
    static constexpr std::uint64_t kAny = ~std::uint64_t{0};

    Rank rank = 0;  ///< the sender, in the job
    std::uint32_t team = 0;
    std::int64_t epoch = 0;
    base::Tick team_since = 0;  ///< first tick of the team: its region may have served others
    std::uint64_t digest = 0;   ///< of the team's calls up to this one
    base::CallHash call_hash = 0;
    /// Of the call before; 0: no longer known. Of a verdict: the Status of who sees it.
    base::CallHash hash_before = 0;
    /// Elements that the two have for each other in a call whose counts only they know; else kAny.
    std::uint64_t sends = kAny;   ///< by the sender to the receiver
    std::uint64_t awaits = kAny;  ///< by the sender from the receiver
    std::uint32_t checksum = 0;
    /// The call, or the verdict, as text, zero-terminated; then the call before, likewise.
    char text[316] = {};
};
static_assert(sizeof(Inquiry) == 384);

/// Stores both texts, cut to fit, and the checksum.
void set_text(Inquiry& inquiry, std::string_view text, std::string_view before = {});
[[nodiscard]] std::string_view text_of(const Inquiry& inquiry);
[[nodiscard]] std::string_view text_before(const Inquiry& inquiry);
[[nodiscard]] std::uint32_t checksum_of(const Inquiry& inquiry);

/// The mailboxes at the start of a segment: an entry is a cell with its landing area, then the
/// inquiry.
struct Mailboxes {
    static constexpr std::uint64_t kOffset = 4096;
    static constexpr std::uint32_t kEntries = 64;
    static constexpr std::uint64_t kInquiry = base::kCellStride;  ///< offset in an entry
    static constexpr std::uint64_t kEntryBytes = kInquiry + sizeof(Inquiry);
    static constexpr std::uint64_t kEnd = kOffset + kEntries * kEntryBytes;

    /// Where a rank's inquiries go, in the peer's segment.
    [[nodiscard]] static constexpr std::uint64_t entry(Rank writer) {
        return kOffset + (static_cast<std::uint32_t>(writer) % kEntries) * kEntryBytes;
    }
};

}  // namespace weft::run
