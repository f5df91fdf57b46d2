// SPDX-License-Identifier: BSD-3-Clause
// info_text.cpp - the text of `weft info`, written from its object.
#include <fmt/format.h>

#include <limits>

#include "base/units.hpp"
#include "tools/cli/info_report.hpp"

namespace weft::tools {

namespace {

std::string count(const Json& number, std::string_view noun) {
    return fmt::format("{} {}{}", json_text(number), noun, number == 1 ? "" : "s");
}

std::string bytes(const Json& number) {
    return base::format_bytes(number.get<std::uint64_t>());
}

/// Joins the values of an array.
std::string joined(const Json& values, std::string_view between) {
    std::string text;
    for (const Json& value : values)
        text += fmt::format("{}{}", text.empty() ? "" : between, json_text(value));
    return text;
}

/// Describes the access of local peers to each other's buffers.
std::string buffers_text(const Json& mapping) {
    if (mapping["direct"] != true) {
        const std::string problem = json_text(mapping["direct_problem"]);
        return fmt::format("  their large buffers: through put targets{}\n",
                           problem.empty() ? "" : " (" + problem + ")");
    }
    const std::string off = json_text(mapping["adoption_off"]);
    if (off.empty()) return "  their large buffers: read and written in place\n";
    return fmt::format(
        "  their large buffers: copied by the kernel; in place only in the heap ({})\n", off);
}

std::string job_text(const Json& info) {
    const Json& job = info["job"];
    std::string text = "job\n";
    if (job["launched"] == true) {
        text += fmt::format("  {} on {} ({})\n", count(job["ranks"], "rank"),
                            count(job["nodes"], "node"), joined(job["ranks_per_node"], ", "));
    } else {
        text += "  this process alone; start it with weft run to see a job\n";
    }
    text +=
        fmt::format("  waits {}: {} on this host, which may use {}\n",
                    job["waiting"] == "spin" ? "spin" : "yield the processor",
                    count(job["host_ranks"], "rank"), count(job["host_processors"], "processor"));
    text +=
        info["mapping"]["mode"] == "equal"
            ? "  memory of local peers: mapped at equal addresses, so pointers into it are shared\n"
            : "  memory of local peers: mapped at different addresses, so only offsets are "
              "shared\n";
    text += buffers_text(info["mapping"]);
    if (const std::string problems = json_text(info["mapping"]["problems"]); !problems.empty())
        text += fmt::format("    {}\n", problems);
    return text;
}

std::string machine_text(const Json& info) {
    const Json& machine = info["topology"];
    return fmt::format(
        "machine {}\n  {}\n  {}, {}, {}, {}; usable here: {}, {}\n  reductions with {} (this "
        "processor can run {})\n",
        json_text(machine["host"]), json_text(machine["processor"]),
        count(machine["packages"], "package"), count(machine["numa_nodes"], "NUMA node"),
        count(machine["cores"], "core"), count(machine["processors"], "processor"),
        count(machine["usable_cores"], "core"), count(machine["usable_processors"], "processor"),
        json_text(info["reduction"]["instruction_set"]),
        joined(info["reduction"]["runnable"], ", "));
}

std::string banks_text(const Json& info) {
    const Json& banks = info["banks"];
    std::string small;
    for (const Json& one : banks["small_bulk_banks"])
        small += fmt::format("{} of {}, ", json_text(one["banks"]), bytes(one["bytes"]));
    return fmt::format(
        "memory of each rank: a segment of {}, of which only touched pages cost anything\n"
        "  heap of {}; room for {} teams of {}\n"
        "  a network registers {} of it at the start, more with teams and as the heap is used\n"
        "  a team has {} banks of {} cells with {} bytes each, and for larger payloads banks: {}"
        "{} of {}\n",
        bytes(banks["segment_bytes"]), bytes(banks["heap_bytes"]), json_text(banks["teams_max"]),
        bytes(banks["team_bytes"]), bytes(banks["registered_bytes"]), json_text(banks["banks"]),
        json_text(banks["cells_per_bank"]), json_text(banks["cell_payload_bytes"]), small,
        json_text(banks["bulk_banks"]), bytes(banks["bulk_bank_bytes"]));
}

std::string notify_text(const Json& notify) {
    if (notify["problem"] != "") return fmt::format("  {}\n", json_text(notify["problem"]));
    std::string text = "  far ranks learn that data has landed\n";
    for (const Json& line : notify["sizes"]) {
        const std::string which =
            line["up_to_bytes"].is_null()
                ? fmt::format("above {} bytes", json_text(line["above_bytes"]))
                : fmt::format("up to {} bytes", json_text(line["up_to_bytes"]));
        text += fmt::format("    {}: by {}, because {}\n", which, json_text(line["way"]),
                            json_text(line["reason"]));
    }
    text += "  ways there are\n";
    for (const Json& way : notify["ways"])
        text += fmt::format(
            "    {:<10}{:<14}{}\n", json_text(way["way"]),
            way["promised"] == true ? "promised:" : "not promised:", json_text(way["reason"]));
    return text;
}

std::string granted_text(const Json& value) {
    if (value.is_boolean()) return value == true ? "yes" : "no";
    return value == std::numeric_limits<std::size_t>::max() ? "no limit" : json_text(value);
}

std::string completion_text(const Json& info) {
    if (!info.contains("completion")) return {};
    return fmt::format("  one-sided writes are known to have landed as {}, because {}\n",
                       json_text(info["completion"]["kind"]),
                       json_text(info["completion"]["reason"]));
}

std::string granted_lines(const Json& granted) {
    std::string text;
    for (const auto& [name, value] : granted.items())
        text += fmt::format("    {:<22} {}\n", name, granted_text(value));
    return text;
}

std::string network_text(const Json& info) {
    std::string text = "network\n";
    const std::string provider = json_text(info["provider"]);
    const bool used = info["job"]["provider"] != "none";
    if (provider == "none") {
        text += fmt::format("  no provider: {}\n", json_text(info["provider_reason"]));
    } else {
        text += fmt::format("  {} {}: {}\n",
                            used ? "this job uses" : "a job of several nodes would use", provider,
                            json_text(info["provider_reason"]));
    }
    if (!info.contains("providers")) return text;
    text += "  providers, in order of preference\n";
    for (const Json& finding : info["providers"])
        text += fmt::format("    {} {:<16} {}\n", finding["chosen"] == true ? '*' : ' ',
                            json_text(finding["provider"]), json_text(finding["reason"]));
    if (!info.contains("granted")) return text;
    text += "  granted\n";
    return text + granted_lines(info["granted"]) + notify_text(info["notify"]) +
           completion_text(info);
}

std::string in_force_text(const Json& info) {
    std::string text = "environment in force (weft info --environment explains it)\n";
    for (const Json& setting : info["environment"]) {
        const std::string value = json_text(setting["value"]);
        if (value.empty()) continue;
        text += fmt::format("  {}={}{}\n", json_text(setting["name"]), value,
                            setting["given"] == true ? "" : "  (default)");
    }
    return text;
}

std::string unknown_text(const Json& info) {
    if (info["unknown"].empty()) return {};
    return fmt::format("set, but read by nothing: {}\n", joined(info["unknown"], ", "));
}

}  // namespace

std::string provider_text(const Json& provider) {
    std::string text =
        fmt::format("{}: what a job would do over it; it need not be here ({})\n  granted\n{}",
                    json_text(provider["provider"]), json_text(provider["declared_by"]),
                    granted_lines(provider["granted"]));
    text += "  set before libfabric starts, unless it is set already: ";
    std::string settings;
    for (const Json& setting : provider["settings"])
        settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", json_text(setting["name"]),
                                json_text(setting["value"]));
    text += (settings.empty() ? "nothing" : settings) + "\n";
    text += notify_text(provider["notify"]) + completion_text(provider);
    text += provider["target_must_progress"] == true
                ? "  data lands only while its target is in a call of weft\n"
                : "  data lands without its target's help\n";
    text += fmt::format("  calls can{} be offloaded: {}\n",
                        provider["offload"]["promised"] == true ? "" : "not",
                        json_text(provider["offload"]["reason"]));
    if (provider["small_keys"] == true)
        text += "  keys of registered memory are small: that is its fast path\n";
    for (const Json& bug : provider["known_bugs"])
        text += fmt::format("  known bug, {}: {}\n", json_text(bug["versions"]),
                            json_text(bug["what"]));
    const Json& cost = provider["cost"];
    return text + fmt::format(
                      "  predictions take a put for {} ns, {} ns of the sender, {} ns of "
                      "the receiver and {} ps for each byte ({})\n",
                      json_text(cost["latency_ns"]), json_text(cost["issue_ns"]),
                      json_text(cost["receive_ns"]), json_text(cost["byte_ps"]),
                      json_text(cost["source"]));
}

