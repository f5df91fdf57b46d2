// SPDX-License-Identifier: BSD-3-Clause
// show_command.cpp - `weft show`: the programs of a collective in their text form.
#include <fmt/format.h>

#include <optional>

#include "front/cli/answer.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/program_options.hpp"
#include "plan/schedule/text.hpp"

namespace weft::front {

namespace {

struct ShowArguments {
    ProgramArguments programs;
    std::optional<Rank> rank;
};

base::Result<std::string> text_of(const ShowArguments& arguments) {
    const auto question = read_question(arguments.programs);
    if (!question) return question.failure();
    if (arguments.rank) {
        const Rank size = question->request.size;
        if (*arguments.rank < 0 || *arguments.rank >= size)
            return base::fail(Status::argument, "--rank: {} is not in 0..{}", *arguments.rank,
                              size - 1);
        const auto program = generate_one(*question, *arguments.rank);
        if (!program) return program.failure();
        return plan::to_text(*program);
    }
    const auto programs = generate_all(*question);
    if (!programs) return programs.failure();
    return plan::to_text(*programs);
}

base::Result<int> show(const ShowArguments& arguments) {
    const auto text = text_of(arguments);
    if (!text) return text.failure();
    fmt::print("{}", *text);
    return 0;
}

}  // namespace

void add_show_command(CLI::App& app, int& exit_status) {
    const auto [command, arguments] = add_command<ShowArguments>(
        app, exit_status, "show", "print the programs that an algorithm generates", &show);
    add_program_arguments(*command, arguments->programs);
    add_option(*command, "--rank", arguments->rank, "show only this rank");
}

}  // namespace weft::front
