// SPDX-License-Identifier: BSD-3-Clause
// goal_command.cpp - `weft goal`: what a schedule in GOAL, ours or another's, takes under a model of messages.
//
// Next     lab/simulate/goal.hpp; `weft simulate --goal` writes such files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "front/cli/model_options.hpp"
#include "front/cli/program_options.hpp"
#include "front/cli/simulate_command.hpp"
#include "lab/simulate/goal.hpp"

namespace weft::front {

namespace {

struct GoalArguments {
    std::string file;
    ModelArguments model;
    bool json = false;
};

int simulate_file(const GoalArguments& arguments) {
    const auto model = read_model(arguments.model);
    if (!model) return report_failure(model.failure());
    std::ifstream file(arguments.file);
    if (!file)
        return report_failure(
            base::fail(Status::argument, "file: {} cannot be read", arguments.file));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto outcome = lab::simulate_goal(text, lab::message_model(*model));
    if (!outcome) return report_failure(outcome.failure().within(arguments.file));
    const nlohmann::ordered_json object{
        {"file", arguments.file},
        {"model", lab::name_of(model->model)},
        {"makespan_ns", plan::nanoseconds(outcome->makespan)},
        {"earliest_finish_ns", plan::nanoseconds(outcome->earliest_finish)},
        {"messages", outcome->messages},
        {"operations", outcome->events}};
    if (arguments.json) {
        fmt::print("{}\n", object.dump());
        return 0;
    }
    for (const auto& [name, value] : object.items())
        fmt::print("{:20} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
    return 0;
}

}  // namespace

void add_goal_command(CLI::App& app, int& exit_status) {
    const auto arguments = std::make_shared<GoalArguments>();
    CLI::App* command =
        app.add_subcommand("goal", "what a schedule in GOAL takes under a model of messages");
    command->add_option("file", arguments->file, "as `weft simulate --goal` writes it")->required();
    add_model_arguments(*command, arguments->model);
    command->add_flag("--json", arguments->json, "as one JSON object");
    command->callback([arguments, &exit_status] { exit_status = simulate_file(*arguments); });
}

}  // namespace weft::front
