// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/port.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "base/copy.hpp"
#include "link/fabric/keys.hpp"

namespace weft::link {
namespace {

constexpr std::size_t kBatch = 16;  // completions read at once
constexpr auto kDrainLimit = std::chrono::seconds(2);

std::uint64_t flags_of(PutKind kind) {
    switch (kind) {
        case PutKind::with_immediate:
            return FI_REMOTE_CQ_DATA;
        case PutKind::delivered:
            return FI_DELIVERY_COMPLETE;
        case PutKind::fenced:
            return FI_FENCE | FI_DELIVERY_COMPLETE;
        case PutKind::plain:
            break;
    }
    return 0;
}

}  // namespace

Port::~Port() {
    // Completions release sources that libfabric still reads. Peers may have ended, so the wait is
    // limited. Closing the endpoint cancels the rest.
    const auto deadline = std::chrono::steady_clock::now() + kDrainLimit;
    std::array<std::uint64_t, kBatch> ignored{};
    while (in_flight_ > 0 && failure_ == std::nullopt &&
           std::chrono::steady_clock::now() < deadline) {
        static_cast<void>(poll(ignored));
    }
}

void Port::set_peer(Rank rank, std::span<const std::byte> address) {
    WEFT_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < peers_.size(), rank, peers_.size());
    const auto card = decode_card(address);
    if (!card) return fail(card.failure().within(fmt::format("rank {}", rank)));
    if (card->provider != provider_hash(facts_.provider)) {
        return fail(base::fail(Status::environment,
                               "rank {} uses another libfabric provider than this rank, which uses "
                               "\"{}\": set WEFT_PROVIDER to the same value on all ranks",
                               rank, facts_.provider));
    }
    if (card->notify != notify_code(facts_.notify)) {
        return fail(base::fail(Status::environment,
                               "rank {} uses another notify strategy than this rank, which uses {} "
                               "(provider \"{}\"): set WEFT_NOTIFY to the same value on all ranks",
                               rank, to_text(facts_.notify), facts_.provider));
    }
    const std::span<const std::byte> endpoint = card->endpoint;
    const bool whole = text_addresses_ ? !endpoint.empty() && endpoint.back() == std::byte{0}
                                       : endpoint.size() == address_bytes_;
    if (!whole || card->memory.bytes < memory_.bytes || card->landing.bytes < sizeof landing_)
        return fail(
            base::fail(Status::peer,
                       "rank {} has a fabric address of {} bytes, {} bytes of memory and {} "
                       "for empty puts; this rank has {}, {} and {}",
                       rank, endpoint.size(), card->memory.bytes, card->landing.bytes,
                       address_bytes_, memory_.bytes, sizeof landing_));
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    peer.memory = card->memory;
    peer.landing = card->landing;
    peer.seal = seal_of(card->landing.key);
    peer.endpoint.assign(card->endpoint.begin(), card->endpoint.end());
    peer.address = FI_ADDR_UNSPEC;
    peer.warm = false;
    peer.known = true;
    if (facts_.endpoint_file) static_cast<void>(resolve(peer, rank));  // maps the peer's file
}

bool Port::resolve(Peer& peer, Rank rank) noexcept {
    if (failure_ && !peer.known) return false;
    WEFT_CHECK(peer.known, rank);
    if (peer.address != FI_ADDR_UNSPEC) return true;
    if (peer.endpoint.empty()) return false;  // refused before; failure() has the reason
    fi_addr_t address = FI_ADDR_UNSPEC;
    const int inserted =
        fi_av_insert(addresses_.get(), peer.endpoint.data(), 1, &address, 0, nullptr);
    std::vector<std::byte>().swap(peer.endpoint);
    if (inserted != 1) {
        auto why = refused(fmt::format("fi_av_insert of the address of rank {}", rank),
                           inserted < 0 ? inserted : -FI_EINVAL);
        if (facts_.endpoint_file) why.status = Status::peer;  // a rank's end has removed its file
        fail(std::move(why));
        return false;
    }
    peer.address = address;
    return true;
}

