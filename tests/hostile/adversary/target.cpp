// SPDX-License-Identifier: BSD-3-Clause
// target.cpp - functions of an endpoint as target: receives, later delivers and reports pieces.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "tests/hostile/adversary/endpoint.hpp"
#include "tests/hostile/adversary/report.hpp"

namespace adversary {
namespace {

constexpr std::size_t kPendingMax = 512;  ///< pieces; further messages stay in the mailbox

/// Copies bytes; stores aligned words by one instruction, as some fabrics promise.
void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::size_t i = 0;
    for (; i < bytes && (reinterpret_cast<std::uintptr_t>(to + i) & 7U) != 0; ++i) to[i] = from[i];
    for (; i + 8 <= bytes; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, from + i, 8);
        reinterpret_cast<std::atomic<std::uint64_t>*>(to + i)->store(word,
                                                                     std::memory_order_release);
    }
    for (; i < bytes; ++i) to[i] = from[i];
}

/// Returns true if two pieces have common bytes at the target.
bool overlap(const Header& a, std::size_t a_bytes, const Header& b, std::size_t b_bytes) {
    return a.key == b.key && a.address < b.address + b_bytes && b.address < a.address + a_bytes;
}

}  // namespace

void Endpoint::progress() {
    if (!enabled_) return;
    receive();
    if (!outgoing_.empty()) send_some();
    if (!pending_.empty()) deliver_some();
    if (!replies_.empty()) send_replies();
    if (!delayed_.empty()) report_completions();
}

void Endpoint::receive() {
    while (pending_.size() < kPendingMax) {
        const Slot* slot = mailbox_.next();
        if (slot == nullptr) return;
        handle(*slot);
        mailbox_.free_slot();
    }
}

void Endpoint::handle(const Slot& slot) {
    switch (slot.header.kind) {
        case MessageKind::delivered:
            return delivery_confirmed(slot.header.operation, static_cast<int>(slot.header.data));
        case MessageKind::read:
            return answer(slot.header);
        case MessageKind::write:
        case MessageKind::answer:
        case MessageKind::send:
            return receive_piece(slot);
    }
}

void Endpoint::receive_piece(const Slot& slot) {
    PendingPiece piece;
    piece.header = slot.header;
    piece.bytes.assign(slot.bytes, slot.bytes + slot.header.bytes);
    piece.delay = draw_delay() / (slot.header.pieces > 4 ? 8 : 1);
    if (piece.delay > 0) count_trick(Trick::write_delayed);
    piece.parts = std::make_shared<int>(1);
    if (slot.header.kind == MessageKind::answer) {
        const auto found = awaited_.find(slot.header.operation);
        if (found == awaited_.end()) return;
        piece.read = found->second.get();
        if (slot.header.data != 0)
            return delivery_confirmed(slot.header.operation, static_cast<int>(slot.header.data));
    } else {
        auto& arrival = arrivals_[{slot.header.from.nonce, slot.header.operation}];
        if (arrival.pieces_missing == 0) {
            arrival.first = slot.header;
            arrival.pieces_missing = slot.header.pieces;
            if (slot.header.kind == MessageKind::send) arrival.message.resize(slot.header.total);
        }
        piece.arrival = &arrival;
    }
    pending_.push_back(std::move(piece));
}

/// Answers a piece of a peer's read with data of this endpoint's memory.
void Endpoint::answer(const Header& request) {
    PendingPiece requested;
    requested.header = request;
    requested.header.kind = MessageKind::write;
    requested.bytes.resize(request.bytes);
    const std::byte* at = target_address(requested);
    Header header = request;
    header.kind = MessageKind::answer;
    header.from = address();
    header.data = at == nullptr ? FI_EREMOTEIO : 0;
    std::vector<std::byte> bytes;
    if (at != nullptr) bytes.assign(at, at + request.bytes);
    add_reply(request.from, header, std::move(bytes));
}

/// Returns the address of a piece's target; nullptr if peers may not access it.
std::byte* Endpoint::target_address(const PendingPiece& piece) {
    const Header& header = piece.header;
    const auto found = domain_.regions.find(header.key);
    if (found == domain_.regions.end()) return nullptr;
    const Region& region = *found->second;
    const bool accessible = (region.access & (FI_REMOTE_WRITE | FI_REMOTE_READ)) != 0 &&
                            region.enabled && (region.bound == nullptr || region.bound == this);
    if (!accessible) return nullptr;
    const bool absolute = (profile_.mr_mode & FI_MR_VIRT_ADDR) != 0;
    const std::uint64_t base = absolute ? reinterpret_cast<std::uintptr_t>(region.base) : 0;
    if (header.address < base || header.address - base > region.bytes ||
        piece.bytes.size() > region.bytes - (header.address - base))
        return nullptr;
    return region.base + (header.address - base);
}

