// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/measured_files.hpp"

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

/// Simple JSON value as text, and its path, such as "choices", "3", "layout".
struct Leaf {
    std::vector<std::string> path;
    std::string text;
};

/// Parser callbacks that append each leaf of a JSON text to a list.
class Leaves : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit Leaves(std::vector<Leaf>& leaves) : leaves_(leaves) {}

    bool null() override { return add("null"); }
    bool boolean(bool value) override { return add(value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override { return add(fmt::format("{}", value)); }
    bool number_unsigned(number_unsigned_t value) override { return add(fmt::format("{}", value)); }
    bool number_float(number_float_t, const string_t& text) override { return add(text); }
    bool string(string_t& value) override { return add(value); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return enter(false); }
    bool key(string_t& name) override {
        path_.back() = name;
        return name.size() <= kKeyMax;  // each leaf below this key stores a copy of it
    }
    bool end_object() override { return leave(); }
    bool start_array(std::size_t) override { return enter(true); }
    bool end_array() override { return leave(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
        return false;
    }

  private:
    static constexpr std::size_t kDepthMax = 32;
    static constexpr std::size_t kKeyMax = 100;

    bool add(std::string text) {
        leaves_.push_back({path_, std::move(text)});
        count();
        return true;
    }
    bool enter(bool list) {
        path_.emplace_back(list ? "0" : "");
        lists_.push_back(list);
        return path_.size() <= kDepthMax;
    }
    bool leave() {
        path_.pop_back();
        lists_.pop_back();
        count();
        return true;
    }
    /// Increments the index in the path, if the innermost value is a list.
    void count() {
        if (!lists_.empty() && lists_.back())
            path_.back() = fmt::format("{}", std::stoull(path_.back()) + 1);
    }

    std::vector<Leaf>& leaves_;
    std::vector<std::string> path_;
    std::vector<bool> lists_;  ///< for each open value: true for a list, false for an object
};

/// Returns the leaves of a JSON object. Fails unless its key "schema" has the value `schema`.
base::Result<std::vector<Leaf>> leaves_of(std::string_view text, std::string_view schema) {
    std::vector<Leaf> leaves;
    Leaves reader(leaves);
    const bool whole = nlohmann::json::sax_parse(text, &reader);
    const bool fits = std::ranges::any_of(leaves, [&](const Leaf& leaf) {
        return leaf.path == std::vector<std::string>{"schema"} && leaf.text == schema;
    });
    if (!whole || !fits)
        return base::fail(Status::argument, "is not a JSON object of the schema {}", schema);
    return leaves;
}

template <class Number>
base::Result<void> read_number(const std::string& text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0))
        return base::fail(Status::argument, "'{}' is not a number of at least 0", text);
    return {};
}

base::Result<void> set(plan::TunedChoice& choice, const std::string& key, const std::string& text) {
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
        return base::fail(Status::argument, "has no layout or no provider");
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

/// Reads the file that a variable names. Adds a line with its size and digest to `agreed`.
base::Result<std::string> read_agreed(const char* variable, const std::string& path,
                                      std::string& agreed) {
    auto text = base::read_file(path, kMeasuredBytesMax, base::Pipes::refused);
    if (!text) return text.failure().within(variable);
    agreed +=
        fmt::format("{}={} bytes with digest {:016x}\n", variable, text->size(), digest_of(*text));
    return text;
}

}  // namespace

base::Result<plan::Tuning> parse_tuning(std::string_view text, std::string name) {
    const auto leaves = leaves_of(text, kTuningSchema);
    if (!leaves) return leaves.failure();
    std::vector<plan::TunedChoice> choices;
    for (const Leaf& leaf : *leaves) {
        if (leaf.path.size() != 3 || leaf.path[0] != "choices") continue;
        std::size_t number = 0;
        const auto counted = read_number(leaf.path[1], number);
        if (!counted || number >= leaves->size())
            return base::fail(Status::argument, "choices: '{}' is not an index of the list",
                              leaf.path[1]);
        if (number >= choices.size()) choices.resize(number + 1);
        if (auto done = set(choices[number], leaf.path[2], leaf.text); !done)
            return done.failure().within(fmt::format("choice {}: {}", number, leaf.path[2]));
    }
    for (std::size_t number = 0; number < choices.size(); ++number)
        if (auto checked = check(choices[number]); !checked)
            return checked.failure().within(fmt::format("choice {}", number));
    return plan::Tuning(std::move(choices), std::move(name));
}

base::Result<plan::Tuning> read_tuning(const std::string& path) {
    const auto text = base::read_file(path, kMeasuredBytesMax);
    if (!text) return text.failure();
    auto tuning = parse_tuning(*text, path);
    if (!tuning) return tuning.failure().within(path);
    return tuning;
}

base::Result<plan::MeasuredCosts> parse_costs(std::string_view text) {
    plan::MeasuredCosts costs;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '{') {
        const auto leaves = leaves_of(text, kParametersSchema);
        if (!leaves) return leaves.failure();
        for (const Leaf& leaf : *leaves) {
            if (leaf.path.size() != 2 || leaf.path[0] != "parameters") continue;
            if (auto done = set_cost(costs, leaf.path[1], leaf.text); !done) return done.failure();
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
        if (auto done = set_cost(costs, key, value); !done) return done.failure();
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
    const plan::Machine machine = costs.over(plan::usual_memory());
    prices.copy_ns = nanoseconds(std::max<plan::Time>(0, machine.kernel_copy - machine.mapped));
    prices.copied_byte_fs = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, machine.kernel_copy_byte_fs - machine.mapped_byte_fs));
    return prices;
}

base::Result<MeasuredFiles> read_measured_files(base::Settings& settings) {
    MeasuredFiles files;
    if (!settings.parameters.empty()) {
        const auto text =
            read_agreed("WEFT_PARAMETERS", settings.parameters, settings.agreed_files);
        if (!text) return text.failure();
        auto costs = parse_costs(*text);
        if (!costs) return costs.failure().within("WEFT_PARAMETERS=" + settings.parameters);
        files.costs = *std::move(costs);
    }
    if (!settings.tuning.empty()) {
        const auto text = read_agreed("WEFT_TUNING", settings.tuning, settings.agreed_files);
        if (!text) return text.failure();
        auto tuning = parse_tuning(*text, settings.tuning);
        if (!tuning) return tuning.failure().within("WEFT_TUNING=" + settings.tuning);
        files.tuning = *std::move(tuning);
    }
    return files;
}

}  // namespace weft::run
