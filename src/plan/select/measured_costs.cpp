// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/measured_costs.hpp"

#include <algorithm>
#include <utility>

#include "base/units.hpp"

namespace weft::plan {

namespace {

constexpr std::pair<std::string_view, std::int64_t PutCost::*> kPutCosts[] = {
    {"latency_ns", &PutCost::latency},
    {"issue_ns", &PutCost::issue},
    {"receive_ns", &PutCost::receive},
    {"ns_per_byte", &PutCost::byte_fs},
    {"receive_ns_per_byte", &PutCost::receive_byte_fs},
    {"slot_ns", &PutCost::slot},
    {"turn_ns", &PutCost::turn}};
constexpr std::pair<std::string_view, std::int64_t Machine::*> kMachineCosts[] = {
    {"reduce_ns", &Machine::reduce},
    {"reduce_ns_per_byte", &Machine::reduce_byte_fs},
    {"call_ns", &Machine::call},
    {"unpack_ns_per_byte", &Machine::slot_byte_fs},
    {"copy_ns_per_byte", &Machine::copy_byte_fs},
    {"cold_ns_per_byte", &Machine::cold_byte_fs},
    {"expose_ns", &Machine::expose},
    {"mapped_ns", &Machine::mapped},
    {"mapped_ns_per_byte", &Machine::mapped_byte_fs},
    {"mapped_reduce_ns_per_byte", &Machine::mapped_reduce_byte_fs},
    {"kernel_ns", &Machine::kernel_copy},
    {"kernel_ns_per_byte", &Machine::kernel_copy_byte_fs}};
constexpr std::string_view kOtherKeys[] = {"cell_bytes",        "cache_bytes",       "processors",
                                           "adopt_ns",          "adopt_ns_per_page", "window_ns",
                                           "window_ns_per_page"};
/// Prefixes of the keys that describe near and far messages.
constexpr std::string_view kPathKeys[] = {"near_",   "far_",   "card_",  "mapped_",
                                          "kernel_", "adopt_", "window_"};

/// Returns the cost of the machine that a key names, or null.
std::int64_t* cost_of(Machine& machine, std::string_view key) {
    for (const auto& [prefix, put] :
         {std::pair{std::string_view("near_"), &machine.near}, {"far_", &machine.far}})
        for (const auto& [name, cost] : kPutCosts)
            if (key.starts_with(prefix) && key.substr(prefix.size()) == name) return &(put->*cost);
    for (const auto& [name, cost] : kMachineCosts)
        if (key == name) return &(machine.*cost);
    if (key == "card_message_ns") return &machine.card.message;
    return key == "card_ns_per_byte" ? &machine.card.byte_fs : nullptr;
}

/// Parses a value in the unit that the key ends with.
base::Result<std::int64_t> parse(std::string_view key, std::string_view value) {
    constexpr std::uint64_t kProcessorsMax = 1'000'000;
    if (key.ends_with("_per_byte") || key == "ns_per_byte")
        return base::parse_nanoseconds_per_byte(value);
    if (key.ends_with("_bytes")) return std::int64_t(WEFT_TRY(base::parse_bytes(value)));
    if (key == "processors")
        return std::int64_t(WEFT_TRY(base::parse_count(value, {.min = 1, .max = kProcessorsMax})));
    return base::parse_nanoseconds(value);
}

}  // namespace

base::Result<bool> MeasuredCosts::set(std::string_view key, std::string_view value) {
    Machine machine;
    if (cost_of(machine, key) == nullptr && std::ranges::find(kOtherKeys, key) == end(kOtherKeys))
        return false;
    values_[std::string(key)] = WEFT_TRY(parse(key, value));
    return true;
}

std::optional<std::int64_t> MeasuredCosts::find(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
}

bool MeasuredCosts::mentions(std::string_view prefix) const {
    const auto next = values_.lower_bound(prefix);
    return next != values_.end() && next->first.starts_with(prefix);
}

bool MeasuredCosts::any() const {
    return std::ranges::any_of(kPathKeys, [this](auto prefix) { return mentions(prefix); });
}

Machine MeasuredCosts::over(Machine machine) const {
    // Missing costs of a path that the file mentions are zero.
    if (mentions("near_")) {
        machine.near = {};
        machine.expose = machine.cold_byte_fs = machine.mapped_reduce_byte_fs = 0;
    }
    if (mentions("far_")) {
        machine.far = {};
        machine.unpack_byte_fs = 0;
    }
    if (mentions("card_")) machine.card = {};
    for (const auto& [key, value] : values_)
        if (std::int64_t* const cost = cost_of(machine, key); cost != nullptr) *cost = value;
    machine.unpack_byte_fs = find("copy_ns_per_byte").value_or(machine.unpack_byte_fs);
    machine.cell_bytes = static_cast<std::uint64_t>(
        find("cell_bytes").value_or(static_cast<std::int64_t>(machine.cell_bytes)));
    machine.cache_bytes = static_cast<std::uint64_t>(
        find("cache_bytes").value_or(static_cast<std::int64_t>(machine.cache_bytes)));
    return machine;
}

}  // namespace weft::plan
