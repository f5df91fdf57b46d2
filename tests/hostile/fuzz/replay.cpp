// SPDX-License-Identifier: BSD-3-Clause
// replay.cpp - passes each file of a corpus to its target: each file of CORPUS/NAME to the target
// NAME. Exit status 1: a target has no file.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/hostile/fuzz/targets.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: weft_fuzz_replay CORPUS\n");
        return 2;
    }
    int without_files = 0;
    for (const weft::fuzz::Target& target : weft::fuzz::kTargets) {
        const std::filesystem::path folder = std::filesystem::path(argv[1]) / target.name;
        int files = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string input{std::istreambuf_iterator<char>(in), {}};
            target.read(input);
            ++files;
        }
        fmt::print("{}: {} files\n", target.name, files);
        if (files == 0) ++without_files;
    }
    return without_files == 0 ? 0 : 1;
}
