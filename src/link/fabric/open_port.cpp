// SPDX-License-Identifier: BSD-3-Clause
// open_port.cpp - start-up of a port: discover, open, register, write the card; also later
// registrations.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "link/fabric/keys.hpp"
#include "link/fabric/port.hpp"

namespace weft::link {
namespace {

// If small puts may be unsignaled, every sixteenth is signaled anyway. This limits the puts in
// flight to a peer that does not poll.
constexpr std::uint32_t kUnsignaledPuts = 16;

constexpr std::size_t kArrivalsMin = 1024;
constexpr std::size_t kArrivalsMax = 65536;

/// Returns the most puts in flight to one peer. The puts of all peers must fit this rank's queue.
std::size_t per_peer(const FabricOptions& options) {
    const std::size_t fair = kArrivalsMax / static_cast<std::size_t>(options.size);
    return std::clamp<std::size_t>(fair, 1, options.puts_in_flight_per_peer);
}

/// Returns true if keys are chosen here, random and too long to be guessed.
bool has_secret_keys(const Found& found) {
    return !found.grant.provider_keys && found.grant.key_bytes >= sizeof(std::uint64_t) &&
           !found.profile.small_keys;
}

std::size_t inject_bytes(const Found& found) {
    return std::min(found.grant.inject_bytes, found.grant.message_bytes_max);
}

/// Returns true if large sources outside the segment are registered for their put.
bool registers_sources(const Found& found) {
    return found.grant.local_registration && !found.profile.stages_sources;
}

/// Returns the largest size of a source that is copied to registered memory.
std::size_t staged_bytes_max(const Found& found) {
    if (!registers_sources(found)) return Staging::kBufferBytes;
    return found.profile.free_registration ? 0 : Staging::kBufferBytes;
}

/// Returns the most sources of a put with a flag. The flag is one more source, with another target.
/// Sources that must be registered or copied cannot be combined.
std::size_t flagged_parts_max(const Found& found, const FabricFacts& facts) {
    const bool two_places = found.profile.writes_two_places && found.grant.target_parts_max >= 2 &&
                            found.grant.source_parts_max >= 2;
    if (!two_places || facts.stages_sources) return 0;
    return std::min(found.grant.source_parts_max, kSourceParts) - 1;
}

FabricFacts make_facts(const Found& found, NotifyPlan notify, base::RemoteCompletion completion) {
    FabricFacts facts;
    facts.notify = notify;
    facts.remote.completion = completion;
    facts.remote.whole_words = found.profile.whole_words;
    facts.remote.reads = found.profile.reads;
    facts.endpoint_file = found.profile.endpoint_file.bytes != 0;
    facts.provider = found.info->fabric_attr->prov_name;
    facts.domain = found.info->domain_attr->name;
    facts.version = fmt::format("{}.{}", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
    facts.inject_bytes = inject_bytes(found);
    facts.stages_sources = found.grant.local_registration || found.profile.stages_sources;
    facts.message_bytes_max = facts.stages_sources && !registers_sources(found)
                                  ? std::min(found.grant.message_bytes_max, Staging::kBufferBytes)
                                  : found.grant.message_bytes_max;
    // Targets of reads are never registered for the read, only staged.
    facts.get_bytes_max = facts.stages_sources
                              ? std::min(found.grant.message_bytes_max, Staging::kBufferBytes)
                              : found.grant.message_bytes_max;
    // If data is delivered only while the target polls, completions are in the order of delivery.
    facts.remote.signals = completion == base::RemoteCompletion::ordered &&
                           found.profile.target_must_progress && found.profile.immediate.holds &&
                           found.grant.immediate_bytes >= sizeof(std::uint64_t);
    facts.counters = notify.large == Notify::counter ? kCountersOfPeer : 0;
    facts.flagged_parts_max = flagged_parts_max(found, facts);
    if (facts.flagged_parts_max != 0) facts.copied_bytes = found.profile.copied_bytes;
    facts.paced_bytes = found.profile.paced_bytes;
    return facts;
}

/// Returns a text about the limit that is usually reached if registered memory is pinned.
std::string pinned_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {};
    if (limit.rlim_cur == RLIM_INFINITY) return "RLIMIT_MEMLOCK is unlimited";
    return fmt::format("RLIMIT_MEMLOCK lets this process pin {} bytes (ulimit -l)", limit.rlim_cur);
}

/// Returns variables that may have been set too late: libfabric reads them at its first call.
std::string late_settings(const Found& found, const FabricOptions& options) {
    std::string settings;
    if (!options.libfabric_was_here) return settings;
    for (const EnvironmentDefault& entry : found.profile.environment)
        if (found.environment.holds(entry.name))
            settings +=
                fmt::format("{}{}={}", settings.empty() ? "" : " ", entry.name, entry.value);
    return settings;
}

}  // namespace

Port::Port(const FabricMemory& memory, const FabricOptions& options, const Found& found,
           NotifyPlan notify, base::RemoteCompletion completion)
    : memory_(memory),
      facts_(make_facts(found, notify, completion)),
      grant_(found.grant),
      registers_sources_(registers_sources(found)),
      text_addresses_(found.info->addr_format == FI_ADDR_STR),
      small_keys_(found.profile.small_keys),
      seals_(has_secret_keys(found) && found.grant.immediate_bytes >= sizeof(std::uint64_t)),
      writes_empty_(found.profile.writes_empty),
      endpoint_file_(found.profile.endpoint_file),
      unsignaled_max_(found.profile.unsignaled_small_puts ? kUnsignaledPuts : 0),
      in_flight_per_peer_max_(static_cast<std::uint32_t>(per_peer(options))),
      peers_(static_cast<std::size_t>(options.size)),
      transfers_(options.puts_in_flight),
      staged_bytes_max_(staged_bytes_max(found)) {
    if (facts_.copied_bytes != 0)  // not initialized, so unused pages cost nothing
        copies_.reset(new std::byte[transfers_.size() * copy_stride()]);
    for (Transfer& transfer : transfers_) {
        transfer.next = free_;
        free_ = &transfer;
    }
}

base::Result<void> Port::open_endpoint(const fi_info& offer, const FabricOptions& options) {
    fi_info& info = const_cast<fi_info&>(offer);  // libfabric takes non-const, but only reads
    const auto size = static_cast<std::size_t>(options.size);
    fid_fabric* fabric = nullptr;
    int code = fi_fabric(info.fabric_attr, &fabric, nullptr);
    if (code != 0) return refused("fi_fabric", code);
    fabric_.reset(fabric);

    fid_domain* domain = nullptr;
    code = fi_domain(fabric_.get(), &info, &domain, nullptr);
    if (code != 0) return refused("fi_domain", code);
    domain_.reset(domain);

    fi_av_attr address_attributes{};
    address_attributes.type = FI_AV_TABLE;
    address_attributes.count = size;
    fid_av* addresses = nullptr;
    code = fi_av_open(domain_.get(), &address_attributes, &addresses, nullptr);
    if (code != 0) return refused(fmt::format("fi_av_open for {} ranks", size), code);
    addresses_.reset(addresses);

    fi_cq_attr queue_attributes{};
    // For each counted put, several unsignaled puts may be in flight.
    const std::size_t puts_per_peer = per_peer(options) * (1 + unsignaled_max_);
    queue_attributes.size = options.puts_in_flight + std::max(size * puts_per_peer, kArrivalsMin);
    queue_attributes.format = FI_CQ_FORMAT_DATA;
    queue_attributes.wait_obj = FI_WAIT_NONE;
    fid_cq* completions = nullptr;
    code = fi_cq_open(domain_.get(), &queue_attributes, &completions, nullptr);
    if (code != 0) {
        return refused(fmt::format("fi_cq_open with {} entries", queue_attributes.size), code);
    }
    completions_.reset(completions);

    fid_ep* endpoint = nullptr;
    code = fi_endpoint(domain_.get(), &info, &endpoint, nullptr);
    if (code != 0) return refused("fi_endpoint", code);
    endpoint_.reset(endpoint);
    code = fi_ep_bind(endpoint_.get(), &addresses_->fid, 0);
    if (code != 0) return refused("fi_ep_bind of the address vector", code);
    code = fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV);
    if (code != 0) return refused("fi_ep_bind of the completion queue", code);
    if (auto enabled = enable(options); !enabled) return enabled;
    if (!grant_.consumes_receives) return {};
    const std::size_t arrivals = queue_attributes.size - options.puts_in_flight;
    return post_receives(std::min(arrivals, info.rx_attr->size));
}

