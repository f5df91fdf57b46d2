// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/port.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/copy.hpp"

namespace weft::link {
namespace {

constexpr std::size_t kBatch = 16;  // largest number of completions read by one call
constexpr auto kDrainLimit = std::chrono::seconds(2);  // longest wait when a port is closed

}  // namespace

Port::Port(const FabricMemory& memory, const FabricOptions& options, const Found& found,
           FabricFacts facts, Endpoint endpoint)
    : facts_(std::move(facts)),
      rank_(options.rank),
      text_addresses_(found.info->addr_format == FI_ADDR_STR),
      seals_(found.grant, found.profile),
      writes_empty_(found.profile.writes_empty),
      unsignaled_max_(found.profile.unsignaled_small_puts ? kUnsignaledPuts : 0),
      in_flight_per_peer_max_(static_cast<std::uint32_t>(puts_per_peer(options))),
      more_flag_(found.profile.batches_posts ? FI_MORE : 0),
      transfers_(options.puts_in_flight,
                 std::max(facts_.copied_bytes + sizeof(base::FlagWord), kCopiedBytesMax)),
      endpoint_(std::move(endpoint)),
      regions_(endpoint_, memory, found.grant, found.profile.small_keys),
      peers_(endpoint_, regions_, static_cast<std::size_t>(options.size),
             found.grant.virtual_addresses, facts_.endpoint_file) {}

base::Result<void> Port::start(std::size_t receives) {
    if (receives != 0) {
        receives_.resize(receives);
        check_receives(receives_.post_missing(*endpoint_.handle));
        if (failures_.port) return *failures_.port;
    }
    WEFT_TRY(regions_.open(facts_.remote.reads && facts_.counters == 0));
    if (facts_.counters != 0)
        WEFT_TRY(regions_.open_counters(rank_, peers_.size(), facts_.counters));
    facts_.registered_bytes = regions_.registered_bytes();
    const auto name = WEFT_TRY(endpoint_.name());
    const PortCard card{.provider = provider_hash(facts_.provider),
                        .notify = notify_code(facts_.notify),
                        .memory = regions_.memory_view(),
                        .landing = regions_.landing_view(),
                        .endpoint = name,
                        .section_keys = regions_.section_keys()};
    seals_.set_own(card.landing.key);
    card_ = encode_card(card);
    return {};
}

Port::~Port() {
    // libfabric may read a source until its put is complete. Peers may have ended, so the wait is
    // limited. Closing the endpoint cancels incomplete transfers.
    const auto deadline = std::chrono::steady_clock::now() + kDrainLimit;
    std::array<std::uint64_t, kBatch> ignored{};
    while (in_flight() > 0 && failure() == nullptr && std::chrono::steady_clock::now() < deadline)
        static_cast<void>(poll(ignored));
}

// --- peers ---------------------------------------------------------------------------------------

void Port::set_peer(Rank rank, std::span<const std::byte> address) {
    WEFT_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < peers_.size(), rank, peers_.size());
    const auto card = accept_card(rank, address, card_, facts_.provider, text_addresses_);
    if (!card) return failures_.store(card.failure());
    peers_.set(rank, *card);
    if (facts_.endpoint_file) static_cast<void>(ready(peers_[rank], rank));  // maps the peer's file
}

bool Port::warm(Rank rank) noexcept {
    RemotePort& peer = peers_[rank];
    if (peer.warm || peer.lost) return true;
    if (!ready(peer, rank)) return false;
    peer.warm = post(peer, rank, empty_write(peer, FI_INJECT)) == base::Post::posted;
    return peer.warm;
}

// --- memory --------------------------------------------------------------------------------------

base::Result<void> Port::use_memory(std::uint64_t offset, std::uint64_t bytes) {
    if (endpoint_.handle == nullptr) return {};
    auto done = regions_.use_memory(offset, bytes);
    facts_.registered_bytes = regions_.registered_bytes();
    return done;
}

