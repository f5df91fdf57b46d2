// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/common/application.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>

#include "tools/lab/program/json.hpp"

namespace apps {

namespace {

constexpr int kRight = 0;
constexpr int kWrong = 1;
constexpr int kInvalidInput = 2;
constexpr int kEnvironmentFailed = 3;

const char* name_of(Check check) {
    return check == Check::none ? "none" : check == Check::right ? "right" : "wrong";
}

void print_report(const Report& report, bool json) {
    if (json) return weft::lab::print_json(report);
    for (const auto& [name, value] : report.items())
        fmt::print("{:<24} {}\n", name,
                   value.is_number_float() ? fmt::format("{:.6g}", value.get<double>())
                                           : weft::lab::json_text(value));
    std::fflush(stdout);
}

int parse_and_work(const Application& application, int argc, char** argv, weft::Runtime& runtime) {
    Job job{.runtime = runtime,
            .world = runtime.world(),
            .report = {{"application", application.name},
                       {"ranks", runtime.world().size()},
                       {"nodes", runtime.nodes()},
                       {"provider", runtime.provider()}}};
    bool json = false;
    const bool prints = job.world.rank() == 0;
    CommandLine line(application.name, application.summary);
    application.declare(line);
    line.flag("--check", job.check, application.check_help);
    line.flag("--json", json, "One JSON object on stdout");
    try {
        if (const auto status = line.read(argc, argv, prints)) return *status;
        const Check check = broadcast_check(job.world, application.work(job));
        job.report["check"] = name_of(check);
        if (prints) print_report(job.report, json);
        return check == Check::wrong || job.failed ? kWrong : kRight;
    } catch (const InvalidInput& problem) {
        if (prints) fmt::print(stderr, "{}: {}\n", application.name, problem.what());
    }
    return kInvalidInput;
}

}  // namespace

int run(const Application& application, int argc, char** argv) {
    try {
        weft::Runtime runtime;
        const int status = parse_and_work(application, argc, argv, runtime);
        runtime.finalize();  // rank 0 has printed before any rank leaves
        return status;
    } catch (const std::exception& error) {
        // Other ranks may not have failed. An exit without finalize() makes the launcher end them.
        fmt::print(stderr, "{}: {}\n", application.name, error.what());
        const auto* const weft_error = dynamic_cast<const weft::Error*>(&error);
        return weft_error != nullptr && weft_error->status() == weft::Status::argument
                   ? kInvalidInput
                   : kEnvironmentFailed;
    }
}

void raise_on_all(weft::Team team, const std::string& problem) {
    const weft::Rank failed_rank = problem.empty() ? team.size() : team.rank();
    const weft::Rank first = team.allreduce(failed_rank, weft::Op::min);
    if (first == team.size()) return;
    std::uint64_t length = problem.size();
    team.broadcast(std::span(&length, 1), first);
    std::string text = problem;
    text.resize(length);
    team.broadcast(std::span(text), first);
    throw InvalidInput(text);
}

Check broadcast_check(weft::Team team, Check of_rank_0) {
    auto word = static_cast<std::int32_t>(of_rank_0);
    team.broadcast(std::span(&word, 1), 0);
    return static_cast<Check>(word);
}

}  // namespace apps