base::Result<void> Port::enable(const FabricOptions& options) {
    if (endpoint_file_.bytes != 0) return enable_with_file(options);
    const int code = fi_enable(endpoint_.get());
    if (code != 0) return refused("fi_enable", code);
    return {};
}

/// Enables an endpoint with a file. The provider would choose a name by process number, and SIGBUS
/// would end the process if the folder is full.
base::Result<void> Port::enable_with_file(const FabricOptions& options) {
    if (options.meet) {
        if (auto met = options.meet(); !met) return met;
    }
    const base::SharedFolder folder;
    folder.remove_unused();
    if (folder.room() < endpoint_file_.bytes) {
        return base::fail(Status::memory,
                          "/dev/shm has room for {} bytes, and an endpoint of provider \"{}\" "
                          "takes {}: make it larger, or set WEFT_PROVIDER to another one",
                          folder.room(), facts_.provider, endpoint_file_.bytes);
    }
    auto file = base::SharedFile::reserve(options.processes);
    if (!file) return file.failure();
    file_ = *std::move(file);
    std::string name = fmt::format("{}{}", endpoint_file_.prefix, file_.name());
    int code = fi_setname(&endpoint_->fid, name.data(), name.size() + 1);
    if (code != 0) return refused("fi_setname", code);
    code = fi_enable(endpoint_.get());
    if (code != 0) return refused("fi_enable", code);
    return file_.adopt();
}