base::Result<RemoteRegion> Port::expose_as(std::span<std::byte> memory,
                                           std::optional<std::uint64_t> key) {
    if (endpoint_.handle == nullptr)
        return base::fail(Status::peer, "the endpoint was closed after a failure");
    return regions_.expose(memory, key);
}

// --- writes --------------------------------------------------------------------------------------

base::Post Port::try_put(const base::Put& put) noexcept {
    RemotePort& peer = peers_[put.peer];
    if (!ready(peer, put.peer)) [[unlikely]]
        return peer.lost ? base::Post::posted : base::Post::again;
    if (put.bytes == 0) {
        WEFT_CHECK(put.kind == PutKind::with_immediate, put.peer, static_cast<int>(put.kind));
        return inject(peer, put.peer, empty_write(peer, FI_REMOTE_CQ_DATA, put.immediate));
    }
    WEFT_CHECK(put.bytes <= facts_.message_bytes_max, put.bytes, facts_.message_bytes_max);
    auto target = target_of(peer, put.peer, put.region, put.target, put.bytes);
    if (!target) [[unlikely]]
        return base::Post::again;
    if (put.counter != base::Put::kNoCounter)
        target->key = counted_key(peer.memory.key, static_cast<std::uint64_t>(rank_), put.counter);
    if (put.cell != base::Put::kNoCell) return put_flagged(peer, *target, put);
    const base::PutPart& source = put.parts.front();
    RdmaWrite write{.source = source.data,
                    .bytes = source.bytes,
                    .target = *target,
                    .flags = flags_of(put.kind) | (put.more ? more_flag(peer) : 0),
                    .immediate = put.immediate};
    const bool copied_at_once = put.kind == PutKind::plain || put.kind == PutKind::with_immediate;
    if (copied_at_once && put.bytes <= facts_.inject_bytes) return inject(peer, put.peer, write);
    write.pending = put.pending;
    if (!regions_.registers_sources()) {
        if (!has_room(peer)) return base::Post::again;
        WEFT_CHECK(!put.copied || put.bytes <= kCopiedBytesMax, put.bytes, kCopiedBytesMax);
        if (put.copied) write.source = transfers_.copy(put);
        return post(peer, put.peer, write);
    }
    if (fid_mr* const region = regions_.region_of(source.data, source.bytes)) {
        write.desc = fi_mr_desc(region);
        return post(peer, put.peer, write);
    }
    return post_unregistered(peer, put.peer, write, copied_at_once);
}

/// Writes payload and flag. Small payloads are copied at once, by libfabric or by this function.
base::Post Port::put_flagged(RemotePort& peer, const RemoteTarget& target,
                             const base::Put& put) noexcept {
    WEFT_CHECK(put.kind == PutKind::with_immediate, put.peer, static_cast<int>(put.kind));
    const auto flag =
        target_of(peer, put.peer, nullptr, put.cell + base::kCellDelivered, sizeof put.flag);
    if (!flag || !has_room(peer)) return base::Post::again;
    Transfer& transfer = *transfers_.next();
    const bool injected = put.bytes + sizeof put.flag <= facts_.inject_bytes;
    const bool copied_at_once = injected || put.bytes <= facts_.copied_bytes;
    std::array<iovec, kSourceParts> sources;
    std::size_t count = 0;
    if (put.bytes <= facts_.copied_bytes) {
        std::byte* const copy = transfers_.copy(put);
        std::memcpy(copy + put.bytes, &put.flag, sizeof put.flag);
        sources[count++] = {copy, put.bytes + sizeof put.flag};
    } else {
        for (const base::PutPart& part : put.parts) {
            WEFT_CHECK(count < facts_.flagged_parts_max, count, put.peer);
            if (part.bytes != 0) sources[count++] = {const_cast<std::byte*>(part.data), part.bytes};
        }
        transfer.flag = put.flag;
        sources[count++] = {&transfer.flag, sizeof transfer.flag};
    }
    const std::array targets{fi_rma_iov{target.address, put.bytes, target.key},
                             fi_rma_iov{flag->address, sizeof put.flag, flag->key}};
    fi_msg_rma message{.msg_iov = sources.data(),
                       .iov_count = count,
                       .rma_iov = targets.data(),
                       .rma_iov_count = targets.size(),
                       .data = seals_.add(put.immediate, peer.seal)};
    const std::uint64_t flags = FI_REMOTE_CQ_DATA | (injected ? FI_INJECT : 0U);
    std::uint32_t* const pending = copied_at_once ? nullptr : put.pending;
    return post_message(peer, put.peer, message, flags, put.bytes, pending) != nullptr
               ? base::Post::posted
               : base::Post::again;
}