bool Endpoint::must_wait(std::size_t index) const {
    const PendingPiece& piece = pending_[index];
    const bool message = piece.header.kind == MessageKind::send;
    if (!ordered_ && !message) return false;
    for (std::size_t i = 0; i < index; ++i) {
        const PendingPiece& earlier = pending_[i];
        if (earlier.header.from != piece.header.from || earlier.read != piece.read) continue;
        if (message && earlier.header.kind == MessageKind::send) return true;
        if (profile_.order == Order::stream && !message) return true;
        if (ordered_ &&
            overlap(earlier.header, earlier.bytes.size(), piece.header, piece.bytes.size()))
            return true;
    }
    return false;
}

void Endpoint::deliver_some() {
    const std::size_t tries = 4 + pending_.size() / 4;
    for (std::size_t i = 0; i < tries && !pending_.empty(); ++i) {
        const bool in_order = profile_.order == Order::stream && !chance(4);
        const std::size_t index = in_order ? 0 : random_() % pending_.size();
        if (pending_[index].delay-- > 0 || must_wait(index)) continue;
        deliver(index);
    }
}

void Endpoint::deliver(std::size_t index) {
    PendingPiece& piece = pending_[index];
    // Sometimes cuts the piece: the rest is delivered before, between or after later pieces.
    const std::size_t min_bytes = profile_.whole_words ? 16 : 2;
    if (piece.bytes.size() >= min_bytes && piece.header.kind != MessageKind::send && chance(3)) {
        count_trick(Trick::delivered_in_parts);
        const std::size_t unit = profile_.whole_words ? 8 : 1;
        // The cut is at the end of a word, so aligned words stay whole.
        const std::size_t skew = profile_.whole_words ? piece.header.address % 8 : 0;
        const std::size_t cut =
            std::min(piece.bytes.size(), unit * (1 + random_() % (piece.bytes.size() / unit)));
        if (cut > skew && cut < piece.bytes.size()) {
            const auto at = static_cast<std::ptrdiff_t>(cut - skew);
            PendingPiece rest = piece;
            rest.bytes.erase(rest.bytes.begin(), rest.bytes.begin() + at);
            rest.header.address += cut - skew;
            rest.header.offset += cut - skew;
            rest.delay = draw_delay();
            piece.bytes.resize(cut - skew);
            ++*piece.parts;
            if (!ordered_ && chance(2)) std::swap(piece, rest);
            pending_.insert(pending_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                            std::move(rest));
        }
    }
    const PendingPiece chosen = std::move(pending_[index]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
    if (std::this_thread::get_id() == server_.get_id())
        count_trick(Trick::delivered_without_target);
    piece_delivered(chosen);
}

void Endpoint::piece_delivered(const PendingPiece& piece) {
    const std::size_t bytes = piece.bytes.size();
    if (piece.read != nullptr) {
        if (!awaited_.contains(piece.header.operation)) return;  // the read has failed
        Operation& read = *piece.read;
        std::size_t at = piece.header.offset;
        std::size_t done = 0;
        for (const iovec& into : read.sources) {
            if (at < into.iov_len && done < bytes) {
                const std::size_t part = std::min(into.iov_len - at, bytes - done);
                std::memcpy(static_cast<std::byte*>(into.iov_base) + at, piece.bytes.data() + done,
                            part);
                done += part;
                at = 0;
            } else {
                at -= std::min(at, into.iov_len);
            }
        }
        read.missing -= bytes;
        if (read.missing == 0) delivery_confirmed(read.id, 0);
        return;
    }
    Arrival& arrival = *piece.arrival;
    if (piece.header.kind == MessageKind::send) {
        std::copy(piece.bytes.begin(), piece.bytes.end(),
                  arrival.message.begin() + static_cast<std::ptrdiff_t>(piece.header.offset));
    } else if (std::byte* at = target_address(piece); at != nullptr) {
        copy_words(at, piece.bytes.data(), bytes);
    } else {
        refused_access("a write of " + std::to_string(bytes) + " bytes to key " +
                       std::to_string(piece.header.key));
        arrival.error = FI_EREMOTEIO;
    }
    if (--*piece.parts > 0 || --arrival.pieces_missing > 0) return;
    arrival_complete(arrivals_.find({piece.header.from.nonce, piece.header.operation}));
}

void Endpoint::arrival_complete(
    std::map<std::pair<std::uint64_t, std::uint64_t>, Arrival>::iterator at) {
    Arrival arrival = std::move(at->second);
    arrivals_.erase(at);
    const Header& header = arrival.first;
    if (header.kind == MessageKind::send) {
        messages_.push_back(std::move(arrival));
        return match_messages();
    }
    if ((header.flags & kWantsDelivery) != 0 || arrival.error != 0) {
        Header answer{
            .kind = MessageKind::delivered, .from = address(), .operation = header.operation};
        answer.data = static_cast<std::uint64_t>(arrival.error);
        add_reply(header.from, answer, {});
    }
    if (arrival.error != 0) return;
    Counter* const counter = counter_of(FI_REMOTE_WRITE);
    const bool with_data = (header.flags & kWithData) != 0;
    Entry entry{};
    entry.entry.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
    entry.entry.data = header.data;
    if (with_data && (profile_.mode & FI_RX_CQ_DATA) != 0) {
        if (receives_.empty()) violation("a write with an immediate found no posted receive");
        entry.entry.op_context = receives_.front().context;
        receives_.pop_front();
    }
    if (with_data || counter != nullptr) delay_completion(received_, counter, entry, with_data);
}

ssize_t Endpoint::post_receive(const iovec* into, std::size_t count, void* context) {
    if ((caps_ & FI_MSG) == 0) return -FI_EOPNOTSUPP;
    receives_.push_back({std::vector<iovec>(into, into + count), context});
    match_messages();
    return 0;
}

void Endpoint::match_messages() {
    while (!messages_.empty() && !receives_.empty()) {
        const Arrival& message = messages_.front();
        const Receive& receive = receives_.front();
        std::size_t done = 0;
        for (const iovec& into : receive.into) {
            const std::size_t part = std::min(into.iov_len, message.message.size() - done);
            if (part != 0) std::memcpy(into.iov_base, message.message.data() + done, part);
            done += part;
        }
        Entry entry{};
        entry.entry.op_context = receive.context;
        entry.entry.flags = FI_MSG | FI_RECV;
        entry.entry.len = done;
        if ((message.first.flags & kWithData) != 0) {
            entry.entry.flags |= FI_REMOTE_CQ_DATA;
            entry.entry.data = message.first.data;
        }
        if (done < message.message.size()) entry.error = FI_ETRUNC;
        delay_completion(received_, counter_of(FI_RECV), entry, /*report=*/true);
        messages_.pop_front();
        receives_.pop_front();
    }
}

void Endpoint::add_reply(const Address& to, const Header& header, std::vector<std::byte> bytes) {
    replies_.push_back({to, header, std::move(bytes)});
}

void Endpoint::send_replies() {
    while (!replies_.empty()) {
        const Reply& reply = replies_.front();
        std::unique_ptr<Peer>& peer = peers_[reply.to.nonce];
        if (peer == nullptr) peer = std::make_unique<Peer>(reply.to);
        if (!peer->outbox.gone() && !peer->outbox.push(reply.header, reply.bytes)) return;
        replies_.pop_front();
    }
}

Counter* Endpoint::counter_of(std::uint64_t flag) const {
    const auto found = counters_.find(flag);
    return found == counters_.end() ? nullptr : found->second;
}

void Endpoint::delay_completion(Queue* queue, Counter* counter, const Entry& entry, bool report) {
    const int delay = draw_delay();
    if (delay > 0) {
        const bool remote = (entry.entry.flags & FI_REMOTE_WRITE) != 0;
        count_trick(remote ? Trick::immediate_late : Trick::completion_late);
    }
    delayed_.push_back({queue, counter, entry, delay, report});
}

void Endpoint::report_completions() {
    const bool in_order = profile_.order == Order::stream;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < delayed_.size(); ++i) {
        DelayedCompletion& delayed = delayed_[i];
        const bool waits = delayed.delay-- > 0 || (in_order && kept != 0);
        if (waits) {
            if (kept != i) delayed_[kept] = delayed;
            ++kept;
            continue;
        }
        if (kept != 0) count_trick(Trick::completion_overtook);
        if (delayed.counter != nullptr)
            ++(delayed.entry.error == 0 ? delayed.counter->value : delayed.counter->errors);
        if (delayed.report && delayed.queue != nullptr) add_entry(delayed.queue, delayed.entry);
    }
    delayed_.resize(kept);
}

}  // namespace adversary
