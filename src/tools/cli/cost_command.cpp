// SPDX-License-Identifier: BSD-3-Clause
// cost_command.cpp - `weft cost`: time, energy and memory of a call, counted and by formula.
//
// Idea     Counts come from the programs. The output also has the result of a published formula, if
//          there is one for the algorithm. Without --algorithm (or with "all"), every algorithm
//          that fits the size is a candidate, including up to kSchedulesMax schedules of each
//          family. Limits exclude candidates, and the objective or --pareto selects among the rest.
// Holds    Status 1: no candidate satisfies the limits.
// Next     docs/selection.md; tools/lab/cost/cost.hpp.
#include <algorithm>
#include <array>

#include "base/units.hpp"
#include "tools/cli/cost_formulas.hpp"
#include "tools/cli/model_options.hpp"
#include "tools/cli/table.hpp"

namespace weft::tools {

namespace {

struct CostArguments {
    ProgramArguments programs;
    std::string params = "infiniband-2007";
    std::string objective = "time";
    std::optional<std::string> descriptor_bytes_max;
    std::optional<double> energy_uj_max;
    bool pareto = false;
    MachineArguments machine;
    bool json = false;
};

struct Candidate {
    std::string algorithm;
    lab::Cost cost;
    std::optional<Figures> formula;
};

/// Largest number of schedules that are tried in each family, for up to 127 ranks.
constexpr std::size_t kSchedulesMax = 10'000;

base::Result<Candidate> cost_of(const ProgramQuestion& question,
                                const lab::CostParameters& parameters) {
    const auto stages = stages_of(question);
    if (!stages && stages.failure().status != Status::unsupported) return in_spec(stages.failure());
    lab::Programs programs{.size = question.request.size};
    if (parameters.machine) programs.node_of = parameters.machine->node_of;
    if (stages) programs.stages = &*stages;
    programs.program_of = [&](Rank rank) -> base::Result<plan::Program> {
        if (stages) return plan::program_of(*stages, rank);
        return generate_one(question, rank);
    };
    const lab::Cost cost = WEFT_TRY(lab::cost_of(programs, question.buffer(), parameters));
    return Candidate{collectives::print(question.spec), cost, formula_of(question, parameters)};
}

Json to_json(const Figures& figures) {
    Json object{{"time_us", figures.time_us},
                {"dynamic_energy_uj", figures.dynamic_energy_uj},
                {"total_energy_uj", figures.total_energy_uj},
                {"descriptor_bytes", figures.descriptor_bytes},
                {"messages", figures.messages}};
    if (figures.time_table_us) object["time_table_us"] = *figures.time_table_us;
    return object;
}

Json to_json(const Candidate& candidate, const ProgramQuestion& question,
             const std::string& params) {
    const lab::Cost& cost = candidate.cost;
    Json object{{"algorithm", candidate.algorithm},
                {"ranks", question.request.size},
                {"bytes", question.bytes()},
                {"params", params},
                {"time_us", cost.time_us()},
                {"dynamic_energy_uj", cost.dynamic_uj},
                {"total_energy_uj", cost.total_uj},
                {"descriptor_bytes", cost.descriptor_bytes},
                {"messages", cost.messages},
                {"formula", nullptr},
                {"difference", nullptr}};
    if (!candidate.formula) return object;
    const Figures& formula = *candidate.formula;
    object["formula"] = to_json(formula);
    object["difference"] = to_json(
        Figures{cost.time_us() - formula.time_us, cost.dynamic_uj - formula.dynamic_energy_uj,
                cost.total_uj - formula.total_energy_uj,
                static_cast<double>(cost.descriptor_bytes) - formula.descriptor_bytes,
                static_cast<double>(cost.messages) - formula.messages});
    return object;
}

class CostQuestion {
  public:
    explicit CostQuestion(const CostArguments& arguments) : arguments_(arguments) {}

    int run() {
        read_all();
        auto candidates = find_candidates();
        std::erase_if(candidates, [this](const Candidate& c) { return !keeps_limits(c.cost); });
        if (candidates.empty()) {
            fmt::print(stderr, "weft: every algorithm tried exceeds a --max option\n");
            return kAnswerIsNo;
        }
        if (arguments_.pareto) {
            print_front(candidates);
            return 0;
        }
        const auto best = std::ranges::min_element(candidates, {}, [this](const Candidate& c) {
            return std::tuple(lab::value_of(c.cost, objective_), c.cost.time, c.cost.total_uj,
                              c.cost.descriptor_bytes);
        });
        print_answer(to_json(*best, question_, parameters_.name), arguments_.json);
        return 0;
    }

