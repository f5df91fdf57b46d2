// SPDX-License-Identifier: BSD-3-Clause
// inquiry.hpp - messages by which ranks detect that they made different calls.
//
// Idea     A rank that has waited for a second sends a description of its call, an *inquiry*, to a
//          mailbox of the peer that it waits for. The peer compares it with its own call of that
//          number. If they differ, the peer sends a *verdict*, an inquiry whose text names both
//          calls, to every rank that may wait for it. A rank that reads a verdict forwards it once.
// Holds    Two senders may share a mailbox. If they mix their writes, the checksum is wrong and the
//          reader ignores the entry. Senders repeat an inquiry every second.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// A rank's description of a call, or a verdict about it if call_hash is kVerdict.
struct Inquiry {
    static constexpr base::CallHash kVerdict = 0;             ///< no call has this hash
    static constexpr std::uint64_t kAny = ~std::uint64_t{0};  ///< number that is not compared
    Rank rank = 0;                                            ///< sender: rank of the job
    std::uint32_t team = 0;                                   ///< TeamSetup::id
    std::int64_t epoch = 0;
    base::Tick team_since = 0;  ///< first tick of the team; differs between teams with equal ids
    std::uint64_t digest = 0;   ///< covers the team's calls up to this one
    base::CallHash call_hash = 0;
    /// Hash of the previous call; 0: not known any more. In a verdict: the Status of the failure.
    base::CallHash hash_before = 0;
    /// Number of elements that the two ranks exchange, if only these ranks know it; else kAny.
    std::uint64_t sends = kAny;   ///< elements from the sender of the inquiry to its receiver
    std::uint64_t awaits = kAny;  ///< elements from the receiver of the inquiry to its sender
    std::uint32_t checksum = 0;
    /// Text of the call or verdict, then text of the previous call; both zero-terminated.
    char text[316] = {};
};
static_assert(sizeof(Inquiry) == 384);

/// Stores both texts, shortened to fit, and the checksum.
void set_text(Inquiry& inquiry, std::string_view text, std::string_view before = {});
[[nodiscard]] std::string_view text_of(const Inquiry& inquiry);
[[nodiscard]] std::string_view text_before(const Inquiry& inquiry);
/// Returns the checksum of all other fields; never 0.
[[nodiscard]] std::uint32_t checksum_of(const Inquiry& inquiry);

/// Mailboxes at the start of a segment. An entry is a cell with the flag, then the inquiry.
struct Mailboxes {
    static constexpr std::uint64_t kOffset = 4096;
    static constexpr std::uint32_t kEntries = 64;  ///< in larger jobs, ranks share entries
    static constexpr std::uint64_t kInquiry = base::kCellStride;  ///< offset in an entry
    static constexpr std::uint64_t kEntryBytes = kInquiry + sizeof(Inquiry);
    static constexpr std::uint64_t kEnd = kOffset + kEntries * kEntryBytes;

    /// Returns the offset of the mailbox in which `writer` puts its inquiries, in any segment.
    [[nodiscard]] static constexpr std::uint64_t entry(Rank writer) {
        return kOffset + (static_cast<std::uint32_t>(writer) % kEntries) * kEntryBytes;
    }
};

}  // namespace weft::run