/// Posts a receive for each immediate that may wait to be polled. poll() posts it again.
base::Result<void> Port::post_receives(std::size_t count) {
    receives_.resize(std::max<std::size_t>(count, 1));
    receives_missing_ = receives_.size();
    renew_receives();
    if (failure_) return *failure_;
    return {};
}

base::Result<Fid<fid_mr>> Port::register_region(std::span<std::byte> region, std::uint64_t access,
                                                std::size_t key) {
    fid_mr* handle = nullptr;
    int code = fi_mr_reg(domain_.get(), region.data(), region.size(), access, 0, keys_[key], 0,
                         &handle, nullptr);
    if (code != 0)
        return refused(
            fmt::format("fi_mr_reg of {} bytes, of which memory may have to be pinned; {}",
                        region.size(), pinned_limit()),
            code);
    Fid<fid_mr> owned(handle);
    if (grant_.endpoint_registration) {
        code = fi_mr_bind(handle, &endpoint_->fid, 0);
        if (code != 0) return refused("fi_mr_bind to the endpoint", code);
        code = fi_mr_enable(handle);
        if (code != 0) return refused("fi_mr_enable", code);
    }
    return owned;
}

base::Result<void> Port::draw_keys(std::size_t count) {
    auto keys =
        link::draw_keys(count, grant_.provider_keys ? 0 : grant_.key_bytes, small_keys_, keys_);
    if (!keys) return keys.failure();
    keys_ = std::move(keys).value();
    return {};
}

base::Result<void> Port::register_all() {
    if (auto done = register_section(0); !done) return done;

    auto landing = register_region(landing_, FI_REMOTE_WRITE, kLandingKey);
    if (!landing) return landing.failure();
    landing_region_ = std::move(landing).value();

    if (!facts_.stages_sources) return {};
    staging_ = std::make_unique<Staging>();
    if (staging_->memory().empty()) {
        return base::fail(Status::memory, "no memory for staging puts ({} bytes)",
                          Staging::kBuffers * Staging::kBufferBytes);
    }
    auto staged = register_region(staging_->memory(), FI_READ | FI_WRITE, kStagingKey);
    if (!staged) return staged.failure();
    staging_region_ = std::move(staged).value();
    facts_.registered_bytes += staging_->memory().size();
    staging_desc_ = fi_mr_desc(staging_region_.get());
    if (!registers_sources_) return {};
    sources_.resize(keys_.size() - kFirstSourceKey);
    for (std::size_t source = sources_.size(); source-- > 0;) free_sources_.push_back(source);
    return {};
}

RemoteRegion Port::remote_view(std::span<const std::byte> region, fid_mr& handle) const {
    const auto base = reinterpret_cast<std::uintptr_t>(region.data());
    return {grant_.virtual_addresses ? base : 0, region.size(), fi_mr_key(&handle)};
}

