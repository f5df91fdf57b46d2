// SPDX-License-Identifier: BSD-3-Clause
// origin.cpp - functions of an endpoint as origin: posts, later sends and completes operations.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/hostile/adversary/endpoint.hpp"
#include "tests/hostile/adversary/report.hpp"

namespace adversary {
namespace {

constexpr unsigned char kScribble = 0xC7;  ///< written to contexts that the provider may use

/// Returns a hash of a number (splitmix64).
std::uint64_t hash_of(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15U;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31);
}

/// Combines the seed with the rank and with the number of earlier endpoints, so that endpoints draw
/// differently and a job can be repeated.
std::uint64_t seed_of(const Domain& domain) {
    const char* rank = std::getenv("PMIX_RANK");
    const std::uint64_t process = rank != nullptr ? std::strtoull(rank, nullptr, 10) : 0;
    return hash_of(hash_of(domain.seed) + process * 64 + domain.endpoints.size() + domain.next_key);
}

/// Returns a hash of the contents of buffers.
std::uint64_t checksum(const std::vector<iovec>& sources) {
    std::uint64_t sum = 0;
    for (const iovec& source : sources) {
        const auto* at = static_cast<const unsigned char*>(source.iov_base);
        std::size_t i = 0;
        for (; i + 8 <= source.iov_len; i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, at + i, 8);
            sum = (sum ^ word) * 0x100000001B3U + 1;
        }
        for (; i < source.iov_len; ++i) sum = (sum ^ at[i]) * 0x100000001B3U + 1;
    }
    return sum;
}

}  // namespace

Endpoint::Endpoint(Domain& domain, const fi_info& info)
    : domain_(domain),
      profile_(domain.profile),
      random_(seed_of(domain)),
      caps_(info.caps),
      op_flags_(info.tx_attr != nullptr ? info.tx_attr->op_flags : 0),
      ordered_(profile_.order == Order::stream ||
               (profile_.order == Order::location && info.tx_attr != nullptr &&
                (info.tx_attr->msg_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW)) != 0)),
      lost_after_(limit_for_this_rank("ADVERSARY_LOSE")) {
    slow_ = chance(4);
    if (slow_) count_trick(Trick::slow_endpoint);
    ++domain_.open;
    domain_.endpoints.push_back(this);
    if (profile_.hardware_delivers) server_ = std::thread([this] { serve(); });
}

Endpoint::~Endpoint() {
    stop_ = true;
    mailbox_.ring();
    if (server_.joinable()) server_.join();
    const std::lock_guard hold(domain_.lock);
    for (const auto& region : domain_.regions)
        if (region.second->bound == this) violation("an endpoint was closed before its regions");
    for (const auto& operation : outgoing_) release_sources(*operation);
    for (const auto& operation : awaited_) release_sources(*operation.second);
    std::erase(domain_.endpoints, this);
    --domain_.open;
}

void Endpoint::serve() {
    while (!stop_) {
        const std::uint32_t seen = mailbox_.bell();
        bool idle = false;
        {
            const std::lock_guard hold(domain_.lock);
            if (enabled_) progress();
            idle = pending_.empty() && outgoing_.empty() && replies_.empty() && delayed_.empty();
        }
        if (idle)
            mailbox_.wait(seen);
        else
            std::this_thread::yield();
    }
}