/// Returns a write without data or, if the provider requires data, of one byte to the landing.
RdmaWrite Port::empty_write(const RemotePort& peer, std::uint64_t flags,
                            std::uint64_t immediate) const noexcept {
    return {.source = regions_.landing(),
            .bytes = writes_empty_ ? 0U : 1U,
            .target = {peer.landing.base, peer.landing.key},
            .flags = flags,
            .immediate = immediate};
}

/// Posts a write whose source is copied at once.
base::Post Port::inject(RemotePort& peer, Rank rank, const RdmaWrite& write) noexcept {
    if (peer.unsignaled >= unsignaled_max_) {
        RdmaWrite reporting = write;
        reporting.flags |= FI_INJECT;
        const base::Post posted = post(peer, rank, reporting);
        if (posted == base::Post::posted) peer.unsignaled = 0;
        return posted;
    }
    fid_ep* const endpoint = endpoint_.handle.get();
    const bool with_immediate = (write.flags & FI_REMOTE_CQ_DATA) != 0;
    const ssize_t code =
        with_immediate ? fi_inject_writedata(endpoint, write.source, write.bytes,
                                             seals_.add(write.immediate, peer.seal), peer.address,
                                             write.target.address, write.target.key)
                       : fi_inject_write(endpoint, write.source, write.bytes, peer.address,
                                         write.target.address, write.target.key);
    const base::Post posted = record_post(code, write.bytes, rank);
    if (posted == base::Post::posted) ++peer.unsignaled;
    return posted;
}

/// Posts a write whose source must be in registered memory and is not. Copies a small source to a
/// registered buffer. Registers a large source for this put only.
base::Post Port::post_unregistered(RemotePort& peer, Rank rank, RdmaWrite write,
                                   bool copied_at_once) noexcept {
    if (!has_room(peer)) return base::Post::again;
    if (write.bytes <= Regions::kBufferBytes) {
        if (copied_at_once) write.pending = nullptr;  // the caller may reuse its source now
        write.staged = regions_.take_buffer();
        if (write.staged == nullptr) return base::Post::again;
        base::copy_bytes(write.staged, write.source, write.bytes);
        write.source = write.staged;
        write.desc = regions_.buffer_desc();
    } else {
        write.registered = regions_.register_source(
            {const_cast<std::byte*>(write.source), write.bytes}, failures_.port);
        if (write.registered == Regions::kNoSource) return base::Post::again;
        write.desc = regions_.source_desc(write.registered);
    }
    const base::Post posted = post(peer, rank, write);
    if (posted != base::Post::posted) regions_.give_back(write.staged, write.registered);
    return posted;
}

base::Post Port::post(RemotePort& peer, Rank rank, const RdmaWrite& write) noexcept {
    if (!has_room(peer)) return base::Post::again;
    // libfabric's types are not const, but it does not write to sources.
    const iovec source{const_cast<std::byte*>(write.source), write.bytes};
    const fi_rma_iov target{write.target.address, write.bytes, write.target.key};
    void* desc = write.desc;
    fi_msg_rma message{.msg_iov = &source,
                       .desc = &desc,
                       .iov_count = 1,
                       .rma_iov = &target,
                       .rma_iov_count = 1,
                       .data = seals_.add(write.immediate, peer.seal)};
    Transfer* const transfer =
        post_message(peer, rank, message, write.flags, write.bytes, write.pending);
    if (transfer == nullptr) return base::Post::again;
    transfer->staged = write.staged;
    transfer->source = write.registered;
    return base::Post::posted;
}

