// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/measured_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "base/read_file.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/notation/spec.hpp"

namespace weft::run {

namespace {

using nlohmann::json;

/// Returns a member of a JSON object, or null. Returns a reference, because copies of deeply nested
/// values would overflow the stack.
const json& member(const json& object, const char* key) {
    static const json none;
    const auto found = object.find(key);
    return found != object.end() ? *found : none;
}

/// Parses a JSON object. Fails unless its key "schema" has the value `schema`.
base::Result<json> object_of(std::string_view text, std::string_view schema) {
    json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object() || member(object, "schema") != schema)
        return base::fail(Status::argument, "is not a JSON object of the schema {}", schema);
    return object;
}

/// Returns a value that is neither a list nor an object, as text.
std::string text_of(const json& value) {
    if (value.is_number_float())
        return fmt::format("{}", value.get<double>());  // the shortest form
    return value.is_string() ? value.get<std::string>() : value.dump();
}

template <class Number>
base::Result<void> read_number(const std::string& text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0))
        return base::fail(Status::argument, "'{}' is not a number, expected 0 or more", text);
    return {};
}

base::Result<void> set(plan::TunedChoice& choice, const std::string& key, const json& value) {
    if (value.is_structured()) return {};
    const std::string text = text_of(value);
    if (key == "collective") choice.of.collective = text;
    if (key == "layout") choice.of.layout = text;
    if (key == "provider") choice.of.provider = text;
    if (key == "same_bits") choice.of.same_bits = text == "true";
    if (key == "algorithm") choice.algorithm = text;
    if (key == "from_bytes") return read_number(text, choice.from_bytes);
    if (key == "to_bytes") return read_number(text, choice.to_bytes);
    if (key == "median_us") return read_number(text, choice.median_us);
    return {};  // keys of later versions are ignored
}

base::Result<void> check(const plan::TunedChoice& choice) {
    const auto* const traits = collectives::find_collective(choice.of.collective);
    if (traits == nullptr)
        return base::fail(Status::argument, "unknown collective '{}'", choice.of.collective);
    if (choice.of.layout.empty() || choice.of.provider.empty())
        return base::fail(Status::argument, "has no layout or provider, expected both");
    if (choice.from_bytes > choice.to_bytes)
        return base::fail(Status::argument, "from_bytes {} is more than to_bytes {}",
                          choice.from_bytes, choice.to_bytes);
    const auto spec = collectives::parse_spec(choice.algorithm);
    if (!spec) return spec.failure().within(fmt::format("algorithm \"{}\"", choice.algorithm));
    return {};
}

base::Result<void> set_cost(plan::MeasuredCosts& costs, std::string_view key,
                            std::string_view value) {
    const auto done = costs.set(key, value);  // ignores unknown keys
    if (!done) return done.failure().within(key);
    return {};
}

/// Returns an FNV-1a hash, to compare contents between ranks.
std::uint64_t digest_of(std::string_view text) {
    std::uint64_t digest = 0xcbf29ce484222325;
    for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return digest;
}

}  // namespace

base::Result<plan::Tuning> parse_tuning(std::string_view text, std::string name) {
    const auto object = WEFT_TRY(object_of(text, kTuningSchema));
    const json& list = member(object, "choices");
    if (list.is_object() && !list.empty())
        return base::fail(Status::argument, "choices: '{}' is not an index of the list",
                          list.begin().key());
    std::vector<plan::TunedChoice> choices;
    for (const json& entry : list) {
        const std::string entry_name = fmt::format("choice {}", choices.size());
        plan::TunedChoice& choice = choices.emplace_back();
        for (const auto& [key, value] : entry.items())
            if (auto done = set(choice, key, value); !done)
                return done.failure().within(fmt::format("{}: {}", entry_name, key));
        if (auto checked = check(choice); !checked) return checked.failure().within(entry_name);
    }
    return plan::Tuning(std::move(choices), std::move(name));
}

base::Result<plan::Tuning> read_tuning(const std::string& path) {
    const auto text = WEFT_TRY(base::read_file(path, kMeasuredBytesMax));
    auto tuning = parse_tuning(text, path);
    if (!tuning) return tuning.failure().within(path);
    return tuning;
}

base::Result<plan::MeasuredCosts> parse_costs(std::string_view text) {
    plan::MeasuredCosts costs;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '{') {
        const auto object = WEFT_TRY(object_of(text, kParametersSchema));
        for (const auto& [key, value] : member(object, "parameters").items()) {
            if (value.is_structured()) continue;
            WEFT_TRY(set_cost(costs, key, text_of(value)));
        }
        return costs;
    }
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string key;
        std::string value;
        if (!(words >> key)) continue;
        for (std::string word; words >> word;) value += value.empty() ? word : " " + word;
        WEFT_TRY(set_cost(costs, key, value));
    }
    return costs;
}

link::AdoptionPrices prices_by(const plan::MeasuredCosts& costs) {
    const auto nanoseconds = [](plan::Time time) {
        return static_cast<std::uint64_t>(time / plan::kPicosecondsPerNanosecond);
    };
    link::AdoptionPrices prices;
    const plan::AdoptionCosts& adoption = costs.adoption();
    for (const auto& [cost, price] : {std::pair{&adoption.adopt, &prices.adopt_ns},
                                      {&adoption.adopt_page, &prices.adopt_page_ns},
                                      {&adoption.window, &prices.window_ns},
                                      {&adoption.window_page, &prices.window_page_ns}})
        if (*cost) *price = nanoseconds(**cost);
    if (!costs.has_kernel_copies()) return prices;
    // Remapping saves the difference between a copy by the kernel and a direct copy.
    const plan::Machine machine = costs.over(plan::default_machine());
    prices.copy_ns = nanoseconds(std::max<plan::Time>(0, machine.kernel_copy - machine.mapped));
    prices.copied_byte_fs = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, machine.kernel_copy_byte_fs - machine.mapped_byte_fs));
    return prices;
}

base::Result<MeasuredFiles> read_measured_files(base::Settings& settings) {
    const auto read = [&](const char* variable, const std::string& path, auto parse,
                          auto& contents) -> base::Result<void> {
        if (path.empty()) return {};
        const auto text = base::read_file(path, kMeasuredBytesMax, base::Pipes::refused);
        if (!text) return text.failure().within(variable);
        settings.agreed_files += fmt::format("{}={} bytes with digest {:016x}\n", variable,
                                             text->size(), digest_of(*text));
        auto parsed = parse(*text);
        if (!parsed) return parsed.failure().within(fmt::format("{}={}", variable, path));
        contents = *std::move(parsed);
        return {};
    };
    MeasuredFiles files;
    WEFT_TRY(read("WEFT_PARAMETERS", settings.parameters, parse_costs, files.costs));
    const auto parse = [&](const std::string& text) { return parse_tuning(text, settings.tuning); };
    WEFT_TRY(read("WEFT_TUNING", settings.tuning, parse, files.tuning));
    return files;
}

}  // namespace weft::run
