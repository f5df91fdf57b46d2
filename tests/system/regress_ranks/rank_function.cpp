// SPDX-License-Identifier: BSD-3-Clause
// rank_function.cpp - the main program: runs the tests or, with --rank NAME, a rank function.
#include "tests/system/regress_ranks/rank_function.hpp"

#include <cstdio>
#include <exception>
#include <map>

namespace weft::test {

namespace {

/// Returns all registered functions by name.
std::map<std::string, const RankFunction*>& functions() {
    static std::map<std::string, const RankFunction*> all;
    return all;
}

/// Runs the function words[0] with the other words as arguments. Returns the exit status.
int run_named(const Words& words) {
    const auto found = functions().find(words.front());
    if (found == functions().end()) {
        std::fprintf(stderr, "unknown rank function %s\n", words.front().c_str());
        return 2;
    }
    try {
        return found->second->run({words.begin() + 1, words.end()});
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        return 1;
    }
}

}  // namespace

RankFunction::RankFunction(std::string name, int (*function)(const Words& arguments))
    : run(function) {
    functions().emplace(std::move(name), this);
}

}  // namespace weft::test

int main(int count, char** arguments) {
    const weft::test::Words words(arguments + 1, arguments + count);
    if (words.size() > 1 && words.front() == "--rank")
        return weft::test::run_named({words.begin() + 1, words.end()});
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