int Endpoint::bind(fid* other, std::uint64_t flags) {
    if (enabled_) violation("an object was bound to an endpoint that was enabled before");
    const auto require_own = [&](const Domain* domain) {
        if (domain != &domain_)
            violation("an object of domain " + domain->name +
                      " was bound to an endpoint of domain " + domain_.name);
    };
    if (other->fclass == FI_CLASS_AV) {
        addresses_ = reinterpret_cast<Addresses*>(other);
        require_own(addresses_->domain);
    }
    if (other->fclass == FI_CLASS_CQ) {
        auto* queue = reinterpret_cast<Queue*>(other);
        require_own(queue->domain);
        if ((flags & FI_TRANSMIT) != 0) transmitted_ = queue;
        if ((flags & FI_RECV) != 0) received_ = queue;
        if ((flags & FI_TRANSMIT) != 0) selective_ = (flags & FI_SELECTIVE_COMPLETION) != 0;
    }
    if (other->fclass == FI_CLASS_CNTR) {
        for (const std::uint64_t flag :
             {FI_WRITE, FI_READ, FI_SEND, FI_RECV, FI_REMOTE_WRITE, FI_REMOTE_READ})
            if ((flags & flag) != 0) counters_[flag] = reinterpret_cast<Counter*>(other);
        if ((flags & FI_REMOTE_WRITE) != 0 && (caps_ & FI_RMA_EVENT) == 0)
            violation("a counter of remote writes was bound without FI_RMA_EVENT");
    }
    return 0;
}

int Endpoint::enable() {
    if (addresses_ == nullptr) return -FI_ENOAV;
    if (transmitted_ == nullptr && counters_.empty()) return -FI_ENOCQ;
    enabled_ = true;
    return 0;
}

int Endpoint::draw_delay() {
    const std::uint64_t drawn = random_();
    int delay = 0;
    if (drawn % 8 >= 4) delay = static_cast<int>(drawn / 8 % 8);
    if (drawn % 8 == 7) delay = static_cast<int>(drawn / 8 % 24);
    if (drawn % 128 == 127) delay = static_cast<int>(drawn / 128 % 80);
    return slow_ ? delay * 3 : delay;
}

Peer* Endpoint::peer_at(fi_addr_t to) {
    if (addresses_ == nullptr || to >= addresses_->known.size()) return nullptr;
    const Address& address = addresses_->known[to];
    std::unique_ptr<Peer>& peer = peers_[address.nonce];
    if (peer == nullptr) {
        peer = std::make_unique<Peer>(address);
        if (profile_.connects_late) peer->refusals = 1 + static_cast<int>(random_() % 40);
    }
    return peer.get();
}

/// Returns true if the caller must retry: no connection yet, a random refusal, or a full queue.
bool Endpoint::must_retry(Peer& peer) {
    if (peer.refusals > 0) {
        --peer.refusals;
        count_trick(Trick::refused_unconnected);
        return true;
    }
    if (refusals_ == 0 && chance(24)) refusals_ = 1 + static_cast<int>(random_() % 20);
    if (refusals_ > 0) {
        --refusals_;
        count_trick(Trick::refused_again);
        return true;
    }
    return outgoing_.size() + awaited_.size() >= profile_.transfers;
}

int Endpoint::check(Operation& operation, void** descs, std::uint64_t flags) {
    if (operation.sources.size() > profile_.sources ||
        operation.targets.size() > profile_.targets) {
        violation("an operation of " + std::to_string(operation.sources.size()) + " sources and " +
                  std::to_string(operation.targets.size()) + " targets; granted: " +
                  std::to_string(profile_.sources) + " and " + std::to_string(profile_.targets));
    }
    for (const iovec& source : operation.sources) operation.bytes += source.iov_len;
    std::size_t target_bytes = 0;
    for (const fi_rma_iov& target : operation.targets) target_bytes += target.len;
    if (operation.kind != MessageKind::send && target_bytes != operation.bytes)
        violation("an operation whose sources and targets differ in size");
    if (operation.bytes > profile_.message_bytes) return -FI_EMSGSIZE;
    if ((flags & FI_REMOTE_CQ_DATA) != 0 && operation.kind == MessageKind::write) {
        if (!profile_.immediate_writes || profile_.immediate_bytes == 0) return -FI_EOPNOTSUPP;
        if (profile_.immediate_bytes < 8 && (operation.data >> (8 * profile_.immediate_bytes)) != 0)
            violation("an immediate is wider than the " + std::to_string(profile_.immediate_bytes) +
                      " bytes that the provider granted");
    }
    if ((flags & FI_DELIVERY_COMPLETE) != 0 && profile_.delivery == Delivery::refused &&
        operation.kind == MessageKind::write)
        return -FI_EINVAL;
    if ((flags & FI_FENCE) != 0 && (caps_ & FI_FENCE) == 0)
        violation("a fence, without the capability FI_FENCE");
    if ((flags & FI_INJECT) == 0) return check_sources(operation, descs);
    if (operation.bytes > profile_.inject_bytes) return -FI_EMSGSIZE;
    return 0;
}

