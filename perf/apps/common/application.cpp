// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/common/application.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>

namespace apps {

namespace {

constexpr int kRight = 0;
constexpr int kWrong = 1;
constexpr int kUnusable = 2;
constexpr int kEnvironmentFailed = 3;

int parse_and_work(CommandLine& line, int argc, char** argv, weft::Runtime& runtime,
                   const std::function<Check(weft::Runtime&)>& work) {
    const bool speaks = runtime.world().rank() == 0;
    try {
        if (const auto status = line.read(argc, argv, speaks)) return *status;
        return work(runtime) == Check::wrong ? kWrong : kRight;
    } catch (const Unusable& problem) {
        if (speaks) fmt::print(stderr, "{}: {}\n", line.name(), problem.what());
    }
    return kUnusable;
}

std::string to_text(const Report& value) {
    if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
    return weft::lab::json_text(value);
}

}  // namespace

int run(CommandLine& line, int argc, char** argv,
        const std::function<Check(weft::Runtime&)>& work) {
    try {
        weft::Runtime runtime;
        const int status = parse_and_work(line, argc, argv, runtime, work);
        runtime.finalize();  // rank 0 has printed before any rank leaves
        return status;
    } catch (const weft::Error& error) {
        // Other ranks may not have failed. An exit without finalize() makes the launcher end them.
        fmt::print(stderr, "{}: {}\n", line.name(), error.what());
        return error.status() == weft::Status::argument ? kUnusable : kEnvironmentFailed;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", line.name(), error.what());
        return kEnvironmentFailed;
    }
}

void all_or_none(weft::Team team, const std::string& problem) {
    const weft::Rank mine = problem.empty() ? team.size() : team.rank();
    const weft::Rank first = team.allreduce(mine, weft::Op::min);
    if (first == team.size()) return;
    std::uint64_t length = problem.size();
    team.broadcast(std::span(&length, 1), first);
    std::string text = problem;
    text.resize(length);
    team.broadcast(std::span(text), first);
    throw Unusable(text);
}

Check shared(weft::Team team, Check of_rank_0) {
    auto word = static_cast<std::int32_t>(of_rank_0);
    team.broadcast(std::span(&word, 1), 0);
    return static_cast<Check>(word);
}

Report start_report(const std::string& application, weft::Runtime& runtime) {
    return {{"application", application},
            {"ranks", runtime.world().size()},
            {"nodes", runtime.nodes()},
            {"provider", runtime.provider()}};
}

std::string name_of(Check check) {
    switch (check) {
        case Check::none:
            return "none";
        case Check::right:
            return "right";
        case Check::wrong:
            break;
    }
    return "wrong";
}

void print_report(weft::Team team, const Report& report, bool json) {
    if (team.rank() != 0) return;
    if (json) {
        weft::lab::print_json(report);
    } else {
        for (const auto& [name, value] : report.items())
            fmt::print("{:<24} {}\n", name, to_text(value));
    }
    std::fflush(stdout);
}

}  // namespace apps
