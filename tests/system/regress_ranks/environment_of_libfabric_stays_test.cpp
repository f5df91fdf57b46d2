// SPDX-License-Identifier: BSD-3-Clause
// Bug: weft set variables of libfabric for its preferred providers and did not remove them, so an
// MPI library in the process and child processes read them, too. Method: compare the environment
// before and after start-up over a network. Without the fix, FI_OFI_RXM_BUFFER_SIZE remains.
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Returns the sorted environment, except PMIx's own variables.
Words environment() {
    Words all;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (!std::string_view(*entry).starts_with("PMIX_")) all.emplace_back(*entry);
    std::sort(all.begin(), all.end());
    return all;
}

/// Argument: `fresh`, or `kept` if the user has set FI_OFI_RXM_BUFFER_SIZE, which must not change.
int run_rank(const Words& words) {
    const Words before = environment();
    Runtime runtime;
    const Words after = environment();
    for (const std::string& entry : after)
        if (!std::binary_search(before.begin(), before.end(), entry))
            std::fprintf(stderr, "start-up has added: %s\n", entry.c_str());
    runtime.finalize();
    const bool kept =
        words[0] != "kept" || std::string(::getenv("FI_OFI_RXM_BUFFER_SIZE")) == "512";
    return before == after && kept ? 0 : 3;
}
const RankFunction kRankFunction("environment", run_rank);

TEST(EnvironmentOfLibfabric, TheEnvironmentIsRestoredAfterStartUp) {
    const Outcome fresh = run_function({"-n", "2", "--nodes", "2"}, "environment", {"fresh"});
    EXPECT_EQ(fresh.status, 0) << fresh.errors;
    const Outcome kept = run_function({"-n", "2", "--nodes", "2"}, "environment", {"kept"},
                                      {"FI_OFI_RXM_BUFFER_SIZE=512"});
    EXPECT_EQ(kept.status, 0) << kept.errors;
}

}  // namespace
}  // namespace weft::test