int Endpoint::check_sources(Operation& operation, void** descs) {
    if ((profile_.mr_mode & FI_MR_LOCAL) == 0) return 0;
    for (std::size_t i = 0; i < operation.sources.size(); ++i) {
        const iovec& source = operation.sources[i];
        if (source.iov_len == 0) continue;
        const auto* desc = descs == nullptr ? nullptr : static_cast<Region*>(descs[i]);
        Region* found = nullptr;
        for (const auto& region : domain_.regions)
            if (region.second == desc) found = region.second;
        if (found == nullptr || !found->enabled || !found->covers(source.iov_base, source.iov_len))
            violation("a source of " + std::to_string(source.iov_len) +
                      " bytes is not in the region of its descriptor (FI_MR_LOCAL)");
        operation.regions.push_back(found);
        ++found->readers;
    }
    return 0;
}

void Endpoint::acquire_context(const Operation& operation) {
    if (!operation.reports || (profile_.mode & (FI_CONTEXT | FI_CONTEXT2)) == 0) return;
    if (operation.context == nullptr) violation("an operation without a context (FI_CONTEXT)");
    if (!contexts_.insert(operation.context).second)
        violation("a context was used for two operations at once");
    count_trick(Trick::context_scribbled);
    const bool context2 = (profile_.mode & FI_CONTEXT2) != 0;
    std::memset(operation.context, kScribble, context2 ? sizeof(fi_context2) : sizeof(fi_context));
}

void Endpoint::return_context(const Operation& operation) {
    if (contexts_.erase(operation.context) == 0) return;
    const bool context2 = (profile_.mode & FI_CONTEXT2) != 0;
    const auto* bytes = static_cast<const unsigned char*>(operation.context);
    if (std::any_of(bytes, bytes + (context2 ? sizeof(fi_context2) : sizeof(fi_context)),
                    [](unsigned char byte) { return byte != kScribble; }))
        violation("a context was written before its operation was complete");
}

ssize_t Endpoint::post(Operation operation, fi_addr_t to, void** descs, std::uint64_t flags) {
    if (!enabled_) violation("an operation on an endpoint that is not enabled");
    Peer* peer = peer_at(to);
    if (peer == nullptr) return -FI_EINVAL;
    if (must_retry(*peer)) return -FI_EAGAIN;
    if (const int refused = check(operation, descs, flags); refused != 0) return refused;
    acquire_context(operation);
    const bool delivery = (flags & FI_DELIVERY_COMPLETE) != 0;
    if (delivery && profile_.delivery == Delivery::early) count_trick(Trick::delivery_ignored);
    operation.id = next_id_++;
    operation.to = peer;
    operation.flags = flags;
    operation.delivery = delivery && profile_.delivery == Delivery::real;
    operation.fenced = (flags & FI_FENCE) != 0;
    operation.delay = draw_delay();
    operation.lost = posts_++ >= lost_after_;
    if (operation.lost) count_trick(Trick::connection_lost);
    if (operation.delay > 0) count_trick(Trick::write_delayed);
    if ((flags & FI_INJECT) != 0)
        prepare(operation);
    else
        operation.checksum = operation.kind == MessageKind::read ? 0 : checksum(operation.sources);
    hold_or_release(operation, flags);
    if (operation.fenced) peer->fences.insert(operation.id);
    if ((caps_ & FI_FENCE) != 0) peer->pending.insert(operation.id);
    outgoing_.push_back(std::make_unique<Operation>(std::move(operation)));
    return 0;
}