/// Posts a write with the next transfer of the pool. Returns nullptr if libfabric refuses it.
Transfer* Port::post_message(RemotePort& peer, Rank rank, fi_msg_rma& message, std::uint64_t flags,
                             std::size_t bytes, std::uint32_t* pending) noexcept {
    message.addr = peer.address;
    message.context = &transfers_.next()->context;
    const ssize_t code = fi_writemsg(endpoint_.handle.get(), &message, flags | FI_COMPLETION);
    if (record_post(code, bytes, rank) != base::Post::posted) return nullptr;
    held_peer_ = (flags & FI_MORE) != 0 ? rank : -1;
    ++peer.in_flight;
    return &transfers_.take(rank, bytes, pending);
}

/// Posts an empty write, so that the network starts the writes that it holds (FI_MORE).
void Port::release_held() noexcept {
    RemotePort& peer = peers_[held_peer_];
    static_cast<void>(post(peer, held_peer_, empty_write(peer, FI_INJECT)));
}

/// Counts a posted write, or stores a failure, by libfabric's return code. Returns the outcome.
/// bytes, rank: size and peer of the transfer, for the failure's text.
base::Post Port::record_post(ssize_t code, std::size_t bytes, Rank rank, bool reads) noexcept {
    if (code == 0) {
        writes_ += reads ? 0 : 1;
        return base::Post::posted;
    }
    if (code != -FI_EAGAIN) {
        const auto what = fmt::format("{} of {} bytes {} rank {}", reads ? "read" : "write", bytes,
                                      reads ? "from" : "to", rank);
        failures_.store(rank, {Status::peer, endpoint_.failure(what, code).text});
    }
    return base::Post::again;
}

// --- reads ---------------------------------------------------------------------------------------

base::Post Port::try_read(const base::Read& read) noexcept {
    RemotePort& peer = peers_[read.peer];
    if (!ready(peer, read.peer)) [[unlikely]]
        return peer.lost ? base::Post::posted : base::Post::again;
    WEFT_CHECK(read.bytes > 0 && read.bytes <= facts_.get_bytes_max, read.bytes,
               facts_.get_bytes_max);
    const auto from = target_of(peer, read.peer, read.region, read.source, read.bytes);
    return from ? post_read(peer, *from, read) : base::Post::again;
}

base::Post Port::post_read(RemotePort& peer, const RemoteTarget& from,
                           const base::Read& read) noexcept {
    if (!has_room(peer)) return base::Post::again;
    std::byte* into = read.into;
    void* desc = nullptr;
    std::byte* staged = nullptr;
    if (regions_.registers_sources()) {
        if (fid_mr* const region = regions_.region_of(read.into, read.bytes)) {
            desc = fi_mr_desc(region);
        } else {
            into = staged = regions_.take_buffer();
            if (staged == nullptr) return base::Post::again;
            desc = regions_.buffer_desc();
        }
    }
    const ssize_t code = fi_read(endpoint_.handle.get(), into, read.bytes, desc, peer.address,
                                 from.address, from.key, &transfers_.next()->context);
    if (record_post(code, read.bytes, read.peer, /*reads=*/true) != base::Post::posted) {
        regions_.give_back(staged, Regions::kNoSource);
        return base::Post::again;
    }
    ++peer.in_flight;
    Transfer& transfer = transfers_.take(read.peer, read.bytes, read.pending);
    transfer.staged = staged;
    transfer.into = staged != nullptr ? read.into : nullptr;
    return base::Post::posted;
}

// --- completions ---------------------------------------------------------------------------------

