// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/start_log.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "run/runtime/describe.hpp"

namespace weft::run {

namespace {

std::string counted(std::size_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

void log_job(const base::Log& log, const Description& job) {
    const auto size = static_cast<std::size_t>(job.ranks);
    log.info(fmt::format("weft {}, PMIx {}; reductions with {}", WEFT_LIBRARY_VERSION,
                         job.pmix_version, job.isa));
    log.info(fmt::format("{} on {} ({}); {} of this host may use {}, so waits {}",
                         counted(size, "rank"), counted(job.ranks_per_node.size(), "node"),
                         fmt::join(job.ranks_per_node, ", "),
                         counted(static_cast<std::size_t>(job.host_ranks), "rank"),
                         counted(static_cast<std::size_t>(job.host_cpus), "processor"),
                         job.spins ? "spin" : "yield the processor"));
    log.info(fmt::format("ranks of a node map each other's memory at {} addresses",
                         job.equal_addresses ? "equal" : "different"));
    if (!job.mapping_problems.empty()) log.info(job.mapping_problems);
    std::string buffers = "read and written in place";
    if (!job.adoption_off.empty())
        buffers =
            fmt::format("copied by the kernel; in place only in the heap ({})", job.adoption_off);
    if (!job.direct)
        buffers = fmt::format("through put targets{}",
                              job.direct_problem.empty() ? "" : " (" + job.direct_problem + ")");
    log.info(fmt::format("large buffers of local peers: {}", buffers));
}

void log_memory(const base::Log& log, const SegmentLayout& layout, const Description& job) {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
    std::string registered;
    if (job.port)
        registered = fmt::format("; {} MiB are registered with the network so far",
                                 job.port->registered_bytes / kMebibyte);
    log.info(
        fmt::format("memory of each rank: {} MiB, of which only touched pages cost anything: "
                    "heap {} MiB, up to {} teams of {} MiB{}",
                    layout.bytes / kMebibyte, (layout.bytes - layout.heap) / kMebibyte,
                    SegmentLayout::kTeams, layout.region_bytes / kMebibyte, registered));
}

std::string ways(const std::array<std::uint64_t, base::kWays>& bytes) {
    return fmt::format("{} bytes in place and {} by the kernel", base::in_place(bytes),
                       bytes[static_cast<std::size_t>(base::Way::copied)]);
}

/// Returns a text about this rank's buffers that peers have used.
std::string exposed(const link::DirectMemory& direct, const MappedBytes& moved) {
    std::string text = fmt::format(
        "{} in the segment, {} adopted, {} copied into the segment, {} by the kernel, "
        "{} bytes in all",
        moved.buffers[0], moved.buffers[1], moved.buffers[2], moved.buffers[3],
        std::accumulate(moved.exposed.begin(), moved.exposed.end(), std::uint64_t{0}));
    if (!direct.adoption_off().empty())
        return fmt::format("{}; buffers are never adopted: {}", text, direct.adoption_off());
    const auto counters = direct.adoption_counters();
    text += fmt::format(
        "; {} adoptions, {} bytes now, {} private again after a fork, {} whose memory went away",
        counters.adoptions, counters.adopted_bytes, counters.given_back, counters.lost);
    constexpr std::array<const char*, link::kRefusals> kReasons{"not private memory",
                                                                "memory is locked or pinned",
                                                                "unusual properties of the mapping",
                                                                "placed on a memory node",
                                                                "overlaps another remapped buffer",
                                                                "limit",
                                                                "no memory, descriptor or address"};
    for (std::size_t reason = 0; reason < kReasons.size(); ++reason)
        if (counters.refusals[reason] > 0)
            text += fmt::format("; refused: {} ({})", kReasons[reason], counters.refusals[reason]);
    return text;
}

void log_network(const base::Log& log, const Description& job) {
    if (!job.port) return log.info("network: none, all ranks share memory");
    if (!job.survey) return log.info(fmt::format("network: {}", job.survey_problem));
    const link::FabricSurvey& found = *job.survey;
    log.info(fmt::format("network: provider {} of libfabric {}, domain {}: {}", found.provider,
                         found.version, found.domain, found.reason));
    if (!job.port->late_settings.empty())
        log.info(
            fmt::format("libfabric was in this process before, so {} may have come too late; "
                        "set it for the job",
                        job.port->late_settings));
    const link::NotifyPlan notify = job.port->notify;
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
        if (variable.name != base::kNodeIdVariable &&
            std::ranges::find(settings.given, variable.name) != settings.given.end())
            given += fmt::format(" {}={}", variable.name, variable.print(settings));
    }
    for (const base::ForcedAlgorithm& forced : settings.algorithms)
        given += fmt::format(" {}={}", base::algorithm_variable(forced.name), forced.spec);
    log.info(fmt::format("settings:{}", given));
}

}  // namespace

void log_start(const Runtime& runtime) {
    const base::Log& log = runtime.log();
    if (runtime.job().bootstrap->rank() == 0) {
        for (const std::string& unknown : base::report_unknown(runtime.settings()))
            log.warn(unknown);
    }
    if (!log.informs(runtime.job().bootstrap->rank() == 0)) return;
    const Description job = describe(runtime, runtime.job().nodes_linked());
    log_job(log, job);
    log_network(log, job);
    log_memory(log, runtime.layout(), job);
    log_settings(log, runtime.settings());
}

void log_end(const Runtime& runtime, const MappedBytes& moved) {
    const link::DirectMemory* const direct = runtime.job().wire->direct();
    const base::Log& log = runtime.log();
    if (direct == nullptr || !log.informs(runtime.job().bootstrap->rank() == 0)) return;
    log.info(fmt::format("buffers of local peers: read {}, wrote {}", ways(moved.read),
                         ways(moved.written)));
    log.info(fmt::format("buffers of this rank: {}", exposed(*direct, moved)));
    const auto& windows = direct->window_counters();
    log.info(fmt::format("objects of local peers: {} mapped, {} not mappable, {} uses without room",
                         windows.mapped, windows.refused, windows.passed_over));
}

}  // namespace weft::run
