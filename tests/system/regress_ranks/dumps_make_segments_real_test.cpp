// SPDX-License-Identifier: BSD-3-Clause
// Bugs: a core dump of a rank read the segments of all local peers, and so allocated all their
// pages (900 MB with two ranks). Segments had large pages, so the first write to a cell allocated 2
// MiB. Method: read the kernel's flags of each mapping of a segment (VmFlags in /proc/self/smaps):
// it must have dd, "not in dumps", and not hg, "large pages". Without the fix, it has hg and no dd.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Checks the flags of the segments of all three ranks, which each rank maps.
int run_rank(const Words&) {
    Runtime runtime;
    std::ifstream maps("/proc/self/smaps");
    std::string line;
    bool in_segment = false;
    int segments = 0;
    int wrong = 0;
    while (std::getline(maps, line)) {
        if (line.find("weft-segment") != std::string::npos) {
            in_segment = true;
        } else if (in_segment && line.starts_with("VmFlags:")) {
            std::istringstream words(line);
            bool dumped = true;
            for (std::string word; words >> word;) {
                if (word == "dd") dumped = false;
                if (word == "hg") ++wrong;
            }
            wrong += dumped ? 1 : 0;
            ++segments;
            in_segment = false;
        }
    }
    if (segments != 3 || wrong != 0)
        fmt::print(stderr, "{} segments, expected 3; {} wrong flags\n", segments, wrong);
    runtime.finalize();
    return segments == 3 && wrong == 0 ? 0 : 3;
}
const RankFunction kRankFunction("dumps", run_rank);

TEST(CoreDumps, DumpsOmitSegments) {
    const Outcome outcome = run_function({"-n", "3"}, "dumps");
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