bool Port::warm(Rank rank) noexcept {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (peer.warm) return true;
    if (endpoint_ == nullptr) return false;
    if (!resolve(peer, rank)) return false;
    // An empty write without an immediate, which the peer does not notice.
    const RdmaWrite write{.source = landing_,
                          .bytes = writes_empty_ ? 0U : 1U,
                          .target = peer.landing.base,
                          .key = peer.landing.key,
                          .flags = FI_INJECT};
    peer.warm = post(peer, rank, write) == base::Post::posted;
    return peer.warm;
}

base::Post Port::try_put(const base::Put& put) noexcept {
    if (endpoint_ == nullptr) [[unlikely]]
        return base::Post::again;
    Peer& peer = peers_[static_cast<std::size_t>(put.peer)];
    if (peer.address == FI_ADDR_UNSPEC) [[unlikely]] {
        if (!resolve(peer, put.peer)) return base::Post::again;
    }
    if (put.bytes == 0) return put_empty(peer, put);
    WEFT_CHECK(put.bytes <= facts_.message_bytes_max, put.bytes, facts_.message_bytes_max);
    auto place = put.region != nullptr ? place_in(*put.region, put.target, put.bytes)
                                       : place_of(peer, put.peer, put.target, put.bytes);
    if (!place) [[unlikely]]
        return base::Post::again;
    if (put.counter != base::Put::kNoCounter)
        place->key = counted_key(peer.memory.key, static_cast<std::uint64_t>(rank_), put.counter);
    if (put.cell != base::Put::kNoCell) return put_flagged(peer, *place, put);
    const base::PutPart& source = put.parts.front();
    RdmaWrite write{.source = source.data,
                    .bytes = source.bytes,
                    .target = place->address,
                    .key = place->key,
                    .flags = flags_of(put.kind),
                    .immediate = put.immediate};
    const bool copied_at_once = put.kind == PutKind::plain || put.kind == PutKind::with_immediate;
    if (copied_at_once && put.bytes <= facts_.inject_bytes) return inject(peer, put.peer, write);
    write.pending = put.pending;
    if (staging_ == nullptr) return post(peer, put.peer, write);
    if (fid_mr* const region = region_of(source.data, source.bytes)) {
        write.desc = fi_mr_desc(region);
        return post(peer, put.peer, write);
    }
    return post_unregistered(peer, put.peer, write, copied_at_once);
}

// --- kinds of writes -----------------------------------------------------------------------------

base::Post Port::post_unregistered(Peer& peer, Rank rank, const RdmaWrite& write,
                                   bool copied_at_once) noexcept {
    if (write.bytes > staged_bytes_max_) return post_registered(peer, rank, write);
    RdmaWrite copy = write;
    if (copied_at_once) copy.pending = nullptr;  // the caller may reuse its source after the copy
    return post_staged(peer, rank, copy);
}

/// Registers the source for this put only.
base::Post Port::post_registered(Peer& peer, Rank rank, RdmaWrite write) noexcept {
    if (free_ == nullptr || free_sources_.empty() || peer.in_flight >= in_flight_per_peer_max_)
        return base::Post::again;
    const std::size_t source = free_sources_.back();
    auto region = register_region({const_cast<std::byte*>(write.source), write.bytes}, FI_WRITE,
                                  kFirstSourceKey + source);
    if (!region) {
        // Pinned memory is limited; the end of other transfers frees some.
        if (free_sources_.size() == sources_.size()) fail(region.failure());
        return base::Post::again;
    }
    write.desc = fi_mr_desc(region->get());
    write.registered = source;
    const base::Post posted = post(peer, rank, write);
    if (posted != base::Post::posted) return posted;
    sources_[source] = std::move(region).value();
    free_sources_.pop_back();
    return posted;
}

void Port::release_source(std::size_t source) noexcept {
    sources_[source].reset();
    free_sources_.push_back(source);
}

