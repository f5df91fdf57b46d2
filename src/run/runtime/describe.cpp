// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/describe.hpp"

namespace weft::run {

namespace {

std::vector<Rank> count_by_node(const Job& job) {
    std::vector<Rank> ranks(static_cast<std::size_t>(job.nodes));
    for (const int node : job.node_of_rank) ++ranks[static_cast<std::size_t>(node)];
    return ranks;
}

}  // namespace

Description describe(const Runtime& runtime) {
    const Job& job = runtime.job();
    const base::Settings& settings = runtime.settings();
    Description told;
    told.pmix_version = link::pmix_version();
    told.launched = link::rank_by_environment().has_value();
    told.ranks = job.bootstrap->size();
    told.ranks_per_node = count_by_node(job);
    told.host_ranks = job.host_ranks;
    told.host_cpus = job.host_cpus;
    told.spins = job.host_ranks <= job.host_cpus;
    told.equal_addresses = job.node_map->mode() == link::AddressMode::equal;
    told.mapping_problems = job.node_map->problems();
    told.isa = runtime.kernels().name();
    told.runnable_isas = runnable_isas();
    if (job.wire->port() != nullptr) told.port = job.wire->port()->facts();
    if (job.bootstrap->rank() != 0) return told;
    auto survey = link::load_survey({.provider = settings.provider,
                                     .address = settings.fabric_address,
                                     .module = settings.fabric_module,
                                     .rank = 0,
                                     .size = told.ranks,
                                     .one_host = job.host_ranks == told.ranks,
                                     .notify = link::forced_notify(settings.notify)});
    if (survey) {
        told.survey = *std::move(survey);
    } else {
        told.survey_problem = survey.failure().text;
    }
    return told;
}

}  // namespace weft::run
