// SPDX-License-Identifier: BSD-3-Clause
// show_command.cpp - `weft show`: the programs of a collective in their text form, as a graph, a
// picture or JSON.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "plan/schedule/text.hpp"
#include "tools/cli/answer.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/cli/show_pictures.hpp"

namespace weft::tools {

namespace {

struct ShowArguments {
    ProgramArguments programs;
    std::optional<Rank> rank;
    bool dot = false;
    bool svg = false;
    bool json = false;
};

/// A picture of more ranks would not be readable.
constexpr Rank kPictureRanksMax = 1024;

/// Returns the requested programs.
base::Result<std::vector<plan::Program>> programs_of(const ShowArguments& arguments) {
    const auto question = read_question(arguments.programs);
    if (!question) return question.failure();
    if (arguments.svg && question->request.size > kPictureRanksMax)
        return base::fail(Status::argument, "--svg: {} ranks are more than {}",
                          question->request.size, kPictureRanksMax);
    if (arguments.rank) {
        const Rank size = question->request.size;
        if (*arguments.rank < 0 || *arguments.rank >= size)
            return base::fail(Status::argument, "--rank: {} is not in 0..{}", *arguments.rank,
                              size - 1);
        const auto program = generate_one(*question, *arguments.rank);
        if (!program) return program.failure();
        return std::vector{*program};
    }
    return generate_all(*question);
}

base::Result<void> check_forms(const ShowArguments& arguments) {
    if (int{arguments.dot} + int{arguments.svg} + int{arguments.json} > 1)
        return base::fail(Status::argument, "--dot, --svg and --json exclude each other");
    if (arguments.svg && arguments.rank)
        return base::fail(Status::argument, "--svg shows all ranks, without --rank");
    return {};
}

base::Result<int> show(const ShowArguments& arguments) {
    if (auto checked = check_forms(arguments); !checked) return checked.failure();
    const auto programs = programs_of(arguments);
    if (!programs) return programs.failure();
    if (arguments.svg) {
        const auto picture = svg_of(*programs);
        if (!picture) return picture.failure();
        fmt::print("{}", *picture);
    } else if (arguments.json) {
        print_json(json_of(*programs));
    } else if (arguments.dot) {
        fmt::print("{}", dot_of(*programs));
    } else {
        fmt::print("{}",
                   arguments.rank ? plan::to_text(programs->front()) : plan::to_text(*programs));
    }
    return 0;
}

}  // namespace

void add_show_command(CLI::App& app, int& exit_status) {
    const auto [command, arguments] = add_command<ShowArguments>(
        app, exit_status, "show", "print the programs that an algorithm generates", &show);
    add_program_arguments(*command, arguments->programs);
    add_option(*command, "--rank", arguments->rank, "show only this rank");
    add_flag(*command, "--dot", arguments->dot, "a graph of steps and messages, for Graphviz");
    add_flag(*command, "--svg", arguments->svg,
             "a picture of all ranks: who sends to whom in which order");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
