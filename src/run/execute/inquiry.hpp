// SPDX-License-Identifier: BSD-3-Clause
// inquiry.hpp - detection of disagreements between ranks about a call.
//
// Idea     A rank that has waited for long describes its call in a mailbox of the peer that it
//          waits for. The peer compares this inquiry with its own history. If they differ, it sends
//          both sides to every rank that may wait for it, in the same form: a *verdict*. A rank
//          that reads a verdict forwards it once.
// Holds    Two writers may share an entry. A torn entry fails its checksum, is ignored, and is sent
//          again a second later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// One rank's description of a call, or a verdict about it if call_hash is kVerdict.
struct Inquiry {
    static constexpr base::CallHash kVerdict = 0;  ///< no call has this hash
    static constexpr std::uint64_t kAny = ~std::uint64_t{0};

    Rank rank = 0;  ///< sender, in the job
    std::uint32_t team = 0;
    std::int64_t epoch = 0;
    base::Tick team_since = 0;  ///< first tick of the team; identifies it in the region
    std::uint64_t digest = 0;   ///< covers the team's calls up to this one
    base::CallHash call_hash = 0;
    /// Hash of the call before; 0 if it is too old. In a verdict, the Status for its reader.
    base::CallHash hash_before = 0;
    /// Elements exchanged by the two ranks, in calls whose counts only these two know; else kAny.
    std::uint64_t sends = kAny;   ///< from the sender to the receiver
    std::uint64_t awaits = kAny;  ///< from the receiver to the sender
    std::uint32_t checksum = 0;
    /// The call or the verdict, then the call before; both zero-terminated.
    char text[316] = {};
};
static_assert(sizeof(Inquiry) == 384);

/// Stores both texts, shortened to fit, and the checksum.
void set_text(Inquiry& inquiry, std::string_view text, std::string_view before = {});
[[nodiscard]] std::string_view text_of(const Inquiry& inquiry);
[[nodiscard]] std::string_view text_before(const Inquiry& inquiry);
[[nodiscard]] std::uint32_t checksum_of(const Inquiry& inquiry);

/// Mailboxes at the start of a segment. An entry is a cell with its payload area, then the inquiry.
struct Mailboxes {
    static constexpr std::uint64_t kOffset = 4096;
    static constexpr std::uint32_t kEntries = 64;
    static constexpr std::uint64_t kInquiry = base::kCellStride;  ///< offset in an entry
    static constexpr std::uint64_t kEntryBytes = kInquiry + sizeof(Inquiry);
    static constexpr std::uint64_t kEnd = kOffset + kEntries * kEntryBytes;

    /// Returns the offset of a rank's mailbox in the peer's segment.
    [[nodiscard]] static constexpr std::uint64_t entry(Rank writer) {
        return kOffset + (static_cast<std::uint32_t>(writer) % kEntries) * kEntryBytes;
    }
};

}  // namespace weft::run
