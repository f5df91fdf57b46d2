// SPDX-License-Identifier: BSD-3-Clause
// run_command.cpp - the arguments of `weft run`; tools/launch runs the job.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "tools/cli/command.hpp"
#include "tools/launch/launch.hpp"
#include "tools/launch/layout.hpp"

namespace weft::tools {
namespace {

/// A larger number is probably a typing error: all ranks run on this machine.
constexpr Rank kRanksMax = 4096;

struct RunArguments {
    JobOptions job;  ///< options that need no check or conversion
    std::optional<Rank> ranks;
    std::optional<Rank> nodes;
    std::string layout;
    std::vector<std::string> variables;
    std::string bind = "none";
    std::optional<Rank> gdb;
    std::optional<Rank> valgrind;
};

/// Returns a setting NAME=VALUE. The value of a variable given as NAME is that in this process.
std::string read_setting(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (text.empty() || equals == 0) refuse("-x {}: expected NAME or NAME=VALUE", text);
    if (equals != std::string::npos) return text;
    const char* const value = std::getenv(text.c_str());
    if (value == nullptr) refuse("-x {}: the variable is not set here; write {}=VALUE", text, text);
    return fmt::format("{}={}", text, value);
}

/// Sets the ranks of the job and their virtual nodes.
void set_ranks(const RunArguments& arguments, JobOptions& job) {
    if (arguments.nodes && !arguments.layout.empty())
        refuse("--nodes and --layout exclude each other");
    if (!arguments.layout.empty()) {
        job.ranks_per_node = need(parse_layout(arguments.layout));
        const std::int64_t sum =
            std::accumulate(job.ranks_per_node.begin(), job.ranks_per_node.end(), std::int64_t{0});
        if (arguments.ranks && sum != *arguments.ranks)
            refuse("--layout {} has {} ranks, but -n says {}", arguments.layout, sum,
                   *arguments.ranks);
        if (sum > kRanksMax)
            refuse("--layout {}: {} ranks, at most {} can be started", arguments.layout, sum,
                   kRanksMax);
        job.ranks = static_cast<Rank>(sum);
        return;
    }
    if (!arguments.ranks) refuse("-n N (the number of ranks) or --layout is required");
    if (*arguments.ranks < 1 || *arguments.ranks > kRanksMax)
        refuse("-n {}: expected 1 to {} ranks", *arguments.ranks, kRanksMax);
    job.ranks = *arguments.ranks;
    if (arguments.nodes) job.ranks_per_node = need(spread_over_nodes(job.ranks, *arguments.nodes));
}

/// Returns the tool under which one rank runs; nothing without --gdb and --valgrind.
std::optional<Wrapper> wrapper_of(const RunArguments& arguments, Rank ranks) {
    std::optional<Wrapper> wrapper;
    if (!arguments.gdb && !arguments.valgrind) return wrapper;
    if (arguments.gdb && arguments.valgrind) refuse("--gdb and --valgrind exclude each other");
    const char* const option = arguments.gdb ? "--gdb" : "--valgrind";
    wrapper.emplace();
    wrapper->rank = arguments.gdb ? *arguments.gdb : *arguments.valgrind;
    if (wrapper->rank < 0 || wrapper->rank >= ranks)
        refuse("{} {}: expected a rank, 0 to {}", option, wrapper->rank, ranks - 1);
    wrapper->takes_terminal = arguments.gdb && ::isatty(STDIN_FILENO) == 1;
    if (arguments.valgrind)
        wrapper->command = {"valgrind", "--error-exitcode=9", "--trace-children=yes"};
    else if (wrapper->takes_terminal)
        wrapper->command = {"gdb", "-q", "--args"};
    else
        wrapper->command = {"gdb", "-q", "--batch", "-return-child-result", "-ex", "run",
                            "-ex", "bt", "--args"};
    return wrapper;
}

/// Returns a hint for an option of mpirun or srun: the equivalent of weft run. Else returns "".
std::string hint_for_option(std::string_view word) {
    struct Hint {
        const char* options;  ///< with a blank before and after each
        const char* text;
    };
    constexpr std::array kHints{
        Hint{" --bind-to --cpu-bind ", "--bind core binds ranks"},
        Hint{" --oversubscribe --overcommit ", "ranks may outnumber processors without it"},
        Hint{" --allow-run-as-root ", "root needs no option"},
        Hint{" -N --map-by --npernode --ppn ",
             "--nodes 2 or --layout 3,1 makes virtual nodes of this machine"},
        Hint{" --host --hostfile --machinefile ",
             "ranks start on this machine; mpirun and srun start them on others"},
        Hint{" --mca --genv --env --export ", "-x NAME=VALUE sets a variable of the ranks"}};
    word = word.substr(0, word.find('='));
    for (const auto& [options, text] : kHints) {
        if (std::string_view(options).find(fmt::format(" {} ", word)) != std::string_view::npos)
            return fmt::format(": {}", text);
    }
    return {};
}

JobOptions read_job(const RunArguments& arguments) {
    JobOptions job = arguments.job;
    set_ranks(arguments, job);
    // A time of more than 1e9 s could overflow the clock.
    if (job.timeout_s && !(*job.timeout_s > 0 && *job.timeout_s < 1e9))
        refuse("--timeout {}: expected seconds greater than 0", *job.timeout_s);
    if (job.keep_going)
        job.environment.push_back(fmt::format("{}=continue", base::kOnFailureVariable));
    for (const std::string& text : arguments.variables)
        job.environment.push_back(read_setting(text));
    job.bind_to_cores = arguments.bind == "core";
    job.wrapper = wrapper_of(arguments, job.ranks);
    if (job.command.empty() || job.command.front().empty())
        refuse("the program to run is missing: weft run -n 4 PROGRAM ARGUMENTS...");
    return job;
}

int run(const CLI::App& command, const RunArguments& arguments) {
    try {
        if (const auto unknown = unknown_words(command); !unknown.empty())
            refuse("{}{}", unknown_option(command, unknown.front()),
                   hint_for_option(unknown.front()));
        return run_job(read_job(arguments));
    } catch (const Error& error) {
        base::write_line(fmt::format("weft run: {}", error.what()));  // never throws
        return exit_status_of(error.status());
    }
}

}  // namespace

void add_run_command(CLI::App& app, const std::vector<std::string>& program) {
    CLI::App& command = add_command(app, "run", "start N ranks of a program on this machine");
    const auto arguments = std::make_shared<RunArguments>();
    add_option(command, "-n,--ranks", arguments->ranks, "number of ranks");
    add_option(command, "--nodes", arguments->nodes,
               "present K virtual nodes; ranks in blocks, the first nodes get the extra ones");
    add_option(command, "--layout", arguments->layout, "ranks of each virtual node, such as 3,1,4");
    add_option(command, "--timeout", arguments->job.timeout_s,
               "end the job after this many seconds (status 124)");
    add_option(command, "-x", arguments->variables,
               "NAME or NAME=VALUE, added to the environment of the ranks")
        .one_value_each();
    add_flag(command, "--label", arguments->job.label, "prefix every line of output with [rank]");
    add_flag(command, "--keep-going", arguments->job.keep_going,
             "the death of a rank does not end the job; sets WEFT_ON_FAILURE=continue");
    add_option(command, "--bind", arguments->bind,
               "none, or core: rank i on core i modulo the usable cores")
        .one_of({"none", "core"});
    add_option(command, "--gdb", arguments->gdb,
               "run this rank under gdb; without a terminal, print where it crashes");
    add_option(command, "--valgrind", arguments->valgrind,
               "run this rank under valgrind; status 9 if that finds an error");
    keep_unknown_words(command);  // run() refuses them, with a hint for mpirun's options
    set_footer(
        command,
        "The first word that is neither an option nor the value of an option is the program; --\n"
        "may precede it. -np N means -n N. With --nodes or --layout, WEFT_NODE_ID of each rank is\n"
        "the index of its node. Rank 0 reads standard input unless it is a terminal.\n"
        "Exit status: that of the first rank that failed (128 + signal if killed), 124 after the\n"
        "timeout, 2 for unusable arguments, 3 if the job could not be started. With --keep-going:\n"
        "the number of ranks that died, at most 100.");
    on_run(command, [&command, arguments, &program] {
        arguments->job.command = program;
        return run(command, *arguments);
    });
}

}  // namespace weft::tools
