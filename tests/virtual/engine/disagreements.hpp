// SPDX-License-Identifier: BSD-3-Clause
// disagreements.hpp - helpers for tests of ranks that make different calls.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "tests/support/ranks_in_threads.hpp"

namespace weft::test {

// Time before a waiting rank sends its peer an inquiry about the call, and between inquiries. The
// next inquiry may overwrite a mailbox that the peer is reading. A checksum detects this, but the
// thread sanitizer reports a race, so with the sanitizer no wait lasts until a second inquiry.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kInquiryNs = 2'000'000'000;
#else
inline constexpr std::uint64_t kInquiryNs = 50'000'000;
#endif
inline constexpr std::uint64_t kDeadlineNs = 30'000'000'000;  ///< limit of each wait

/// Returns layouts (the node of each rank) of four ranks on one node, on four and on two.
inline std::vector<std::vector<int>> four_rank_layouts() {
    return {{0, 0, 0, 0}, {0, 1, 2, 3}, {0, 0, 1, 1}};
}

/// Returns options of a network that refuses some puts, with one thread for each rank.
inline VirtualOptions threaded_options(const std::vector<int>& nodes) {
    return {.segment_bytes = 1 << 20,
            .node_of_rank = nodes,
            .seed = 5,
            .profile = {.refuse_percent = 20, .refuse_half_percent = 20, .threads = true}};
}

/// Status of one rank's call, and the text of its failure.
struct Ending {
    Status status = Status::ok;
    std::string text;
};

/// Calls `run`, which makes a call on every rank, with each layout. Each rank's call must fail
/// within half the deadline, with a text that contains all `texts`.
template <class Run>
void expect_all_fail(Run run, const std::vector<std::string>& texts) {
    for (const std::vector<int>& nodes : four_rank_layouts()) {
        const std::uint64_t started = base::monotonic_ns();
        const std::vector<Ending> endings = run(nodes);
        EXPECT_LT(base::monotonic_ns() - started, kDeadlineNs / 2);
        for (std::size_t rank = 0; rank < endings.size(); ++rank) {
            SCOPED_TRACE(fmt::format("rank {} on {} nodes", rank, nodes.back() + 1));
            EXPECT_EQ(endings[rank].status, Status::argument) << endings[rank].text;
            for (const std::string& text : texts)
                EXPECT_NE(endings[rank].text.find(text), std::string::npos) << endings[rank].text;
        }
    }
}

}  // namespace weft::test