  private:
    void read_all() {
        parameters_ = read_parameters(arguments_.params);
        objective_ = need(lab::parse_objective(arguments_.objective), "--objective");
        if (arguments_.descriptor_bytes_max)
            descriptor_bytes_max_ =
                need(base::parse_bytes(*arguments_.descriptor_bytes_max), "--max-descriptor-bytes");
        question_ = read_call(arguments_.programs);
        const std::string& algorithm = arguments_.programs.algorithm;
        const bool all = algorithm.empty() || algorithm == "all";
        tries_all_ = all && !question_.is_pairwise();  // pairwise calls have one algorithm
        if (!tries_all_) set_algorithm(question_, all ? "" : algorithm);
        question_ = for_models(std::move(question_));
        complete_machine(parameters_, arguments_.machine, nodes_of(question_.request),
                         question_.request.size);
    }

    std::vector<Candidate> find_candidates() {
        if (!tries_all_) return {need(cost_of(question_, parameters_))};
        std::vector<Candidate> candidates;
        if (question_.neighbors != nullptr) {
            for (const char* const algorithm : kNeighborAlgorithms) {
                set_algorithm(question_, algorithm);
                candidates.push_back(need(cost_of(question_, parameters_)));
            }
            return candidates;
        }
        const Rank size = question_.request.size;
        auto specs = collectives::candidate_specs(question_.collective,
                                                  {.size = size,
                                                   .stage = stage_cost(),
                                                   .local_stage = stage_cost(),
                                                   .latency_ps = stage_cost().latency,
                                                   .put_ps = put_cost(),
                                                   .buffer_ps = stage_cost().message,
                                                   .layout = question_.request.layout});
        // Counting needs the programs of all ranks, so larger teams get fewer schedules.
        const std::size_t schedules_max = kSchedulesMax / static_cast<std::size_t>(1 + size / 128);
        using enum collectives::ScheduleFamily;
        for (const collectives::Schedule& schedule :
             schedules_for(question_.collective, size, {factored, split, merged}, schedules_max))
            specs.push_back({.schedule = schedule});
        for (const collectives::AlgorithmSpec& spec : specs) {
            question_.spec = spec;
            if (const auto candidate = cost_of(question_, parameters_); candidate)
                candidates.push_back(*candidate);
        }
        if (candidates.empty())
            refuse("no algorithm of {} fits {} ranks", question_.collective, size);
        return candidates;
    }

    /// Returns the time of an empty put, in picoseconds.
    [[nodiscard]] std::int64_t put_cost() const {
        const plan::MessageModel model = lab::message_model(parameters_.wire);
        return model.busy_base + model.latency + model.receive;
    }
    [[nodiscard]] collectives::StageCost stage_cost() const {
        const plan::MessageModel model = lab::message_model(parameters_.wire);
        return {.latency = model.latency + model.receive,
                .message = model.busy(question_.bytes()) + model.combine(question_.bytes(), 2)};
    }

    [[nodiscard]] bool keeps_limits(const lab::Cost& cost) const {
        if (descriptor_bytes_max_ && cost.descriptor_bytes > *descriptor_bytes_max_) return false;
        return !arguments_.energy_uj_max || cost.total_uj <= *arguments_.energy_uj_max;
    }

    void print_front(const std::vector<Candidate>& candidates) {
        std::vector<lab::Cost> costs;
        for (const Candidate& candidate : candidates) costs.push_back(candidate.cost);
        Json front = Json::array();
        for (const std::size_t i : lab::pareto_front(costs))
            front.push_back(to_json(candidates[i], question_, parameters_.name));
        if (arguments_.json) {
            print_json(Json{{"front", std::move(front)}});
            return;
        }
        const std::array<Column, 4> columns{{{"time_us", "time_us", 12, 3},
                                             {"energy_uj", "total_energy_uj", 14, 4},
                                             {"descriptor_bytes", "descriptor_bytes", 16},
                                             {"algorithm", "algorithm", -9}}};
        fmt::print("{}", table_head(columns));
        for (const Json& row : front) fmt::print("{}", table_row(columns, row));
    }

    const CostArguments& arguments_;
    lab::CostParameters parameters_;
    lab::Objective objective_ = lab::Objective::time;
    std::optional<std::uint64_t> descriptor_bytes_max_;
    ProgramQuestion question_;
    bool tries_all_ = false;  ///< tries all algorithms, not only that of --algorithm
};

}  // namespace

void add_cost_command(CLI::App& app) {
    const auto [command, arguments] = add_command<CostArguments>(
        app, "cost", "time, energy and memory of a call",
        [](const CostArguments& given) { return CostQuestion(given).run(); });
    add_program_arguments(*command, arguments->programs);
    add_option(*command, "--params", arguments->params,
               "costs: infiniband-2007, archer-xc30-min, archer-xc30-median, or a file");
    add_option(*command, "--objective", arguments->objective,
               "what to minimise over the algorithms: time, energy, memory or edp "
               "(energy times delay)");
    add_option(*command, "--max-descriptor-bytes", arguments->descriptor_bytes_max,
               "consider only algorithms that need at most this much at any rank");
    add_option(*command, "--max-energy-uj", arguments->energy_uj_max,
               "consider only algorithms that take at most this much in total");
    add_flag(*command, "--pareto", arguments->pareto,
             "print the Pareto front over time, energy and memory");
    add_machine_arguments(*command, arguments->machine);
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
