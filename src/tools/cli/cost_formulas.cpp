// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/cost_formulas.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/lab/cost/formulas.hpp"

namespace weft::tools {

namespace {

/// An algorithm, and its formula in tools/lab/cost/formulas.hpp.
struct Pattern {
    std::string_view collective;
    std::string_view name;
    std::string_view formula;
    std::string_view argument = "";  ///< the only parameter of the spec that the formula has
};
constexpr Pattern kPatterns[] = {
    {"broadcast", "kary", "kary-tree", "k"},
    {"broadcast", "split-binary", "split-binary-tree"},
    {"broadcast", "chain", "pipeline", "segments"},
    {"broadcast", "pipelined-binary", "pipelined-binary-tree", "segments"},
    {"broadcast", "double-tree", "double-tree", "segments"},
    {"reduce", "flat", "flat-tree"},
    {"reduce", "binomial", "binomial-tree"},
    {"reduce", "kary", "kary-tree", "k"},
    {"reduce", "chain", "pipeline", "segments"},
    {"reduce", "pipelined-binary", "pipelined-binary-tree", "segments"},
    {"reduce", "double-tree", "double-tree", "segments"},
    {"scatter", "flat", "flat-tree"},
    {"scatter", "binomial", "binomial-tree-personalised"},
    {"scatter", "kary", "kary-tree-personalised", "k"},
    {"scatter", "pipelined-binary", "pipelined-binary-tree-personalised", "segments"},
    {"gather", "flat", "flat-tree"},
    {"gather", "binomial", "binomial-tree-personalised"},
    {"gather", "kary", "kary-tree-personalised", "k"},
    {"gather", "pipelined-binary", "pipelined-binary-tree-personalised", "segments"},
    {"allgather", "direct", "direct"},
    {"allgather", "bruck", "butterfly-personalised"},
    {"allgather", "recursive-doubling", "butterfly-personalised"},
    {"alltoall", "direct", "direct"},
};

/// Formulas of papers (tools/lab/cost/formulas.hpp) by shape of the algorithm: stages or a tree.
class Formulas {
  public:
    Formulas(const ProgramQuestion& question, const lab::CostParameters& parameters)
        : question_(question),
          parameters_(parameters),
          model_(lab::message_model(parameters.wire)),
          size_(question.request.size),
          bytes_(question.request.elements * question.request.element_bytes) {}

    [[nodiscard]] std::optional<Figures> find() const {
        const collectives::AlgorithmSpec& spec = question_.spec;
        if (size_ < 2) return std::nullopt;
        if (question_.collective == "allreduce" && spec.name == "reduce-broadcast")
            return two_tree_costs(spec);
        if (!spec.parameters.empty()) return pattern_costs();
        if (question_.collective == "allreduce") {
            if (spec.is_schedule()) return schedule_costs(spec.schedule);
            if (spec.name == "recursive-doubling" || spec.name == "butterfly")
                return schedule_costs(doubling());
        }
        if (question_.collective == "broadcast" && spec.name == "binomial")
            return tree_costs(std::log2(size_), std::ceil(std::log2(size_)), 1);
        if (question_.collective == "broadcast" && spec.name == "flat")
            return tree_costs(1, size_ - 1, size_ - 1);
        return pattern_costs();
    }

  private:
    /// Returns the time for which a message occupies its sender.
    [[nodiscard]] double send_us() const {
        return us(model_.busy(bytes_) + (model_.blocking ? model_.latency : 0));
    }
    /// Returns the time from the end of a send to the end of the reception.
    [[nodiscard]] double delivery_us() const {
        return (model_.blocking ? 0 : us(model_.latency)) + us(model_.receive);
    }
    static double us(plan::Time time) { return static_cast<double>(time) * 1e-6; }

    [[nodiscard]] Figures figures(double time_us, double messages, double descriptors) const {
        Figures figures{.time_us = time_us, .messages = messages};
        figures.dynamic_energy_uj =
            messages *
            (parameters_.message_pj + parameters_.byte_pj * static_cast<double>(bytes_)) * 1e-6;
        figures.total_energy_uj = figures.dynamic_energy_uj + parameters_.static_w * time_us;
        figures.descriptor_bytes = descriptors * static_cast<double>(parameters_.descriptor_bytes);
        return figures;
    }

    /// Returns the costs by the formula of Hoefler and Moor for the pattern, under LogGP. A time
    /// that is exact for complete trees replaces the printed one.
    [[nodiscard]] std::optional<Figures> pattern_costs() const {
        const collectives::AlgorithmSpec& spec = question_.spec;
        const auto pattern = std::ranges::find_if(kPatterns, [&](const Pattern& each) {
            return each.collective == question_.collective && each.name == spec.name;
        });
        const lab::ModelParameters& wire = parameters_.wire;
        if (pattern == std::end(kPatterns) || wire.model != lab::WireModel::loggp ||
            parameters_.machine)
            return std::nullopt;
        const bool blocks = collectives::find_collective(question_.collective)->blocks();
        std::vector<lab::FormulaValue> values{
            {"p", static_cast<double>(size_)},
            {"bytes", static_cast<double>(bytes_) / (blocks ? size_ : 1)},
            {"latency", us(wire.latency)},
            {"overhead", us(wire.overhead)},
            {"byte_time", static_cast<double>(wire.byte_fs) * 1e-9},
            {"e_pj", parameters_.message_pj},
            {"byte_pj", parameters_.byte_pj},
            {"static_w", parameters_.static_w},
            {"descriptor_bytes", static_cast<double>(parameters_.descriptor_bytes)}};
        for (const collectives::SpecParameter& given : spec.parameters)
            if (given.key != pattern->argument) return std::nullopt;
        if (pattern->argument == "k") {
            const auto k = collectives::radix_parameter(spec, 2, 2);
            if (!k) return std::nullopt;
            values.push_back({"k", static_cast<double>(*k)});
        } else if (pattern->argument == "segments") {
            collectives::GenerateRequest request = question_.request;
            request.spec = &spec;
            const auto pieces = collectives::pipeline_segments(collectives::in_pieces(request));
            if (!pieces) return std::nullopt;
            values.push_back({"segments", static_cast<double>(*pieces)});
        }
        const auto results = lab::evaluate_formula(pattern->formula, values);
        if (!results) return std::nullopt;
        std::map<std::string_view, double> value(results->begin(), results->end());
        return Figures{value.contains("time_complete") ? value["time_complete"] : value["time"],
                       value["dynamic"], value["total"], value["memory"], value["messages"]};
    }

