// SPDX-License-Identifier: BSD-3-Clause
// goal_command.cpp - `weft goal`: simulates a schedule in the GOAL format, which any tool may have
// written, under a message model.
//
// Next     tools/simulate/goal.hpp for the format; `weft simulate --goal` writes such files.
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "tools/cli/model_options.hpp"
#include "tools/simulate/goal.hpp"

namespace weft::tools {

namespace {

struct GoalArguments {
    std::string file;
    ModelArguments model;
    bool json = false;
};

int simulate_file(const GoalArguments& arguments) {
    const lab::ModelParameters model = read_model(arguments.model).wire;
    if (lab::message_model(model).has_two_way())
        fail(Status::unsupported, "--two-way-ns: GOAL files are simulated with one-way costs only");
    const auto text = need(base::read_file(arguments.file, kInputBytesMax), "file");
    const auto outcome = need(lab::simulate_goal(text, lab::message_model(model)), arguments.file);
    print_answer({{"file", arguments.file},
                  {"model", lab::name_of(model.model)},
                  {"makespan_ns", plan::nanoseconds(outcome.makespan)},
                  {"earliest_finish_ns", plan::nanoseconds(outcome.earliest_finish)},
                  {"messages", outcome.messages},
                  {"operations", outcome.events}},
                 arguments.json);
    return 0;
}

}  // namespace

void add_goal_command(CLI::App& app) {
    const auto [command, arguments] = add_command<GoalArguments>(
        app, "goal", "simulate a GOAL schedule under a model of message costs", &simulate_file);
    add_option(*command, "file", arguments->file,
               "a GOAL file, such as `weft simulate --goal` writes")
        .required();
    add_model_arguments(*command, arguments->model);
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
