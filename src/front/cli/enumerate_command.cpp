// SPDX-License-Identifier: BSD-3-Clause
// enumerate_command.cpp - `weft enumerate`: all schedules of recursive multiplying for so many ranks.
//
// Holds    Schedules are printed as they are found; --count counts without making them.
// Next     collectives/notation/enumerate.hpp for the three kinds.
#include "front/cli/enumerate_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "collectives/notation/enumerate.hpp"
#include "front/cli/exit_status.hpp"
#include "front/cli/program_options.hpp"

namespace weft::front {

namespace {

using collectives::ScheduleFamily;

struct EnumerateArguments {
    Rank ranks = 0;
    std::string kind;
    bool count = false;
    bool json = false;
};

ScheduleFamily family_of(const std::string& kind) {
    if (kind == "factored") return ScheduleFamily::factored;
    return kind == "split" ? ScheduleFamily::split : ScheduleFamily::merged;
}

/// Writes pieces of text to stdout, many at a time.
class Output {
  public:
    void add(std::string_view text) {
        buffer_ += text;
        if (buffer_.size() >= (1U << 16)) flush();
    }
    void flush() {
        std::fwrite(buffer_.data(), 1, buffer_.size(), stdout);
        std::fflush(stdout);
        buffer_.clear();
    }
    /// Whether somebody still reads.
    [[nodiscard]] static bool open() { return std::ferror(stdout) == 0; }

  private:
    std::string buffer_;
};

int enumerate(const EnumerateArguments& arguments) {
    if (arguments.ranks < 1)
        return report_failure(
            base::fail(Status::argument, "--ranks: {} is less than 1", arguments.ranks));
    const ScheduleFamily family = family_of(arguments.kind);
    Output output;
    if (arguments.count) {
        const std::uint64_t count = collectives::count_schedules(arguments.ranks, family);
        output.add(arguments.json ? fmt::format("{{\"ranks\":{},\"kind\":\"{}\",\"count\":{}}}\n",
                                                arguments.ranks, arguments.kind, count)
                                  : fmt::format("{}\n", count));
        output.flush();
        return 0;
    }
    // The schedule without stages, of one rank, has no text: it is counted, not named.
    if (arguments.json)
        output.add(fmt::format("{{\"ranks\":{},\"kind\":\"{}\",\"count\":{},\"schedules\":[",
                               arguments.ranks, arguments.kind,
                               collectives::count_schedules(arguments.ranks, family)));
    bool first = true;
    collectives::for_each_schedule(arguments.ranks, family,
                                   [&](const collectives::Schedule& schedule) {
                                       if (arguments.json) {
                                           output.add(first ? "\"" : ",\"");
                                           output.add(collectives::print(schedule));
                                           output.add("\"");
                                       } else {
                                           output.add(collectives::print(schedule));
                                           output.add("\n");
                                       }
                                       first = false;
                                       return Output::open();
                                   });
    if (arguments.json) output.add("]}\n");
    output.flush();
    return 0;
}

}  // namespace

void add_enumerate_command(CLI::App& app, int& exit_status) {
    const auto arguments = std::make_shared<EnumerateArguments>();
    CLI::App* command = app.add_subcommand(
        "enumerate", "all schedules of recursive multiplying for a number of ranks");
    command->add_option("--ranks", arguments->ranks, "number of ranks")->required();
    command->add_option("--kind", arguments->kind, "factored, split or merged")
        ->required()
        ->check(CLI::IsMember({"factored", "split", "merged"}));
    command->add_flag("--count", arguments->count, "only how many there are");
    command->add_flag("--json", arguments->json, "as one JSON object");
    command->callback([arguments, &exit_status] { exit_status = enumerate(*arguments); });
}

}  // namespace weft::front