std::string environment_text(const Json& settings) {
    std::string text;
    for (const Json& setting : settings["environment"]) {
        const std::string value = json_text(setting["value"]);
        text += fmt::format("{}{}\n    {}\n    value: {}{}\n", json_text(setting["name"]),
                            value.empty() ? "" : fmt::format("={}", value),
                            json_text(setting["meaning"]), json_text(setting["form"]),
                            setting["alike"] == true ? "; same on all ranks" : "");
        const std::string fallback = json_text(setting["default"]);
        if (!fallback.empty()) text += fmt::format("    default: {}\n", fallback);
        if (setting["given"] == true) text += "    set here\n";
    }
    return text + unknown_text(settings);
}

std::string info_text(const Json& info) {
    const Json& versions = info["versions"];
    const std::string libfabric = json_text(versions["libfabric"]);
    return fmt::format("weft {} (commit {}, {}, {}) with libfabric {}, PMIx {}, hwloc {}\n",
                       json_text(versions["weft"]), json_text(versions["commit"]),
                       json_text(versions["compiler"]), json_text(versions["build"]),
                       libfabric.empty() ? "(not loaded)" : libfabric, json_text(versions["pmix"]),
                       json_text(versions["hwloc"])) +
           job_text(info) + machine_text(info) + banks_text(info) + network_text(info) +
           in_force_text(info) + unknown_text(info);
}

}  // namespace weft::tools
