// SPDX-License-Identifier: BSD-3-Clause
// show_command.cpp - `weft show`: the programs of a collective as text, a graph, a picture or JSON.
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "plan/schedule/step.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/simulate/image.hpp"
#include "tools/simulate/simulate.hpp"
#include "tools/simulate/timeline.hpp"
#include "tools/text/text.hpp"

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

// Names and colours of steps, by plan::StepKind.
constexpr std::array kKinds{"put",    "signal", "expose", "publish", "wait",   "flush",
                            "reduce", "copy",   "loop",   "sleep",   "compute"};
constexpr std::array kFills{"#cfe0f2", "#cfe0f2", "#cfe0f2", "#cfe0f2", "#eeeeee", "#ffffff",
                            "#f6dcc0", "#f6dcc0", "#ffffff", "#eeeeee", "#f6dcc0"};

std::size_t index_of(plan::StepKind kind) {
    return static_cast<std::size_t>(kind);
}

/// Returns true if the step raises a signal at its peer.
bool raises(const plan::Step& step) {
    return step.kind == plan::StepKind::put || step.kind == plan::StepKind::signal ||
           step.kind == plan::StepKind::expose;
}

std::string node(const plan::Program& program, std::size_t step) {
    return fmt::format("r{}s{}", program.rank, step);
}

Json json_of(const plan::Program& program, const plan::Step& step, std::size_t lane) {
    Json one{{"lane", lane}, {"kind", kKinds.at(index_of(step.kind))}};
    if (step.peer != plan::kNoRank) one["peer"] = step.peer;
    if (raises(step) || step.kind == plan::StepKind::publish || step.kind == plan::StepKind::wait)
        one["signal"] = step.signal;
    one["text"] = plan::to_text(program, step);
    return one;
}

/// Key of a signal: receiver, signal number, false; of a published cell: owner, cell number, true.
using SignalKey = std::tuple<Rank, std::uint32_t, bool>;

/// Returns a graph for Graphviz: a column of steps for each rank, and an edge from each step that
/// raises a signal to the wait for it. The body of a loop appears once.
std::string dot_of(std::span<const plan::Program> programs) {
    std::string text =
        "digraph program {\n  rankdir=TB; node [shape=box, style=filled, "
        "fontname=\"sans-serif\", fontsize=10];\n";
    const auto out = std::back_inserter(text);
    std::map<SignalKey, std::vector<std::string>> raised;
    for (const plan::Program& program : programs) {
        fmt::format_to(out,
                       "  subgraph cluster_{0} {{\n    label=\"rank {0}\"; color=\"#bbbbbb\";\n",
                       program.rank);
        for (const plan::Lane& lane : program.distinct_lanes()) {
            for (std::size_t i = lane.first; i < lane.first + lane.count; ++i) {
                const plan::Step& step = program.steps[i];
                fmt::format_to(out, "    {} [label={}, fillcolor=\"{}\"];\n", node(program, i),
                               Json(plan::to_text(program, step)).dump(),
                               kFills.at(index_of(step.kind)));
                if (i > lane.first)
                    fmt::format_to(out, "    {} -> {} [color=\"#bbbbbb\"];\n", node(program, i - 1),
                                   node(program, i));
                if (raises(step))
                    raised[{step.peer, step.signal, false}].push_back(node(program, i));
                if (step.kind == plan::StepKind::publish)
                    raised[{program.rank, step.signal, true}].push_back(node(program, i));
            }
        }
        text += "  }\n";
    }
    for (const plan::Program& program : programs) {
        for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const plan::Step& step = program.steps[i];
            if (step.kind != plan::StepKind::wait) continue;
            const bool published = (step.flags & plan::kFromPublished) != 0;
            const Rank owner = published ? step.peer : program.rank;
            const auto from = raised.find({owner, step.signal, published});
            if (from == raised.end()) continue;
            for (const std::string& source : from->second)
                fmt::format_to(out, "  {} -> {} [color=\"#3572b0\", constraint=false];\n", source,
                               node(program, i));
        }
    }
    return text + "}\n";
}

/// Draws the messages of all ranks over time, with a latency of 1000 ns and 100 ns per message.
std::string svg_of(std::span<const plan::Program> programs) {
    lab::SimulationInputs inputs;
    inputs.model = {.busy_base = 100'000, .latency = 1'000'000, .reduce = 100'000};
    lab::ImagePart part(inputs.model, {.elements = 1, .element_bytes = 8});
    for (const plan::Program& program : programs) need(part.add(program));
    std::vector<lab::Span> spans;
    const auto outcome = need(lab::simulate_generic(
        {&part, 1}, inputs, [&](const lab::Span& span) { spans.push_back(span); }));
    const plan::Program& first = programs.front();
    return lab::timeline_svg(
        fmt::format("{} by {} of {} ranks, if each message takes 1000 ns and the next 100 ns more",
                    first.collective, first.algorithm, programs.size()),
        static_cast<Rank>(programs.size()), spans);
}

/// Returns the steps in the order of their lanes, with their text form.
Json json_of(std::span<const plan::Program> programs) {
    Json object{{"collective", programs.front().collective},
                {"algorithm", programs.front().algorithm},
                {"ranks", programs.front().size},
                {"programs", Json::array()}};
    for (const plan::Program& program : programs) {
        Json steps = Json::array();
        std::size_t number = 0;
        for (const plan::Lane& lane : program.distinct_lanes()) {
            for (std::size_t i = lane.first; i < lane.first + lane.count; ++i)
                steps.push_back(json_of(program, program.steps[i], number));
            ++number;
        }
        object["programs"].push_back({{"rank", program.rank}, {"steps", std::move(steps)}});
    }
    return object;
}

std::vector<plan::Program> programs_of(const ShowArguments& arguments) {
    const ProgramQuestion question = read_question(arguments.programs);
    if (arguments.svg && question.request.size > kPictureRanksMax)
        refuse("--svg: {} ranks are more than {}", question.request.size, kPictureRanksMax);
    if (!arguments.rank) return generate_all(question);
    if (*arguments.rank < 0 || *arguments.rank >= question.request.size)
        refuse("--rank: {} is not in 0..{}", *arguments.rank, question.request.size - 1);
    return {need(generate_one(question, *arguments.rank))};
}

int show(const ShowArguments& arguments) {
    if (int{arguments.dot} + int{arguments.svg} + int{arguments.json} > 1)
        refuse("--dot, --svg and --json exclude each other");
    if (arguments.svg && arguments.rank) refuse("--svg shows all ranks, without --rank");
    const std::vector<plan::Program> programs = programs_of(arguments);
    fmt::print("{}", arguments.svg    ? svg_of(programs)
                     : arguments.json ? json_text(json_of(programs)) + "\n"
                     : arguments.dot  ? dot_of(programs)
                     : arguments.rank ? plan::to_text(programs.front())
                                      : plan::to_text(programs));
    return 0;
}

}  // namespace

void add_show_command(CLI::App& app) {
    const auto [command, arguments] = add_command<ShowArguments>(
        app, "show", "print the programs that an algorithm generates", &show);
    add_program_arguments(*command, arguments->programs);
    add_option(*command, "--rank", arguments->rank, "show only this rank");
    add_flag(*command, "--dot", arguments->dot, "a graph of steps and messages, for Graphviz");
    add_flag(*command, "--svg", arguments->svg,
             "a picture of all ranks with their messages over time");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
