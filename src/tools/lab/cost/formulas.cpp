// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/cost/formulas.hpp"

#include <algorithm>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <queue>

#include "tools/lab/cost/formulas_by_paper.hpp"

namespace weft::lab {

namespace {

using Values = std::span<const double>;

FormulaResults optimal_messages(Values v) {
    const double ratio = v[0];
    const auto cost = [ratio](double b) { return (ratio + b) / std::log(b + 1); };
    const double real = messages_optimal(ratio, std::numbers::e);
    double best = std::max(1.0, std::floor(real));
    if (cost(best + 1) < cost(best)) ++best;
    return {{"messages", real},
            {"messages_printed", messages_optimal(ratio, 1)},
            {"messages_whole", best},
            {"cost_per_log", cost(best)}};
}

/// Evaluates Karp et al.: each rank with the value continues to send it; the earliest receivers
/// form the tree.
FormulaResults optimal_tree(Values v) {
    const double overhead = v[2];
    const double gap = std::max(v[3], overhead);
    std::priority_queue<double, std::vector<double>, std::greater<>> arrivals;
    double last = 0;
    arrivals.push(2 * overhead + v[1]);
    for (int ranks = 1; ranks < static_cast<int>(v[0]); ++ranks) {
        last = arrivals.top();
        arrivals.pop();
        arrivals.push(last + gap);                  // the next message of the same sender
        arrivals.push(last + 2 * overhead + v[1]);  // the first message of the receiver
    }
    return {{"time", last}};
}

std::vector<Formula> make_table() {
    std::vector<Formula> table{{"messages-optimal",
                                "messages in a row that make recursive multiplying fastest",
                                "Ruefenacht et al., equation 5 (printed without 1/e)",
                                {{"ratio", 4}},
                                &optimal_messages},
                               {"logp-tree",
                                "the fastest tree from one rank to all",
                                "Karp et al., 1993, LogP",
                                {{"p", 8, 1, 1e7}, {"latency", 6}, {"overhead", 2}, {"gap", 4}},
                                &optimal_tree}};
    add_rabenseifner(table);
    add_kolmakov(table);
    add_hoefler(table);
    return table;
}

}  // namespace

double messages_optimal(double ratio, double scale) {
    using boost::math::policies::domain_error;
    using boost::math::policies::ignore_error;
    constexpr boost::math::policies::policy<domain_error<ignore_error>> kQuiet;  // returns NaN
    return std::exp(boost::math::lambert_w0((ratio - 1) / scale, kQuiet) + 1) - 1;
}

std::span<const Formula> formulas() {
    static const std::vector<Formula> table = make_table();
    return table;
}

base::Result<FormulaResults> evaluate_formula(std::string_view name,
                                              std::span<const FormulaValue> given) {
    const auto formula = std::ranges::find(formulas(), name, &Formula::name);
    if (formula == formulas().end()) {
        std::string known;
        for (const Formula& each : formulas())
            known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
        return base::fail(Status::argument, "unknown formula '{}'; known: {}", name, known);
    }
    std::vector<double> values;
    for (const FormulaArgument& argument : formula->arguments) values.push_back(argument.usual);
    for (const FormulaValue& value : given) {
        const auto at = std::ranges::find(formula->arguments, value.name, &FormulaArgument::name);
        if (at == formula->arguments.end()) {
            std::string known;
            for (const FormulaArgument& each : formula->arguments)
                known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
            return base::fail(Status::argument, "{} has no argument '{}'; it has {}", name,
                              value.name, known);
        }
        if (!(value.value >= at->least && value.value <= at->most))
            return base::fail(Status::argument, "{}: {} is not in {}..{}", value.name, value.value,
                              at->least, at->most);
        values[static_cast<std::size_t>(at - formula->arguments.begin())] = value.value;
    }
    return formula->evaluate(values);
}

}  // namespace weft::lab
