// SPDX-License-Identifier: BSD-3-Clause
// main.cpp - the `weft` executable: one subcommand per question.
//
// Idea     Each command is in its own <name>_command.cpp. main() lists the commands, and converts
//          the parser's exceptions to exit statuses.
// Holds    Results go to stdout, everything else to stderr.
// Next     command.hpp for the exit statuses.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tools/cli/command.hpp"

namespace {

using weft::tools::kEnvironmentFailed;
using weft::tools::kUnusableArguments;

/// Examples in the help and the man page of each command. tests/system/cli/shown_test.py runs them
/// in this order, in a folder that contains only ./a.out, a program that uses weft.
constexpr std::pair<const char*, const char*> kExamples[] = {
    {"run", "weft run -n 4 ./a.out"},
    {"run", "weft run -n 4 --nodes 2 --label ./a.out"},
    {"run", "weft run --layout 3,1 --timeout 60 -x WEFT_ALLREDUCE=a2,a2 ./a.out"},
    {"shmem-cc", "weft shmem-cc --show program.c -o program"},
    {"bench", "weft run -n 4 weft bench allreduce --bytes 8,64K --seconds 0.05"},
    {"bench", "weft run -n 4 --nodes 2 weft bench put-latency --seconds 0.05 --json"},
    {"bench", "weft bench overlap -n 2 --nodes 2 --bytes 1M --iterations 5"},
    {"fit",
     "weft run -n 5 --layout 4,1 weft fit --repetitions 3 --passes 2 --pause 0 --output "
     "costs.json"},
    {"tune",
     "weft tune allreduce --ranks 2 --bytes 8 --seconds 0.05 --total-seconds 0.2 --output "
     "tuning.json"},
    {"info", "weft info"},
    {"info", "weft run -n 4 --nodes 2 weft info"},
    {"info", "weft info --environment"},
    {"doctor", "weft doctor"},
    {"list", "weft list allreduce"},
    {"show", "weft show allreduce --algorithm a2,a2 --ranks 4 --rank 0"},
    {"verify", "weft verify allreduce --algorithm ring --ranks 7"},
    {"verify", "weft verify broadcast --algorithm binomial --ranks 8 --layout 4,4 --json"},
    {"enumerate", "weft enumerate --ranks 12 --kind factored"},
    {"enumerate", "weft enumerate --ranks 12 --best"},
    {"simulate", "weft simulate allreduce --algorithm a8,a4 --ranks 32 --params infiniband-2007"},
    {"simulate",
     "weft simulate broadcast --algorithm chain --ranks 8 --bytes 64K --latency-ns 1000 "
     "--ns-per-byte 0.1 --timeline chain.svg"},
    {"goal", "weft simulate barrier --algorithm central --ranks 8 --latency-ns 1000 --goal c.goal"},
    {"goal", "weft goal c.goal --latency-ns 1000"},
    {"cost", "weft cost allreduce --ranks 24 --objective energy"},
    {"cost", "weft cost allreduce --ranks 24 --pareto"},
    {"formula", "weft formula"},
    {"mpi-check", "weft mpi-check --help"},
    {"mpi-run", "weft mpi-run --help"},
    {"explain", "weft explain allreduce --ranks 64 --nodes 8 --hosts 8 --bytes 1K"},
    {"explain", "weft explain allreduce --ranks 2 --bytes 1K --measure"},
    {"help", "weft help run"},
    {"help", "weft help --man bench"},
};

/// Prints help, version or an error, as the parser's exception says. Returns the exit status.
int report_parse_outcome(const CLI::App& app, const CLI::ParseError& outcome) {
    if (outcome.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
        return app.exit(outcome);
    const std::string reason = weft::tools::reason_of(app, outcome);
    const auto chosen = app.get_subcommands();
    if (chosen.empty()) {
        fmt::print(stderr,
                   "weft: {}\n  weft --help lists the commands; weft run -n 4 PROGRAM starts "
                   "a program\n",
                   reason);
        return kUnusableArguments;
    }
    const std::string command = chosen.front()->get_name();
    const std::string example = weft::lab::first_example(*chosen.front());
    fmt::print(stderr, "weft {}: {}\n  weft help {} has the options{}{}\n", command, reason,
               command, example.empty() ? "" : "; an example: ", example);
    return kUnusableArguments;
}

/// Replaces mpirun's -np by -n, and -host by --host, because the parser would read -host as -h.
void read_as_mpirun(std::vector<std::string>& words) {
    for (std::string& word : words) {
        if (word == "--np" || word.starts_with("--np=")) word.replace(0, 4, "--ranks");
        if (word.starts_with("-np")) word.replace(0, 3, "-n");
        if (word == "-host" || word == "-hostfile") word.insert(0, "-");
    }
}

/// Returns the words after the program's name. The names of OpenSHMEM's compilers and launcher,
/// which are links to this executable, stand for a command.
std::vector<std::string> words_of_command(int argc, char** argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const std::string path = argc > 0 ? argv[0] : "";
    const std::string name = path.substr(path.find_last_of('/') + 1);
    if (name == "oshrun") words.insert(words.begin(), "run");
    if (name == "oshcc") words.insert(words.begin(), "shmem-cc");
    if (name == "oshc++" || name == "oshcxx" || name == "oshCC")
        words.insert(words.begin(), {"shmem-cc", "--cxx"});
    return words;
}

/// Splits the words of `weft shmem-cc` into options of the command and words for the compiler,
/// among which the option to show the command line may be, in the spellings of other wrappers.
void split_for_compiler(const std::vector<std::string>& words, std::vector<std::string>& arguments,
                        std::vector<std::string>& given) {
    for (const std::string& word : words) {
        const bool shows =
            word == "--show" || word == "-show" || word == "--showme" || word == "-showme";
        const bool asks = (word == "-h" || word == "--help") && given.empty();
        if (shows)
            arguments.emplace_back("--show");
        else if (asks || word == "--cxx" || arguments.empty())
            arguments.push_back(word);
        else
            given.push_back(word);
    }
}

/// Splits the words of a command line into `arguments`, in reverse order, as the parser requires,
/// and the words of a program, which the parser would search for options. A program follows `--`.
/// In `weft run` and `weft mpi-run`, it also begins with the first word that is neither an option
/// nor an option's value.
void split_at_program(const CLI::App& app, const std::vector<std::string>& words,
                      std::vector<std::string>& arguments, std::vector<std::string>& program) {
    const std::string command = words.empty() ? "" : words.front();
    if (command == "shmem-cc") {
        split_for_compiler(words, arguments, program);
    } else {
        const auto mark = std::ranges::find(words, "--");
        arguments.assign(words.begin(), mark);
        if (command == "run" || command == "mpi-run") {
            read_as_mpirun(arguments);
            arguments.resize(
                weft::tools::first_word_of_program(*app.get_subcommand(command), arguments));
        }
        const auto rest = words.begin() + std::ssize(arguments);
        program.assign(rest == mark && mark != words.end() ? mark + 1 : rest, words.end());
    }
    std::ranges::reverse(arguments);
}

}  // namespace

int main(int argc, char** argv) {
    int exit_status = 0;
    CLI::App app("weft: one-sided collectives on libfabric", "weft");
    app.set_help_flag("-h,--help", "print this help and exit");
    app.set_version_flag("--version", weft::tools::version_line(), "print the version and exit");
    // A missing command is reported below. With (1, 1) the parser would not report an unknown word.
    app.require_subcommand(0, 1);
    std::vector<std::string> program;
    weft::tools::add_run_command(app, program);
    weft::tools::add_shmem_cc_command(app, program);
    weft::tools::add_mpi_run_command(app, program);
    for (auto* const add : {&weft::tools::add_bench_command, &weft::tools::add_fit_command,
                            &weft::tools::add_tune_command, &weft::tools::add_info_command,
                            &weft::tools::add_doctor_command, &weft::tools::add_list_command,
                            &weft::tools::add_show_command, &weft::tools::add_verify_command,
                            &weft::tools::add_enumerate_command, &weft::tools::add_simulate_command,
                            &weft::tools::add_goal_command, &weft::tools::add_cost_command,
                            &weft::tools::add_formula_command, &weft::tools::add_explain_command,
                            &weft::tools::add_mpi_check_command, &weft::tools::add_help_command})
        add(app);
    for (const auto& [command, line] : kExamples) weft::lab::add_example(app, command, line);
    std::vector<std::string> arguments;
    split_at_program(app, words_of_command(argc, argv), arguments, program);
    app.parse_complete_callback([&app, &program] {
        const auto got = [&](const char* name) { return app.got_subcommand(name); };
        if (!program.empty() && !got("run") && !got("shmem-cc") && !got("mpi-run"))
            throw CLI::ExtrasError(program);
    });
    try {
        app.parse(arguments);
        if (app.get_subcommands().empty())
            throw CLI::RequiredError(
                fmt::format("a command ({}) is missing",
                            fmt::join(weft::lab::names_of_commands(app), ", ")),
                CLI::ExitCodes::RequiredError);
    } catch (const CLI::RuntimeError& ended) {  // a command has run
        exit_status = ended.get_exit_code();
    } catch (const CLI::ParseError& outcome) {
        exit_status = report_parse_outcome(app, outcome);
    } catch (const std::exception& error) {
        fmt::print(stderr, "weft: {}\n", error.what());
        return kEnvironmentFailed;
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        fmt::print(stderr, "weft: cannot write to stdout: {}\n", std::strerror(errno));
        return kEnvironmentFailed;
    }
    return exit_status;
}