void Port::lose(Rank rank) noexcept {
    RemotePort& peer = peers_[rank];
    if (peer.lost) return;
    peer.lost = true;
    peer.address = FI_ADDR_UNSPEC;
    peer.endpoint.clear();
    if (held_peer_ == rank) held_peer_ = -1;
    if (endpoint_.handle == nullptr) return;  // cancel() has ended all transfers
    for (Transfer& transfer : transfers_.all()) {
        if (!transfer.in_use || transfer.lost || transfer.peer != rank) continue;
        transfer.into = nullptr;
        if (transfer.failed)
            finish(transfer);
        else
            transfers_.lose(transfer);
    }
    failures_.drop(rank);
}

void Port::cancel() noexcept {
    if (endpoint_.handle == nullptr) return;
    failures_.store(base::fail(Status::peer, "the endpoint was closed after a failure"));
    transfers_.cancel();
    regions_.close();
    endpoint_.handle.reset();
}

void Port::finish(Transfer& transfer) noexcept {
    if (transfer.into != nullptr) base::copy_bytes(transfer.into, transfer.staged, transfer.bytes);
    regions_.give_back(transfer.staged, transfer.source);
    --peers_[transfer.peer].in_flight;
    transfers_.release(transfer);
}

std::size_t Port::poll(std::span<std::uint64_t> immediates) noexcept {
    if (endpoint_.handle == nullptr) [[unlikely]]
        return 0;
    if (receives_.any_missing()) [[unlikely]]
        check_receives(receives_.post_missing(*endpoint_.handle));
    if (held_peer_ >= 0) [[unlikely]]
        release_held();
    std::size_t arrived = 0;
    while (arrived < immediates.size()) {
        std::array<fi_cq_data_entry, kBatch> entries;
        const std::size_t room = std::min(kBatch, immediates.size() - arrived);
        const ssize_t got = fi_cq_read(endpoint_.completions.get(), entries.data(), room);
        if (got == -FI_EAGAIN) break;
        if (got < 0) [[unlikely]] {
            handle_error(got);
            break;
        }
        const auto count = static_cast<std::size_t>(got);
        arrived += handle_entries({entries.data(), count}, immediates.subspan(arrived));
        if (count < room) break;
    }
    return arrived;
}

/// Ends completed transfers, and stores immediates of peers. Returns the number of immediates.
std::size_t Port::handle_entries(std::span<const fi_cq_data_entry> entries,
                                 std::span<std::uint64_t> immediates) noexcept {
    std::size_t arrived = 0;
    for (const fi_cq_data_entry& entry : entries) {
        // FI_REMOTE_CQ_DATA does not identify immediates: some providers also set it in the
        // sender's completions. Only entries of peers' writes have FI_REMOTE_WRITE, and only
        // completions have the context of a transfer.
        Transfer* transfer =
            (entry.flags & FI_REMOTE_WRITE) != 0 ? nullptr : transfers_.find(entry.op_context);
        if (transfer != nullptr) {
            finish(*transfer);
        } else if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
            if (!receives_.empty())
                check_receives(receives_.renew(*endpoint_.handle, entry.op_context));
            if (seals_.accepts(entry.data))
                immediates[arrived++] = seals_.remove(entry.data);
            else  // a process outside the job guesses seals; the delay limits its attempts
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return arrived;
}

/// Stores the failure that fi_cq_read() has reported with `code`. A failed transfer stays in flight
/// for its caller until lose() or cancel(), because its data is neither delivered nor read.
void Port::handle_error(ssize_t code) noexcept {
    if (code != -FI_EAVAIL) return failures_.store(endpoint_.failure("fi_cq_read", code));
    const auto failed = endpoint_.read_error();
    if (!failed) return failures_.store(failed.failure());
    if (failed->text.empty()) return;
    Transfer* const transfer = transfers_.find(failed->context);
    const auto failure =
        base::fail(Status::peer, "{} failed: {}", described(*failed, transfer), failed->text);
    if (transfer == nullptr) return failures_.store(PortFailures::kUnknownPeer, failure);
    if (transfer->lost || peers_[transfer->peer].lost) return finish(*transfer);
    transfer->failed = true;
    failures_.store(transfer->peer, failure);
}

}  // namespace weft::link