/// Posts a receive again that an immediate has consumed.
void Port::renew_receive(void* context) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(context);
    const auto first = reinterpret_cast<std::uintptr_t>(receives_.data());
    if (address < first || address - first >= receives_.size() * sizeof(Receive)) return;
    auto& receive = *static_cast<Receive*>(context);
    const ssize_t code =
        fi_recv(endpoint_.get(), nullptr, 0, nullptr, FI_ADDR_UNSPEC, &receive.context);
    const bool refused_now = code != 0;
    receives_missing_ += refused_now && receive.posted ? 1U : 0U;
    receives_missing_ -= !refused_now && !receive.posted ? 1U : 0U;
    receive.posted = !refused_now;
    if (refused_now && code != -FI_EAGAIN) fail(refused("fi_recv", static_cast<int>(code)));
}

void Port::renew_receives() noexcept {
    for (Receive& receive : receives_) {
        if (!receive.posted) renew_receive(&receive);
    }
}

base::Post Port::put_empty(Peer& peer, const base::Put& put) noexcept {
    WEFT_CHECK(put.kind == PutKind::with_immediate, put.peer, static_cast<int>(put.kind));
    return inject(peer, put.peer,
                  {.source = landing_,
                   .bytes = writes_empty_ ? 0U : 1U,
                   .target = peer.landing.base,
                   .key = peer.landing.key,
                   .flags = FI_REMOTE_CQ_DATA,
                   .immediate = put.immediate});
}

base::Post Port::post_staged(Peer& peer, Rank rank, RdmaWrite write) noexcept {
    write.staged = staging_->take();
    if (write.staged == nullptr) return base::Post::again;
    base::copy_bytes(write.staged, write.source, write.bytes);
    write.source = write.staged;
    write.desc = staging_desc_;
    const base::Post posted = post(peer, rank, write);
    if (posted != base::Post::posted) staging_->give(write.staged);
    return posted;
}

/// Posts a write whose source may be reused at once.
base::Post Port::inject(Peer& peer, Rank rank, const RdmaWrite& write) noexcept {
    if (peer.unsignaled >= unsignaled_max_) {
        RdmaWrite reporting = write;
        reporting.flags |= FI_INJECT;
        const base::Post posted = post(peer, rank, reporting);
        if (posted == base::Post::posted) peer.unsignaled = 0;
        return posted;
    }
    const bool with_immediate = (write.flags & FI_REMOTE_CQ_DATA) != 0;
    const ssize_t code = with_immediate
                             ? fi_inject_writedata(endpoint_.get(), write.source, write.bytes,
                                                   sealed_for(peer, write.immediate), peer.address,
                                                   write.target, write.key)
                             : fi_inject_write(endpoint_.get(), write.source, write.bytes,
                                               peer.address, write.target, write.key);
    const base::Post posted = posted_as(code, rank, write);
    if (posted == base::Post::posted) ++peer.unsignaled;
    return posted;
}

base::Post Port::posted_as(ssize_t code, Rank rank, const RdmaWrite& write) noexcept {
    if (code == 0) {
        ++writes_;
        return base::Post::posted;
    }
    if (code != -FI_EAGAIN) {
        fail({Status::peer, refused(fmt::format("write of {} bytes to rank {}", write.bytes, rank),
                                    static_cast<int>(code))
                                .text});
    }
    return base::Post::again;
}

base::Post Port::post(Peer& peer, Rank rank, const RdmaWrite& write) noexcept {
    Transfer* transfer = free_;
    if (transfer == nullptr || peer.in_flight >= in_flight_per_peer_max_) return base::Post::again;
    // libfabric takes non-const sources, but does not write them.
    const iovec source{const_cast<std::byte*>(write.source), write.bytes};
    const fi_rma_iov target{write.target, write.bytes, write.key};
    void* desc = write.desc;
    const fi_msg_rma message{.msg_iov = &source,
                             .desc = &desc,
                             .iov_count = 1,
                             .addr = peer.address,
                             .rma_iov = &target,
                             .rma_iov_count = 1,
                             .context = &transfer->context,
                             .data = sealed_for(peer, write.immediate)};
    const ssize_t code = fi_writemsg(endpoint_.get(), &message, write.flags | FI_COMPLETION);
    const base::Post posted = posted_as(code, rank, write);
    if (posted != base::Post::posted) return posted;
    take(*transfer, peer, rank, write.bytes, write.pending);
    transfer->staged = write.staged;
    transfer->source = write.registered;
    return base::Post::posted;
}

