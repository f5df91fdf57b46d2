// SPDX-License-Identifier: BSD-3-Clause
// info_command.cpp - `weft info`: describes this job, or this machine's resources for a job.
//
// Idea     Without a launcher this process is a job of one rank, which still queries the network.
//          Under a launcher every rank runs the command and rank 0 prints the report: a JSON object
//          or its outline().
// Holds    An unusable network is a result, not a failure, unless the job needs it.
// Next     run/job/describe.hpp for the source of the facts.
#include <unistd.h>

#include <algorithm>

#include "base/environment.hpp"
#include "run/job/describe.hpp"
#include "run/runtime.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/table.hpp"
#include "topology/hwloc_reader.hpp"

namespace weft::tools {

namespace {

struct InfoArguments {
    bool environment = false;
    bool json = false;
    std::string provider;
};

Json job_json(const run::Description& facts) {
    return {{"launched", link::rank_by_environment().has_value()},
            {"ranks", facts.job.bootstrap->size()},
            {"nodes", facts.job.ranks_per_node.size()},
            {"ranks_per_node", facts.job.ranks_per_node},
            {"provider", facts.port ? facts.port->provider : "none"},
            {"notify", facts.port ? link::to_text(facts.port->notify) : "none"},
            {"host_ranks", facts.job.host_ranks},
            {"host_processors", facts.job.host_cpus},
            {"waiting", facts.waiting}};
}

Json topology_json(const topology::MachineModel& machine, const run::Description& job) {
    std::size_t usable = 0;
    for (const topology::Processors& core : machine.usable_cores) usable += core.size();
    return {{"host", machine.host},
            {"processor", machine.processor},
            {"nodes", job.job.ranks_per_node.size()},
            {"packages", machine.packages},
            {"numa_nodes", machine.numa_nodes},
            {"cores", machine.cores},
            {"processors", machine.processors},
            {"usable_cores", machine.usable_cores.size()},
            {"usable_processors", usable}};
}

Json banks_json(const run::SegmentLayout& layout) {
    Json small_banks = Json::array();
    for (const base::BankClass& small : layout.shape.small)
        if (small.banks != 0)
            small_banks.push_back({{"banks", small.banks}, {"bytes", small.bytes}});
    return {{"banks", layout.shape.banks},
            {"cells_per_bank", layout.shape.cells},
            {"cell_payload_bytes", base::kCellPayload},
            {"bulk_banks", layout.shape.bulk_banks},
            {"bulk_bank_bytes", layout.shape.bulk_bytes},
            {"small_bulk_banks", std::move(small_banks)},
            {"teams_max", run::SegmentLayout::kTeams},
            {"team_bytes", layout.region_bytes},
            {"heap_bytes", layout.heap_bytes()},
            {"segment_bytes", layout.bytes},
            {"registered_bytes", layout.registered_bytes()}};
}

Json granted_json(const link::FabricSurvey& survey) {
    const link::Grant& grant = survey.grant;
    return {{"domain", survey.domain},
            {"inject_bytes", grant.inject_bytes},
            {"message_bytes_max", grant.message_bytes_max},
            {"immediate_bytes", grant.immediate_bytes},
            {"ordered_bytes", grant.ordered_bytes},
            {"delivery_complete", grant.delivery},
            {"fence", grant.fence},
            {"virtual_addresses", grant.virtual_addresses},
            {"provider_keys", grant.provider_keys},
            {"local_registration", grant.local_registration},
            {"endpoint_registration", grant.endpoint_registration},
            {"consumes_receives", grant.consumes_receives}};
}

/// Returns the NICs that ranks of this host may use. `ranks`: the ranks of this host that use the
/// NIC, as indices among the ranks of this host.
Json nics_json(const link::FabricSurvey& survey) {
    Json nics = Json::array();
    for (const link::Nic& nic : survey.nics)
        nics.push_back({{"name", nic.name},
                        {"bus", nic.bus},
                        {"distance", nic.distance < 0 ? Json() : Json(nic.distance)},
                        {"chosen", nic.chosen},
                        {"ranks", nic.ranks}});
    return nics;
}

Json notify_json(const link::FabricSurvey& survey) {
    if (!survey.problem.empty()) return {{"problem", survey.problem}, {"sizes", Json::array()}};
    const auto line = [](std::size_t above, Json up_to, link::Notify strategy,
                         const std::string& why) {
        return Json{{"above_bytes", above},
                    {"up_to_bytes", std::move(up_to)},
                    {"way", link::name_of(strategy)},
                    {"reason", why}};
    };
    Json sizes = Json::array();
    sizes.push_back(line(0, base::kCellPayload, survey.notify.small, survey.small_reason));
    sizes.push_back(line(base::kCellPayload, nullptr, survey.notify.large, survey.large_reason));
    Json ways = Json::array();
    for (const link::NotifyFinding& finding : survey.strategies)
        ways.push_back({{"way", link::name_of(finding.strategy)},
                        {"promised", finding.promised},
                        {"reason", finding.why}});
    return {{"problem", ""}, {"sizes", std::move(sizes)}, {"ways", std::move(ways)}};
}

void add_completion(Json& report, const link::FabricSurvey& survey) {
    if (survey.problem.empty())
        report["completion"] = {{"kind", base::name_of(survey.completion)},
                                {"reason", survey.completion_reason}};
}

void add_network(Json& info, const run::Description& job) {
    if (!*job.survey) {
        info["provider"] = "none";
        info["provider_reason"] = job.survey->failure().text;
        return;
    }
    const link::FabricSurvey& survey = **job.survey;
    const bool usable = !survey.provider.empty();
    info["provider"] = usable ? survey.provider : "none";
    info["provider_reason"] = survey.reason;
    Json providers = Json::array();
    for (const link::ProviderFinding& finding : survey.providers)
        providers.push_back({{"provider", finding.provider},
                             {"offered", finding.offered},
                             {"chosen", finding.chosen},
                             {"reason", finding.why}});
    info["providers"] = std::move(providers);
    if (!usable) return;
    info["cards"] = nics_json(survey);
    info["granted"] = granted_json(survey);
    info["notify"] = notify_json(survey);
    add_completion(info, survey);
}

Json provider_json(const run::ProviderDescription& provider) {
    const link::Profile& profile = *provider.profile;
    const link::FabricSurvey& survey = provider.survey;
    Json settings = Json::array();
    for (const link::Setting& setting : profile.settings) {
        const std::string value = setting.value_in({});
        settings.push_back({{"name", setting.name},
                            {"value", value.empty() ? "one for each job" : value},
                            {"reason", setting.why}});
    }
    Json bugs = Json::array();
    for (const link::KnownBug& bug : profile.bugs)
        bugs.push_back({{"versions", bug.versions}, {"what", bug.what}});
    Json granted = granted_json(survey);
    granted.erase("domain");
    Json report{{"provider", survey.provider},     {"needs", profile.needs},
                {"declared_by", survey.version},   {"granted", std::move(granted)},
                {"settings", std::move(settings)}, {"notify", notify_json(survey)}};
    add_completion(report, survey);
    report["check"] = profile.check;
    report["several_cards"] = profile.several_cards;
    report["batches_posts"] = profile.batches_posts;
    report["target_must_progress"] = profile.target_must_progress;
    report["small_keys"] = profile.small_keys;
    report["known_bugs"] = std::move(bugs);
    report["cost"] = {{"latency_ns", profile.cost.latency_ns},
                      {"issue_ns", profile.cost.issue_ns},
                      {"receive_ns", profile.cost.receive_ns},
                      {"byte_ps", static_cast<double>(profile.cost.byte_fs) / 1000},
                      {"source", profile.cost.source}};
    return report;
}

Json environment_json(const base::Settings& settings) {
    const auto given = [&](std::string_view name) {
        return std::ranges::find(settings.given, name) != settings.given.end();
    };
    Json all = Json::array();
    for (const base::Variable& variable : base::variables())
        all.push_back({{"name", variable.name},
                       {"value", variable.print(settings)},
                       {"given", given(variable.name)},
                       {"default", variable.fallback},
                       {"form", variable.form},
                       {"meaning", variable.meaning},
                       {"alike", variable.agreed}});
    for (const std::string_view kind : collectives::kCollectiveNames) {
        const auto forced =
            std::ranges::find(settings.algorithms, kind, &base::ForcedAlgorithm::name);
        const std::string name = base::algorithm_variable(kind);
        all.push_back({{"name", name},
                       {"value", forced == settings.algorithms.end() ? "" : forced->spec},
                       {"given", given(name)},
                       {"default", ""},
                       {"form", "an algorithm spec as weft list shows them"},
                       {"meaning", fmt::format("the algorithm of every {}", kind)},
                       {"alike", true}});
    }
    return {{"environment", std::move(all)}, {"unknown", settings.unknown}};
}

/// Returns the report; called on rank 0 only.
Json info_json(run::Runtime& runtime) {
    const auto machine = need(topology::read_machine());
    const run::Job& job = runtime.job();
    const run::Description facts = run::describe(job, runtime.settings(), true);
    Json info{{"versions",
               {{"weft", WEFT_VERSION},
                {"commit", kCommit},
                {"compiler", kBuildCompiler},
                {"build", kBuildType},
                {"libfabric", *facts.survey ? (*facts.survey)->version : ""},
                {"pmix", link::pmix_version()},
                {"hwloc", machine.reader_version}}},
              {"job", job_json(facts)}};
    add_network(info, facts);
    info["banks"] = banks_json(runtime.layout());
    info["mapping"] = {{"mode", facts.addresses},
                       {"direct", job.direct},
                       {"direct_problem", job.direct_problem},
                       {"adoption_off", facts.adoption_off},
                       {"problems", facts.mapping_problems}};
    info["topology"] = topology_json(machine, facts);
    info["reduction"] = {{"instruction_set", runtime.kernels().name()},
                         {"runnable", run::runnable_isas()}};
    info.update(environment_json(runtime.settings()));
    return info;
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
    if (!settings["unknown"].empty())
        text += outline({{"set, but unknown to weft", settings["unknown"]}});
    return text;
}

/// Returns the report as text, without settings that have no value.
std::string info_text(Json info) {
    Json with_values = Json::array();
    for (const Json& setting : info["environment"])
        if (setting["value"] != "")
            with_values.push_back({{"name", setting["name"]},
                                   {"value", setting["value"]},
                                   {"given", setting["given"]}});
    info["environment"] = std::move(with_values);
    return outline(info);
}

base::Settings settings_here() {
    return need(base::read_settings(environ, collectives::kCollectiveNames));
}

int info(const InfoArguments& arguments) {
    const auto print = [&](const Json& report, const std::string& text) {
        fmt::print("{}", arguments.json ? json_text(report) + "\n" : text);
    };
    if (arguments.environment) {
        const Json table = environment_json(settings_here());
        if (is_first_rank()) print(table, environment_text(table));
    } else if (!arguments.provider.empty()) {
        const auto provider =
            need(run::describe_provider(settings_here(), arguments.provider), "--provider");
        const Json report = provider_json(provider);
        if (is_first_rank()) print(report, outline(report));
    } else {
        const auto runtime = need(run::Runtime::create(environ));
        if (runtime->world().rank() == 0) {
            const Json report = info_json(*runtime);
            print(report, info_text(report));
        }
        need(runtime->finalize());
    }
    return 0;
}

}  // namespace

void add_info_command(CLI::App& app) {
    const auto [command, arguments] = add_command<InfoArguments>(
        app, "info", "describe this machine or this job: versions, network, memory, settings",
        &info, "weft info");
    add_flag(*command, "--environment", arguments->environment,
             "print only the table of WEFT_* variables");
    add_flag(*command, "--json", arguments->json, "one JSON object on stdout");
    add_option(
        *command, "--provider", arguments->provider,
        "describe the behavior of jobs over this libfabric provider, which need not be installed");
    set_footer(
        *command,
        "Without a launcher it describes this machine. Under one (weft run -n N -- weft info),\n"
        "rank 0 describes the job.");
}

}  // namespace weft::tools