/// Holds an operation with FI_MORE. One without it releases all earlier ones, as a doorbell does.
void Endpoint::hold_or_release(Operation& operation, std::uint64_t flags) {
    operation.held = profile_.batches && (flags & FI_MORE) != 0;
    if (operation.held) return count_trick(Trick::held_for_more);
    polls_held_ = 0;
    for (const auto& earlier : outgoing_) earlier->held = false;
}

void Endpoint::polled() {
    constexpr int kPollsMax = 400;  // a program that polls more often waits for a held operation
    const bool holds = std::ranges::any_of(outgoing_, [](const auto& each) { return each->held; });
    if (holds && ++polls_held_ > kPollsMax)
        violation("FI_MORE was followed by " + std::to_string(kPollsMax) +
                  " polls, and by no operation without it");
}

/// Reads the sources and makes the pieces in the order in which they are sent.
void Endpoint::prepare(Operation& operation) {
    if (!operation.pieces.empty()) return;
    if (operation.kind != MessageKind::read && operation.copy.empty()) {
        if ((operation.flags & FI_INJECT) == 0) {
            count_trick(Trick::source_read_late);
            if (checksum(operation.sources) != operation.checksum)
                violation("a source of " + std::to_string(operation.bytes) +
                          " bytes was changed before its operation was complete");
        }
        for (const iovec& source : operation.sources) {
            const auto* at = static_cast<const std::byte*>(source.iov_base);
            operation.copy.insert(operation.copy.end(), at, at + source.iov_len);
        }
    }
    Header header{.kind = operation.kind,
                  .from = address(),
                  .operation = operation.id,
                  .total = operation.bytes,
                  .data = operation.data};
    if ((operation.flags & FI_REMOTE_CQ_DATA) != 0) header.flags |= kWithData;
    if (operation.delivery || (caps_ & FI_FENCE) != 0) header.flags |= kWantsDelivery;
    std::uint64_t offset = 0;
    std::vector<fi_rma_iov> targets = operation.targets;
    if (targets.empty()) targets.push_back({0, operation.bytes, 0});  // for a send
    for (const fi_rma_iov& target : targets) {
        std::uint64_t done = 0;
        do {
            const std::uint64_t bytes = std::min<std::uint64_t>(target.len - done, kPieceBytes);
            header.address = target.addr + done;
            header.key = target.key;
            header.bytes = static_cast<std::uint32_t>(bytes);
            header.offset = offset;
            operation.pieces.push_back(header);
            offset += bytes;
            done += bytes;
        } while (done < target.len);
    }
    for (Header& piece : operation.pieces)
        piece.pieces = static_cast<std::uint32_t>(operation.pieces.size());
    const bool in_order = ordered_ || operation.kind != MessageKind::write;
    if (!in_order && operation.pieces.size() > 1) {
        std::shuffle(operation.pieces.begin(), operation.pieces.end(), random_);
        count_trick(Trick::pieces_out_of_order);
    } else {
        std::reverse(operation.pieces.begin(), operation.pieces.end());  // sent from the end
    }
}

/// Returns true if the operation's own fence or an earlier fence to the same peer delays it.
bool Endpoint::waits_for_fence(const Operation& operation) const {
    const Peer& peer = *operation.to;
    if (operation.fenced && !peer.pending.empty() && *peer.pending.begin() < operation.id)
        return true;
    return !peer.fences.empty() && *peer.fences.begin() < operation.id;
}

