// SPDX-License-Identifier: BSD-3-Clause
// play.cpp - the main program: runs the tests or, with --rank NAME, a part of a rank.
#include "tests/system/regress_ranks/play.hpp"

#include <cstdio>
#include <exception>
#include <map>

namespace weft::test {

namespace {

std::map<std::string, const Part*>& parts() {
    static std::map<std::string, const Part*> all;
    return all;
}

int play_part(const Words& words) {
    const auto found = parts().find(words.front());
    if (found == parts().end()) return 2;
    try {
        return found->second->play({words.begin() + 1, words.end()});
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        return 1;
    }
}

}  // namespace

Part::Part(std::string name, int (*played)(const Words& arguments)) : play(played) {
    parts().emplace(std::move(name), this);
}

}  // namespace weft::test

int main(int count, char** arguments) {
    const weft::test::Words words(arguments + 1, arguments + count);
    if (words.size() > 1 && words.front() == "--rank")
        return weft::test::play_part({words.begin() + 1, words.end()});
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
