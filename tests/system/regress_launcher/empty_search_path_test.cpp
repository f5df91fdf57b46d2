// SPDX-License-Identifier: BSD-3-Clause
// Bug: the search path of libraries (RUNPATH) of built files ended in an empty entry, which means
// the current folder: a library that another user puts there would be executed. Method: run readelf
// on the files that are installed. In commit 296e588, which lacks the fix, the test fails.
#include <regex>
#include <sstream>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

TEST(EmptySearchPath, NoBuiltFileHasAnEmptyEntry) {
    std::istringstream files(BUILT_FILES);
    for (std::string file; std::getline(files, file, '|');) {
        const Outcome outcome = run_command({"readelf", "-d", "-W", file});
        ASSERT_EQ(outcome.status, 0) << file;
        const std::regex path("\\((?:RUNPATH|RPATH)\\).*\\[(.*)\\]");
        for (std::sregex_iterator at(outcome.output.begin(), outcome.output.end(), path), end;
             at != end; ++at) {
            // Neither an empty entry nor one relative to the current folder.
            const std::string entries = ":" + (*at)[1].str() + ":";
            EXPECT_EQ(entries.find("::"), std::string::npos) << file << ": " << entries;
            EXPECT_EQ(entries.find(":."), std::string::npos) << file << ": " << entries;
        }
    }
}

}  // namespace
}  // namespace weft::test
