// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/describe.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "link/direct/direct_memory.hpp"

namespace weft::run {

namespace {

std::string counted(int number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

void log_job(const base::Log& log, const Description& facts, const ReduceTable& kernels) {
    const Job& job = facts.job;
    log.info(fmt::format("weft {}, PMIx {}; reductions with {}", WEFT_LIBRARY_VERSION,
                         link::pmix_version(), kernels.name()));
    log.info(fmt::format(
        "{} on {} (ranks of each node: {}); waiting ranks {}: {} on this host, {} available",
        counted(job.bootstrap->size(), "rank"), counted(job.nodes, "node"),
        fmt::join(job.ranks_per_node, ", "), facts.waiting, counted(job.host_ranks, "rank"),
        counted(job.host_cpus, "processor")));
    log.info(fmt::format("ranks of a node map each other's memory at {} addresses",
                         facts.addresses == "equal" ? "equal" : "different"));
    if (!facts.mapping_problems.empty()) log.info(facts.mapping_problems);
    std::string buffers = "read and written in place";
    if (!facts.adoption_off.empty())
        buffers =
            fmt::format("copied by the kernel; in place only in the heap ({})", facts.adoption_off);
    if (!job.direct)
        buffers = fmt::format("through put targets{}",
                              job.direct_problem.empty() ? "" : " (" + job.direct_problem + ")");
    log.info(fmt::format("large buffers of local peers: {}", buffers));
}

void log_memory(const base::Log& log, const SegmentLayout& layout, const Description& facts) {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
    std::string registered;
    if (facts.port)
        registered = fmt::format("; {} MiB are registered with the network so far",
                                 facts.port->registered_bytes / kMebibyte);
    log.info(
        fmt::format("memory of each rank: {} MiB, of which only touched pages cost anything: "
                    "heap {} MiB, up to {} teams of {} MiB{}",
                    layout.bytes / kMebibyte, layout.heap_bytes() / kMebibyte,
                    SegmentLayout::kTeams, layout.region_bytes / kMebibyte, registered));
}

std::uint64_t count_of(const MappedBytes::ByMethod& counts, base::AccessMethod method) {
    return counts[static_cast<std::size_t>(method)];
}

std::string access_text(const MappedBytes::ByMethod& bytes) {
    return fmt::format("{} bytes in place and {} by the kernel", base::in_place(bytes),
                       count_of(bytes, base::AccessMethod::copied));
}

/// Describes the buffers that this rank has exposed to local peers.
std::string exposure_text(const link::DirectMemory& direct, const MappedBytes& moved) {
    std::string text = fmt::format(
        "{} in the segment, {} adopted, {} copied into the segment, {} by the kernel, "
        "{} bytes in all",
        count_of(moved.buffers, base::AccessMethod::segment),
        count_of(moved.buffers, base::AccessMethod::remapped),
        count_of(moved.buffers, base::AccessMethod::bounced),
        count_of(moved.buffers, base::AccessMethod::copied),
        base::in_place(moved.exposed) + count_of(moved.exposed, base::AccessMethod::copied));
    if (!direct.adoption_off().empty())
        return fmt::format("{}; buffers are never adopted: {}", text, direct.adoption_off());
    const auto counters = direct.adoption_counters();
    text += fmt::format(
        "; {} adoptions ({} bytes are adopted now), {} made private again by a fork, {} unmapped "
        "or changed by the program",
        counters.adoptions, counters.adopted_bytes, counters.given_back, counters.lost);
    constexpr std::array<const char*, link::kRefusals> kReasons{
        "not private memory",
        "memory is pinned, or a device that can write memory is open",
        "unusual properties of the mapping",
        "has a NUMA policy, or is on another NUMA node than the thread",
        "overlaps another adopted buffer",
        "too many buffers or bytes are adopted",
        "no memory, file descriptor or address space, limited file size, or fork in progress"};
    for (std::size_t reason = 0; reason < kReasons.size(); ++reason)
        if (counters.refusals[reason] > 0)
            text += fmt::format("; refused: {} ({})", kReasons[reason], counters.refusals[reason]);
    return text;
}

void log_network(const base::Log& log, const Description& facts) {
    if (!facts.port) return log.info("network: none, all ranks share memory");
    if (!*facts.survey) return log.info(fmt::format("network: {}", facts.survey->failure().text));
    const link::FabricSurvey& found = **facts.survey;
    const std::string nics = facts.port->nics == 1
                                 ? ""
                                 : fmt::format(" (puts of more than {} bytes use {} NICs)",
                                               facts.port->message_bytes_max, facts.port->nics);
    log.info(fmt::format("network: provider {} of libfabric {}, domain {}{}: {}", found.provider,
                         found.version, found.domain, nics, found.reason));
    if (!facts.port->late_settings.empty())
        log.info(
            fmt::format("libfabric was loaded before weft, which may have set {} too late; "
                        "set them for the whole job (weft run -x)",
                        facts.port->late_settings));
    const link::NotifyPlan notify = facts.port->notify;
    if (notify.small != notify.large)
        log.info(fmt::format("notify: payloads up to {} bytes by {}: {}", base::kCellPayload,
                             link::name_of(notify.small), found.small_reason));
    log.info(fmt::format("notify: {} payloads by {}: {}",
                         notify.small != notify.large ? "larger" : "all",
                         link::name_of(notify.large), found.large_reason));
}

void log_settings(const base::Log& log, const base::Settings& settings) {
    std::string given;
    for (const base::Variable& variable : base::variables()) {
        if (variable.name != base::kNodeIdVariable &&  // `weft run` sets it; it differs by node
            std::ranges::find(settings.given, variable.name) != settings.given.end())
            given += fmt::format(" {}={}", variable.name, variable.print(settings));
    }
    for (const base::ForcedAlgorithm& forced : settings.algorithms)
        given += fmt::format(" {}={}", base::algorithm_variable(forced.name), forced.spec);
    log.info(fmt::format("settings:{}", given.empty() ? " none" : given));
}

}  // namespace

Description describe(const Job& job, const base::Settings& settings, bool with_survey) {
    Description description{
        .job = job,
        .waiting = job.host_ranks <= job.host_cpus ? "spin" : "yield",
        .addresses = job.node_map->mode() == link::AddressMode::equal ? "equal" : "offset",
        .mapping_problems = job.node_map->problems()};
    if (job.wire->memory().direct() != nullptr)
        description.adoption_off = job.wire->memory().direct()->adoption_off();
    if (job.wire->port() != nullptr) description.port = job.wire->port()->facts();
    if (!with_survey) return description;
    const Rank ranks = job.bootstrap->size();
    description.survey = link::load_survey({.provider = settings.provider,
                                            .address = settings.fabric_address,
                                            .nics = settings.cards,
                                            .host = job.rank_processors,
                                            .module = settings.fabric_module,
                                            .rank = 0,
                                            .size = ranks,
                                            .one_host = job.host_ranks == ranks,
                                            .notify = settings.notify});
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

void log_start(const base::Log& log, const Job& job, const base::Settings& settings,
               const ReduceTable& kernels) {
    const bool first = job.bootstrap->rank() == 0;
    if (first)
        for (const std::string& unknown : base::report_unknown(settings)) log.warn(unknown);
    if (!log.writes_shared_line(first)) return;
    const Description facts = describe(job, settings, job.nodes_linked());
    log_job(log, facts, kernels);
    log_network(log, facts);
    log_memory(log, SegmentLayout(job.bootstrap->size(), settings), facts);
    log_settings(log, settings);
}

void log_end(const base::Log& log, const Job& job, const MappedBytes& moved) {
    const link::DirectMemory* const direct = job.wire->memory().direct();
    if (direct == nullptr || !log.writes_shared_line(job.bootstrap->rank() == 0)) return;
    log.info(fmt::format("buffers of local peers: read {}, wrote {}", access_text(moved.read),
                         access_text(moved.written)));
    log.info(fmt::format("buffers of this rank: {}", exposure_text(*direct, moved)));
    const auto& windows = direct->window_counters();
    log.info(fmt::format(
        "adopted buffers of local peers: {} mapped, {} not mappable, {} uses with too many mapped",
        windows.mapped, windows.refused, windows.passed_over));
}

std::vector<MemoryCount> memory_counts(const MappedBytes& moved, const link::DirectMemory* direct) {
    link::RemappedMemory::Counters remapped;
    link::PeerWindows::Counters windows;
    if (direct != nullptr) {
        remapped = direct->adoption_counters();
        windows = direct->window_counters();
    }
    const std::uint64_t refused =
        std::accumulate(remapped.refusals.begin(), remapped.refusals.end(), std::uint64_t{0});
    return {{{"read", "in place"}, base::in_place(moved.read)},
            {{"read", "by kernel"}, count_of(moved.read, base::AccessMethod::copied)},
            {{"written", "in place"}, base::in_place(moved.written)},
            {{"written", "by kernel"}, count_of(moved.written, base::AccessMethod::copied)},
            {{"buffers", "segment"}, count_of(moved.buffers, base::AccessMethod::segment)},
            {{"buffers", "adopted"}, count_of(moved.buffers, base::AccessMethod::remapped)},
            {{"buffers", "by kernel"}, count_of(moved.buffers, base::AccessMethod::copied)},
            {{"adop-", "tions"}, remapped.adoptions},
            {{"adopted", "bytes now"}, remapped.adopted_bytes},
            {{"given", "back"}, remapped.given_back},
            {{"", "lost"}, remapped.lost},
            {{"", "refused"}, refused},
            {{"objects", "mapped"}, windows.mapped},
            {{"objects", "refused"}, windows.refused},
            {{"passed", "over"}, windows.passed_over},
            {{"buffers", "bounced"}, count_of(moved.buffers, base::AccessMethod::bounced)}};
}

}  // namespace weft::run
