// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/describe.hpp"

#include "link/fabric/declared.hpp"

namespace weft::run {

namespace {

std::vector<Rank> count_by_node(const Job& job) {
    std::vector<Rank> ranks(static_cast<std::size_t>(job.nodes));
    for (const int node : job.node_of_rank) ++ranks[static_cast<std::size_t>(node)];
    return ranks;
}

}  // namespace

Description describe(const Runtime& runtime, bool asks_network) {
    const Job& job = runtime.job();
    const base::Settings& settings = runtime.settings();
    Description description;
    description.pmix_version = link::pmix_version();
    description.launched = link::rank_by_environment().has_value();
    description.ranks = job.bootstrap->size();
    description.ranks_per_node = count_by_node(job);
    description.host_ranks = job.host_ranks;
    description.host_cpus = job.host_cpus;
    description.spins = job.host_ranks <= job.host_cpus;
    description.equal_addresses = job.node_map->mode() == link::AddressMode::equal;
    description.direct = job.direct;
    description.direct_problem = job.direct_problem;
    if (job.wire->direct() != nullptr)
        description.adoption_off = job.wire->direct()->adoption_off();
    description.mapping_problems = job.node_map->problems();
    description.isa = runtime.kernels().name();
    description.runnable_isas = runnable_isas();
    if (job.wire->port() != nullptr) description.port = job.wire->port()->facts();
    if (!asks_network) return description;
    auto survey = link::load_survey({.provider = settings.provider,
                                     .address = settings.fabric_address,
                                     .module = settings.fabric_module,
                                     .rank = 0,
                                     .size = description.ranks,
                                     .one_host = job.host_ranks == description.ranks,
                                     .notify = settings.notify});
    if (survey) {
        description.survey = *std::move(survey);
    } else {
        description.survey_problem = survey.failure().text;
    }
    return description;
}

base::Result<ProviderDescription> describe_provider(const base::Settings& settings,
                                                    std::string_view provider) {
    const link::Profile& profile = link::profile_of(provider);
    if (profile.provider == provider && !provider.empty())
        return ProviderDescription{link::survey_declared(profile, settings.notify), &profile};
    std::string names;
    for (const link::Profile* known : link::preferred_profiles())
        names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", known->provider);
    return base::fail(Status::argument, "\"{}\" has no profile; these have one: {}", provider,
                      names);
}

}  // namespace weft::run