/// Takes the first free transfer from the pool.
void Port::take(Transfer& transfer, Peer& peer, Rank rank, std::size_t bytes,
                std::uint32_t* pending) noexcept {
    free_ = transfer.next;
    transfer.pending = pending;
    transfer.bytes = bytes;
    transfer.peer = rank;
    if (pending != nullptr) ++*pending;
    ++peer.in_flight;
    ++in_flight_;
}

base::Post Port::try_read(const base::Read& read) noexcept {
    if (endpoint_ == nullptr) [[unlikely]]
        return base::Post::again;
    Peer& peer = peers_[static_cast<std::size_t>(read.peer)];
    if (peer.address == FI_ADDR_UNSPEC) [[unlikely]] {
        if (!resolve(peer, read.peer)) return base::Post::again;
    }
    WEFT_CHECK(read.bytes > 0 && read.bytes <= facts_.get_bytes_max, read.bytes,
               facts_.get_bytes_max);
    const auto place = read.region != nullptr ? place_in(*read.region, read.source, read.bytes)
                                              : place_of(peer, read.peer, read.source, read.bytes);
    return place ? post_read(peer, *place, read) : base::Post::again;
}

base::Post Port::post_read(Peer& peer, const Place& from, const base::Read& read) noexcept {
    Transfer* transfer = free_;
    if (transfer == nullptr || peer.in_flight >= in_flight_per_peer_max_) return base::Post::again;
    std::byte* into = read.into;
    void* desc = nullptr;
    std::byte* staged = nullptr;
    if (staging_ != nullptr) {
        if (fid_mr* const region = region_of(read.into, read.bytes)) {
            desc = fi_mr_desc(region);
        } else {
            staged = staging_->take();
            if (staged == nullptr) return base::Post::again;
            into = staged;
            desc = staging_desc_;
        }
    }
    const ssize_t code = fi_read(endpoint_.get(), into, read.bytes, desc, peer.address,
                                 from.address, from.key, &transfer->context);
    if (code != 0) {
        if (staged != nullptr) staging_->give(staged);
        if (code != -FI_EAGAIN)
            fail({Status::peer,
                  refused(fmt::format("read of {} bytes from rank {}", read.bytes, read.peer),
                          static_cast<int>(code))
                      .text});
        return base::Post::again;
    }
    take(*transfer, peer, read.peer, read.bytes, read.pending);
    transfer->staged = staged;
    transfer->into = staged != nullptr ? read.into : nullptr;
    return base::Post::posted;
}

void Port::cancel() noexcept {
    if (endpoint_ == nullptr) return;
    fail(base::fail(Status::peer, "the endpoint was closed after a failure"));
    for (Transfer& transfer : transfers_) {
        transfer.pending = nullptr;
        transfer.into = nullptr;
    }
    in_flight_ = 0;
    sources_.clear();
    exposed_.clear();
    staging_region_.reset();
    landing_region_.reset();
    for (Section& section : sections_) section.region.reset();
    counters_.clear();
    endpoint_.reset();
}

Port::Transfer* Port::transfer_of(void* context) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(context);
    const auto first = reinterpret_cast<std::uintptr_t>(transfers_.data());
    const bool ours = address >= first && address - first < transfers_.size() * sizeof(Transfer);
    return ours ? static_cast<Transfer*>(context) : nullptr;
}