base::Result<RemoteRegion> Port::expose(std::span<std::byte> memory) {
    if (endpoint_ == nullptr)
        return base::fail(Status::peer, "the endpoint was closed after a failure");
    if (free_keys_.empty()) {
        if (auto drawn = draw_keys(keys_.size() + 1); !drawn) return drawn.failure();
        free_keys_.push_back(keys_.size() - 1);
    }
    auto handle = register_region(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, free_keys_.back());
    if (!handle) return handle.failure();
    const RemoteRegion region = remote_view(memory, **handle);
    if (region.key == FI_KEY_NOTAVAIL)
        return refused("fi_mr_key: no key that fits 8 bytes", -FI_EKEYREJECTED);
    exposed_.push_back({std::move(handle).value(), free_keys_.back()});
    free_keys_.pop_back();
    return region;
}

void Port::conceal(const RemoteRegion& region) noexcept {
    const auto found = std::ranges::find_if(exposed_, [&](const Exposed& exposed) {
        return fi_mr_key(exposed.handle.get()) == region.key;
    });
    if (found == exposed_.end()) return;  // closed after a failure
    free_keys_.push_back(found->key);
    exposed_.erase(found);
}

base::Result<void> Port::make_card() {
    std::array<std::byte, 512> name{};
    std::size_t name_bytes = name.size();
    const int code = fi_getname(&endpoint_->fid, name.data(), &name_bytes);
    if (code != 0) return refused("fi_getname", code);
    address_bytes_ = name_bytes;
    const PortCard card{provider_hash(facts_.provider),
                        notify_code(facts_.notify),
                        remote_view({memory_.base, memory_.bytes}, *sections_.front().region),
                        remote_view(landing_, *landing_region_),
                        {name.data(), name_bytes}};
    if (card.memory.key == FI_KEY_NOTAVAIL || card.landing.key == FI_KEY_NOTAVAIL) {
        return refused("fi_mr_key: no key that fits 8 bytes", -FI_EKEYREJECTED);
    }
    own_seal_ = seal_of(card.landing.key);
    card_ = encode_card(card);
    return {};
}

base::Result<std::unique_ptr<Port>> Port::open(const FabricMemory& memory,
                                               const FabricOptions& options, const Found& found) {
    WEFT_CHECK(options.rank >= 0 && options.rank < options.size, options.rank, options.size);
    WEFT_CHECK(memory.base != nullptr && memory.bytes > 0, memory.bytes);
    if (options.puts_in_flight == 0 || options.puts_in_flight_per_peer == 0) {
        return base::fail(Status::argument,
                          "puts in flight: {} in all and {} per peer; at least 1 is expected",
                          options.puts_in_flight, options.puts_in_flight_per_peer);
    }
    Profile named = found.profile;  // its provider may be empty: any
    named.provider = found.info->fabric_attr->prov_name;
    const auto notify = choose_notify(named, found.grant, options.notify);
    if (!notify) return notify.failure();
    std::unique_ptr<Port> port(new Port(memory, options, found, *notify,
                                        choose_completion(named, found.grant, options.notify)));
    if (auto opened = port->open_endpoint(*found.info, options); !opened) {
        if (found.source.text.empty()) return opened.failure();
        return opened.failure().within(
            fmt::format("local address {} ({} WEFT_FABRIC_ADDRESS)", found.source.text,
                        found.source.forced ? "named by" : "to name another, set"));
    }
    const bool few_keys = found.profile.small_keys && !found.grant.provider_keys;
    if (auto drawn =
            port->draw_keys(kFirstSourceKey + (few_keys ? kSourcesWithSmallKeys : kSources));
        !drawn)
        return drawn.failure();
    port->make_sections(found.profile.reads && port->facts_.counters == 0);
    // Unused keys of sections serve exposed memory, because small keys are fast.
    for (std::size_t key = kFirstSectionKey + port->sections_.size(); key < kFirstSourceKey; ++key)
        port->free_keys_.push_back(key);
    if (auto done = port->register_all(); !done) return done.failure();
    if (auto done = port->open_counters(options.rank); !done) return done.failure();
    if (auto done = port->make_card(); !done) return done.failure();
    port->facts_.late_settings = late_settings(found, options);
    return port;
}

base::Result<std::unique_ptr<FabricPort>> open_port(const FabricMemory& memory,
                                                    const FabricOptions& options) {
    auto found = discover(options);
    if (!found) return found.failure();
    auto port = Port::open(memory, options, *found);
    if (!port) return port.failure();
    return std::unique_ptr<FabricPort>(std::move(port).value());
}

}  // namespace weft::link