    /// Returns the costs of a tree in which a rank sends `fan` messages in each level.
    [[nodiscard]] Figures tree_costs(double levels, double descriptors, double fan) const {
        return figures(levels * (fan * send_us() + delivery_us()), size_ - 1, descriptors);
    }

    /// Returns the costs of a reduction up a tree and a broadcast down: twice those of one tree,
    /// plus combining.
    [[nodiscard]] std::optional<Figures> two_tree_costs(
        const collectives::AlgorithmSpec& spec) const {
        const collectives::SpecParameter* tree = spec.find("tree");
        if (spec.parameters.size() > (tree == nullptr ? 0U : 1U)) return std::nullopt;
        double fan = 1;
        double levels = std::log2(size_);
        double descriptors = std::ceil(levels);
        const std::string name =
            tree == nullptr || tree->nested.empty() ? "binomial" : tree->nested.front().name;
        if (name != "binomial" && name != "kary") return std::nullopt;
        if (name == "kary") {
            const auto k = collectives::number_parameter(
                tree->nested.front(), "k", {.fallback = 2, .least = 2, .most = size_});
            if (!k) return std::nullopt;
            fan = descriptors = static_cast<double>(*k);
            levels = 0;
            for (double reach = 1; reach < size_; reach *= fan) ++levels;
        }
        const double down = levels * (fan * send_us() + delivery_us());
        const double combined = levels * fan * us(model_.combine(bytes_, 2));
        Figures both = figures(2 * down + combined, 2.0 * (size_ - 1), 2 * descriptors);
        // The paper's tables drop an overhead for each level of regular trees.
        if (fan > 1) both.time_table_us = both.time_us - 2 * levels * us(model_.receive);
        return both;
    }

    /// Returns the sum over the stages: a latency, and the messages of the rank that sends most.
    [[nodiscard]] std::optional<Figures> schedule_costs(
        const collectives::Schedule& schedule) const {
        const auto shape = collectives::validate(schedule, size_);
        if (!shape) return std::nullopt;
        double time = 0;
        double messages = 0;
        double descriptors = 0;
        for (const collectives::PlacedStage& placed : shape->stages) {
            const collectives::Stage& stage = placed.stage;
            const double base = stage.base;
            const double remainders = stage.remainders;
            double sent = base - 1;
            double combined = base - 1;
            switch (stage.kind) {
                case collectives::StageKind::factor:
                    messages += placed.active * (base - 1);
                    break;
                case collectives::StageKind::gather:
                    sent = 1;
                    messages += stage.grouped / base * (base - 1);
                    break;
                case collectives::StageKind::scatter:
                    combined = 0;
                    messages += stage.grouped / base * (base - 1);
                    break;
                case collectives::StageKind::merge:
                    sent = base;
                    combined += std::ceil(remainders / stage.groups);
                    messages += stage.groups * base * (base - 1) + remainders * base;
                    break;
                case collectives::StageKind::release:
                    sent += std::ceil(remainders / stage.groups);
                    messages += stage.groups * base * (base - 1) + remainders * base;
                    break;
            }
            time += sent * send_us() + delivery_us() + combined * us(model_.combine(bytes_, 2));
            descriptors += sent;
        }
        return figures(time, messages, descriptors);
    }

    /// Returns recursive doubling as in MPICH.
    [[nodiscard]] collectives::Schedule doubling() const {
        Rank power = 1;
        while (power <= size_ / 2) power *= 2;
        const Rank paired = 2 * (size_ - power);
        collectives::Schedule schedule;
        if (paired > 0)
            schedule.push_back(
                {.kind = collectives::StageKind::gather, .base = 2, .grouped = paired});
        for (Rank reach = 1; reach < power; reach *= 2) schedule.push_back({.base = 2});
        if (paired > 0)
            schedule.push_back(
                {.kind = collectives::StageKind::scatter, .base = 2, .grouped = paired});
        return schedule;
    }

    const ProgramQuestion& question_;
    const lab::CostParameters& parameters_;
    plan::MessageModel model_;
    Rank size_;
    std::uint64_t bytes_;
};

}  // namespace

std::optional<Figures> formula_of(const ProgramQuestion& question,
                                  const lab::CostParameters& parameters) {
    return Formulas(question, parameters).find();
}

}  // namespace weft::tools