void Port::finish(Transfer& transfer) noexcept {
    if (transfer.into != nullptr) base::copy_bytes(transfer.into, transfer.staged, transfer.bytes);
    transfer.into = nullptr;
    if (transfer.pending != nullptr) --*transfer.pending;
    if (transfer.staged != nullptr) staging_->give(transfer.staged);
    if (transfer.source != kNoSource) release_source(transfer.source);
    transfer.source = kNoSource;
    transfer.staged = nullptr;
    transfer.pending = nullptr;
    transfer.next = free_;
    free_ = &transfer;
    --peers_[static_cast<std::size_t>(transfer.peer)].in_flight;
    --in_flight_;
}

std::size_t Port::poll(std::span<std::uint64_t> immediates) noexcept {
    if (endpoint_ == nullptr) [[unlikely]]
        return 0;
    if (receives_missing_ != 0) [[unlikely]]
        renew_receives();
    std::size_t arrived = 0;
    while (arrived < immediates.size()) {
        std::array<fi_cq_data_entry, kBatch> entries;
        const std::size_t room = std::min(kBatch, immediates.size() - arrived);
        const ssize_t got = fi_cq_read(completions_.get(), entries.data(), room);
        if (got == -FI_EAGAIN) break;
        if (got < 0) [[unlikely]] {
            take_error(got);
            break;
        }
        const auto taken = static_cast<std::size_t>(got);
        arrived += take_entries({entries.data(), taken}, immediates.subspan(arrived));
        if (taken < room) break;
    }
    return arrived;
}

/// Ends transfers of this rank, and stores immediates of peers. Returns the number of immediates.
std::size_t Port::take_entries(std::span<const fi_cq_data_entry> entries,
                               std::span<std::uint64_t> immediates) noexcept {
    std::size_t arrived = 0;
    for (const fi_cq_data_entry& entry : entries) {
        // Some providers set FI_REMOTE_CQ_DATA in the origin's completion, too. Only arrivals have
        // FI_REMOTE_WRITE, and only completions have one of this port's contexts.
        Transfer* transfer =
            (entry.flags & FI_REMOTE_WRITE) != 0 ? nullptr : transfer_of(entry.op_context);
        if (transfer != nullptr) {
            finish(*transfer);
        } else if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
            if (!receives_.empty()) renew_receive(entry.op_context);
            if (!seals_ || has_seal(entry.data, own_seal_))
                immediates[arrived++] = seals_ ? unsealed(entry.data) : entry.data;
            else
                slow_down_guesses();
        }
    }
    return arrived;
}

/// Delays the next guess after a process outside the job has sent an immediate, which is dropped.
void Port::slow_down_guesses() noexcept {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Port::take_error(ssize_t code) noexcept {
    if (code != -FI_EAVAIL) return fail(refused("fi_cq_read", static_cast<int>(code)));
    fi_cq_err_entry entry{};
    const ssize_t got = fi_cq_readerr(completions_.get(), &entry, 0);
    if (got == -FI_EAGAIN) return;
    if (got < 0) return fail(refused("fi_cq_readerr", static_cast<int>(got)));
    std::array<char, 256> detail{};
    const char* detail_text = fi_cq_strerror(completions_.get(), entry.prov_errno, entry.err_data,
                                             detail.data(), detail.size());
    Transfer* transfer = transfer_of(entry.op_context);
    const std::string what = transfer != nullptr ? fmt::format("put of {} bytes to rank {}",
                                                               transfer->bytes, transfer->peer)
                             : (entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0
                                 ? std::string("arrival of a put")
                                 : std::string("connection or operation of the provider");
    fail(base::fail(Status::peer, "{} failed: {} (provider \"{}\": {})", what,
                    fi_strerror(entry.err), facts_.provider,
                    detail_text != nullptr ? detail_text : "no detail"));
    if (transfer != nullptr) finish(*transfer);
}

void Port::fail(base::Failure failure) noexcept {
    if (!failure_) failure_ = std::move(failure);
}

base::Failure Port::refused(std::string_view call, int code) const {
    return base::fail(Status::environment, "libfabric {}, provider \"{}\", domain {}: {}: {}",
                      facts_.version, facts_.provider, facts_.domain, call, fi_strerror(-code));
}

}  // namespace weft::link
