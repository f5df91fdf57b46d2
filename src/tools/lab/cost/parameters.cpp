// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/cost/parameters.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "base/units.hpp"

namespace weft::lab {

namespace {

base::Result<double> parse_amount(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e15)
        return base::fail(Status::argument, "'{}' must be a number from 0 to 1e15", text);
    return value;
}

template <class T, class Value>
base::Result<void> store(const base::Result<Value>& parsed, T& field) {
    field = WEFT_TRY(parsed);
    return base::Done{};
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

base::Result<void> set_parameter(CostParameters& parameters, std::string_view key,
                                 std::string_view value) {
    ModelParameters& wire = parameters.wire;
    // Both `measured` and `wire` have the keys of reductions, so a key may set a cost in both.
    const bool is_machine_key = WEFT_TRY(parameters.measured.set(key, value));
    for (const auto& [name, field] : {std::pair{"latency_ns", &wire.latency},
                                      {"issue_ns", &wire.issue},
                                      {"overhead_ns", &wire.overhead},
                                      {"gap_ns", &wire.gap},
                                      {"pipeline_ns", &wire.pipeline},
                                      {"saturation_ns", &wire.saturation},
                                      {"two_way_ns", &wire.two_way},
                                      {"turn_ns", &wire.turn},
                                      {"reduce_ns", &wire.reduce}})
        if (key == name) return store(base::parse_nanoseconds(value), *field);
    for (const auto& [name, field] : {std::pair{"ns_per_byte", &wire.byte_fs},
                                      {"two_way_ns_per_byte", &wire.two_way_byte_fs},
                                      {"reduce_ns_per_byte", &wire.reduce_byte_fs}})
        if (key == name) return store(base::parse_nanoseconds_per_byte(value), *field);
    for (const auto& [name, field] : {std::pair{"message_pj", &parameters.message_pj},
                                      {"byte_pj", &parameters.byte_pj},
                                      {"static_w", &parameters.static_w}})
        if (key == name) return store(parse_amount(value), *field);
    if (key == "model") return store(parse_wire_model(value), wire.model);
    if (key == "parallel_ends")
        return store(base::parse_count(value, {.min = 0, .max = 1}), wire.parallel_ends);
    if (key == "free_messages")
        return store(base::parse_count(value, {.min = 1, .max = 1'000'000}), wire.free_messages);
    if (key == "descriptor_bytes")
        return store(base::parse_bytes(value), parameters.descriptor_bytes);
    if (!is_machine_key) return base::fail(Status::argument, "unknown key (docs/selection.md)");
    return base::Done{};
}

base::Result<CostParameters> parse_parameters(std::string_view name, std::string_view text) {
    CostParameters parameters{.name = std::string(name)};
    std::set<std::string, std::less<>> seen;
    std::istringstream lines{std::string(text)};
    std::string whole_line;
    for (std::size_t number = 1; std::getline(lines, whole_line); ++number) {
        const std::string_view line =
            trimmed(std::string_view(whole_line).substr(0, whole_line.find('#')));
        if (line.empty()) continue;
        const std::size_t blank = std::min(line.find_first_of(" \t"), line.size());
        const std::string_view key = line.substr(0, blank);
        const auto where = fmt::format("{} line {}: {}", name, number, key);
        if (!seen.emplace(key).second)
            return base::fail(Status::argument, "{}: is given twice", where);
        const base::Result<void> done = set_parameter(parameters, key, trimmed(line.substr(blank)));
        if (!done) return done.failure().within(where);
    }
    if (parameters.measured.any())
        parameters.machine = parameters.measured.over(plan::default_machine());
    return parameters;
}

std::span<const CostParameters> named_parameters() {
    static const std::array named{
        // Hoefler and Moor, section 4.1. The paper prints 8.1 nJ per byte and uses it in figure 5;
        // its own input, 8.1 pJ per packet of 2048 bytes, would give 4 fJ per byte.
        parse_parameters("infiniband-2007",
                         "model loggp\nlatency_ns 6000\noverhead_ns 4700\nns_per_byte 0.73\n"
                         "message_pj 16.5\nbyte_pj 8100\nstatic_w 0.5\n")
            .value(),
        // Ruefenacht et al., table 1, non-blocking puts: latency is alpha_p, issue is alpha_r.
        parse_parameters("archer-xc30-min", "latency_ns 1340\nissue_ns 340\n").value(),
        parse_parameters("archer-xc30-median", "latency_ns 1510\nissue_ns 380\n").value()};
    return named;
}

double parseable_nanoseconds_per_byte(double value) {
    constexpr double kLeast = 1e-4;  // smaller values are printed with an exponent
    const double kept = std::round(value * 1e6) / 1e6;
    return kept < kLeast ? 0 : kept;
}

}  // namespace weft::lab
