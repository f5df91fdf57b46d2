// SPDX-License-Identifier: BSD-3-Clause
// open_port.cpp - start-up of a port: discover, choose the strategies, open the endpoint.
#include <rdma/fi_cm.h>

#include <algorithm>

#include "link/fabric/striped_port.hpp"

namespace weft::link {
namespace {

constexpr std::size_t kArrivalsMin = 1024;  ///< fewest queue entries for immediates of peers
/// Limit of signaled puts in flight to a rank, unless the rank has more peers: each may have one.
constexpr std::size_t kSignaledMax = 65536;

/// Returns the largest number of sources of a put with a cell; 0: no such puts. The flag is one
/// more source, with its own target. Port::put_flagged() cannot register sources.
std::size_t flagged_parts_max(const Found& found) {
    const bool two_targets = found.profile.writes_two_places && found.grant.target_parts_max >= 2 &&
                             found.grant.source_parts_max >= 2;
    if (!two_targets || found.grant.local_registration) return 0;
    return std::min(found.grant.source_parts_max, kSourceParts) - 1;
}

FabricFacts make_facts(const Found& found, NotifyPlan notify, base::RemoteCompletion completion) {
    FabricFacts facts;
    facts.notify = notify;
    facts.remote.completion = completion;
    facts.remote.whole_words = found.profile.whole_words;
    facts.remote.reads = found.profile.reads;
    // Signals need immediates that the target handles before it sees later puts. That is so if data
    // is delivered only while the target polls: completions are then in the order of delivery.
    facts.remote.signals = completion == base::RemoteCompletion::ordered &&
                           found.profile.target_must_progress && found.profile.immediate.holds &&
                           found.grant.immediate_bytes >= sizeof(std::uint64_t);
    facts.endpoint_file = found.profile.endpoint_file.bytes != 0;
    facts.provider = found.info->fabric_attr->prov_name;
    facts.domain = found.info->domain_attr->name;
    facts.version = libfabric_version();
    facts.message_bytes_max = found.grant.message_bytes_max;
    facts.inject_bytes = std::min(found.grant.inject_bytes, facts.message_bytes_max);
    // If targets of reads must be registered, reads into other memory go through staging buffers.
    facts.get_bytes_max = found.grant.local_registration
                              ? std::min(facts.message_bytes_max, Regions::kBufferBytes)
                              : facts.message_bytes_max;
    facts.counters = notify.large == Notify::counter ? kCountersOfPeer : 0;
    facts.flagged_parts_max = flagged_parts_max(found);
    if (facts.flagged_parts_max != 0) facts.copied_bytes = found.profile.copied_bytes;
    facts.paced_bytes = found.profile.paced_bytes;
    return facts;
}

/// Returns the variables that may have been set too late, as "name=value name=value". libfabric
/// reads them at its first call, which may precede ours if libfabric was loaded earlier.
std::string late_settings(const Found& found, const FabricOptions& options) {
    std::string settings;
    if (!options.libfabric_was_loaded) return settings;
    for (const Setting& setting : found.profile.settings)
        if (found.environment.has_set(setting.name))
            settings += fmt::format("{}{}={}", settings.empty() ? "" : " ", setting.name,
                                    setting.value_in(facts_of(options)));
    return settings;
}

/// Enables an endpoint that is a file. Chooses its name, because the provider's has only the
/// process id. Checks the free space, because a full folder would end the process by SIGBUS.
base::Result<void> enable_with_file(Endpoint& endpoint, const EndpointFile& file,
                                    const FabricOptions& options, std::string_view provider) {
    if (options.wait_for_ranks) WEFT_TRY(options.wait_for_ranks());
    const base::SharedFolder folder;
    folder.remove_unused();
    if (folder.free_bytes() < file.bytes)
        return base::fail(Status::memory,
                          "/dev/shm has room for {} bytes, and an endpoint of provider \"{}\" "
                          "needs {}: make /dev/shm larger, or set another WEFT_PROVIDER",
                          folder.free_bytes(), provider, file.bytes);
    endpoint.file = WEFT_TRY(base::SharedFile::reserve(options.processes));
    std::string name = fmt::format("{}{}", file.prefix, endpoint.file.name());
    WEFT_TRY(endpoint.check("fi_setname",
                            fi_setname(&endpoint.handle->fid, name.data(), name.size() + 1)));
    WEFT_TRY(endpoint.enable());
    return endpoint.file.adopt();
}

}  // namespace

std::size_t puts_per_peer(const FabricOptions& options) {
    const std::size_t fair_share = kSignaledMax / static_cast<std::size_t>(options.size);
    return std::clamp<std::size_t>(fair_share, 1, options.puts_in_flight_per_peer);
}

base::Result<std::unique_ptr<Port>> open_port(const FabricMemory& memory,
                                              const FabricOptions& options, const Found& found) {
    WEFT_CHECK(options.rank >= 0 && options.rank < options.size, options.rank, options.size);
    WEFT_CHECK(memory.base != nullptr && memory.bytes > 0, memory.bytes);
    if (options.puts_in_flight == 0 || options.puts_in_flight_per_peer == 0)
        return base::fail(Status::argument,
                          "puts in flight: {} in all and {} per peer; at least 1 is expected",
                          options.puts_in_flight, options.puts_in_flight_per_peer);
    Profile named = found.profile;  // the default profile names no provider
    named.provider = found.info->fabric_attr->prov_name;
    const NotifyPlan notify = WEFT_TRY(choose_notify(named, found.grant, options.notify));
    FabricFacts facts =
        make_facts(found, notify, choose_completion(named, found.grant, options.notify));
    facts.late_settings = late_settings(found, options);

    Endpoint endpoint;
    endpoint.provider_and_domain =
        fmt::format("provider \"{}\", domain {}", facts.provider, facts.domain);
    endpoint.binds_memory = found.grant.endpoint_registration;
    const auto size = static_cast<std::size_t>(options.size);
    // Only signaled puts count as in flight. Each may be preceded by several unsignaled ones.
    const std::size_t unsignaled = found.profile.unsignaled_small_puts ? kUnsignaledPuts : 0;
    const std::size_t arrivals =
        std::max(size * puts_per_peer(options) * (1 + unsignaled), kArrivalsMin);
    auto opened = endpoint.open(*found.info, size, options.puts_in_flight + arrivals);
    const EndpointFile& file = found.profile.endpoint_file;
    if (opened)
        opened = file.bytes != 0 ? enable_with_file(endpoint, file, options, facts.provider)
                                 : endpoint.enable();
    if (!opened && !found.source.text.empty())
        return opened.failure().within(
            fmt::format("local address {} ({} WEFT_FABRIC_ADDRESS)", found.source.text,
                        found.source.forced ? "named by" : "to name another, set"));
    if (!opened) return opened.failure();

    auto port =
        std::make_unique<Port>(memory, options, found, std::move(facts), std::move(endpoint));
    const std::size_t receives =
        std::max<std::size_t>(std::min(arrivals, found.info->rx_attr->size), 1);
    WEFT_TRY(port->start(found.grant.consumes_receives ? receives : 0));
    return port;
}

namespace {

/// Returns true if long puts may use several NICs: this port needs no order among writes.
bool may_stripe(const Found& found, const FabricFacts& facts) {
    return found.profile.several_cards && !found.other_nics.empty() &&
           (facts.notify.large == Notify::immediate || facts.notify.large == Notify::delivery) &&
           facts.remote.completion != base::RemoteCompletion::ordered;
}

/// Opens a port on the NIC of found.info. A failure names the variable that selects other NICs.
base::Result<std::unique_ptr<Port>> open_on_nic(const FabricMemory& memory,
                                                const FabricOptions& options, const Found& found) {
    auto port = open_port(memory, options, found);
    if (port || found.nics.size() < 2) return port;
    return port.failure().within(
        fmt::format("network card {} (WEFT_CARDS can name others)", found.info->domain_attr->name));
}

}  // namespace

base::Result<std::unique_ptr<FabricPort>> open_on_nics(const FabricMemory& memory,
                                                       const FabricOptions& options, Found found) {
    std::vector<std::unique_ptr<Port>> rails;
    rails.push_back(WEFT_TRY(open_on_nic(memory, options, found)));
    if (!may_stripe(found, rails.front()->facts()))
        return std::unique_ptr<FabricPort>(std::move(rails.front()));
    for (Info& nic : found.other_nics) {
        if (rails.size() == kNicsMax) break;
        found.info = std::move(nic);
        FabricMemory rail_memory = memory;  // each rail has its own keys
        rail_memory.section_keys += rails.size() * kSectionsMax * sizeof(std::uint64_t);
        rails.push_back(WEFT_TRY(open_on_nic(rail_memory, options, found)));
    }
    const std::size_t piece =
        options.piece_bytes != 0 ? options.piece_bytes : piece_bytes(found.profile.cost);
    return std::unique_ptr<FabricPort>(
        std::make_unique<StripedPort>(std::move(rails), static_cast<std::size_t>(options.size),
                                      piece, !found.grant.provider_keys));
}

base::Result<std::unique_ptr<FabricPort>> open_port(const FabricMemory& memory,
                                                    const FabricOptions& options) {
    return open_on_nics(memory, options, WEFT_TRY(discover(options)));
}

}  // namespace weft::link