void Endpoint::send_some() {
    const std::size_t tries = std::min<std::size_t>(outgoing_.size(), 4 + outgoing_.size() / 4);
    for (std::size_t i = 0; i < tries && !outgoing_.empty(); ++i) {
        const std::size_t index = random_() % outgoing_.size();
        Operation& operation = *outgoing_[index];
        const bool sends = operation.kind == MessageKind::send;
        const auto first = std::find_if(outgoing_.begin(), outgoing_.end(), [&](const auto& other) {
            return other->to == operation.to &&
                   (ordered_ || (sends && other->kind == operation.kind));
        });
        const bool is_first = static_cast<std::size_t>(first - outgoing_.begin()) >= index;
        if (!operation.sources_read) {
            if (operation.held || operation.delay-- > 0) continue;
            if (!is_first) continue;
            if (waits_for_fence(operation)) {
                count_trick(Trick::fence_waited);
                continue;
            }
            if (index != 0) count_trick(Trick::write_overtook);
            prepare(operation);
            operation.sources_read = true;
        }
        if (!push_pieces(operation)) continue;
        auto sent = std::move(outgoing_[index]);
        outgoing_.erase(outgoing_.begin() + static_cast<std::ptrdiff_t>(index));
        after_sending(std::move(sent));
    }
}

bool Endpoint::push_pieces(Operation& operation) {
    if (operation.to->outbox.gone() || operation.lost) {
        operation.lost = true;
        return true;
    }
    const bool reads = operation.kind == MessageKind::read;
    while (!operation.pieces.empty()) {
        const Header& piece = operation.pieces.back();
        std::span<const std::byte> bytes;
        if (!reads && piece.bytes != 0) bytes = {operation.copy.data() + piece.offset, piece.bytes};
        if (!operation.to->outbox.push(piece, bytes)) return false;
        operation.pieces.pop_back();
    }
    return true;
}

void Endpoint::release_sources(Operation& operation) {
    for (Region* region : operation.regions) --region->readers;
    operation.regions.clear();
}

void Endpoint::after_sending(std::unique_ptr<Operation> operation) {
    Peer& peer = *operation->to;
    peer.fences.erase(operation->id);
    const bool reads = operation->kind == MessageKind::read;
    if (!reads) release_sources(*operation);
    if (operation->lost) {
        release_sources(*operation);  // of a read, too
        peer.pending.erase(operation->id);
        return complete(*operation, FI_ECONNRESET);
    }
    const bool fences = (caps_ & FI_FENCE) != 0;
    if (profile_.fence == Fence::completion) peer.pending.erase(operation->id);
    if (!reads && !operation->delivery) {
        count_trick(Trick::completed_before_delivery);
        complete(*operation, 0);
        operation->reports = false;
        if (!fences) return;
    }
    operation->missing = reads ? operation->bytes : 0;
    awaited_.emplace(operation->id, std::move(operation));
}

void Endpoint::delivery_confirmed(std::uint64_t id, int error) {
    const auto found = awaited_.find(id);
    if (found == awaited_.end()) {
        // The operation was complete when it was sent; its failure at the target has no context.
        if (error != 0) delay_completion(transmitted_, nullptr, {{}, error}, /*report=*/true);
        return;
    }
    Operation& operation = *found->second;
    operation.to->pending.erase(id);
    release_sources(operation);
    if (operation.delivery || operation.kind == MessageKind::read) complete(operation, error);
    awaited_.erase(found);
}

void Endpoint::complete(const Operation& operation, int error) {
    if (operation.reports) return_context(operation);
    if (!operation.reports && error == 0 && counters_.empty()) return;
    const bool reads = operation.kind == MessageKind::read;
    const bool sends = operation.kind == MessageKind::send;
    Entry entry{};
    entry.entry.op_context = operation.context;
    entry.entry.flags = sends ? FI_MSG | FI_SEND : reads ? FI_RMA | FI_READ : FI_RMA | FI_WRITE;
    entry.error = error;
    delay_completion(transmitted_,
                     counter_of(sends   ? FI_SEND
                                : reads ? FI_READ
                                        : FI_WRITE),
                     entry, operation.reports || error != 0);
}

void Endpoint::forget(const Region& region) {
    for (const auto& operation : outgoing_) std::erase(operation->regions, &region);
    for (const auto& operation : awaited_) std::erase(operation.second->regions, &region);
}

}  // namespace adversary
