// SPDX-License-Identifier: BSD-3-Clause
#include "tests/hostile/adversary/mailbox.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <ctime>
#include <random>
#include <stdexcept>
#include <string>

namespace adversary {
namespace {

Ring* map_ring(int file) {
    void* at = ::mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? nullptr : static_cast<Ring*>(at);
}

/// Rings the bell, and wakes the threads that wait for it.
void wake(Ring& ring) {
    ring.bell.fetch_add(1);
    if (ring.sleepers.load() != 0)
        ::syscall(SYS_futex, &ring.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Mailbox::Mailbox() : file_(::memfd_create("adversary", MFD_CLOEXEC)) {
    if (file_ < 0 || ::ftruncate(file_, sizeof(Ring)) != 0)
        throw std::runtime_error("no memory for a mailbox");
    ring_ = map_ring(file_);
    if (ring_ == nullptr) throw std::runtime_error("a mailbox cannot be mapped");
    std::random_device entropy;
    ring_->nonce = (std::uint64_t{entropy()} << 32 | entropy()) | 1U;
    for (std::size_t i = 0; i < kSlots; ++i) ring_->slots[i].turn.store(i);
}

Mailbox::~Mailbox() {
    ring_->closed.store(1);
    ::munmap(ring_, sizeof(Ring));
    ::close(file_);
}

Address Mailbox::address() const {
    return {::getpid(), file_, ring_->nonce};
}

const Slot* Mailbox::next() {
    const Slot& slot = ring_->slots[ring_->head % kSlots];
    // Acquire: pairs with the release in push().
    return slot.turn.load(std::memory_order_acquire) == ring_->head + 1 ? &slot : nullptr;
}

void Mailbox::free_slot() {
    // Release: a writer may overwrite the slot only after this rank has read it.
    ring_->slots[ring_->head % kSlots].turn.store(ring_->head + kSlots, std::memory_order_release);
    ++ring_->head;
}

void Mailbox::wait(std::uint32_t seen) const {
    const timespec limit{0, 2'000'000};
    ring_->sleepers.fetch_add(1);
    ::syscall(SYS_futex, &ring_->bell, FUTEX_WAIT, seen, &limit, nullptr, 0);
    ring_->sleepers.fetch_sub(1);
}

void Mailbox::ring() {
    wake(*ring_);
}

Outbox::Outbox(const Address& address) {
    const std::string path =
        "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    Ring* ring = ::lseek(file, 0, SEEK_END) == sizeof(Ring) ? map_ring(file) : nullptr;
    ::close(file);
    if (ring == nullptr) return;
    if (ring->nonce == address.nonce)
        ring_ = ring;
    else
        ::munmap(ring, sizeof(Ring));
}

Outbox::~Outbox() {
    if (ring_ != nullptr) ::munmap(ring_, sizeof(Ring));
}

bool Outbox::push(const Header& header, std::span<const std::byte> bytes) {
    std::uint64_t ticket = ring_->tail.load(std::memory_order_relaxed);
    for (;;) {
        const std::uint64_t turn =
            ring_->slots[ticket % kSlots].turn.load(std::memory_order_acquire);
        if (turn < ticket) return false;  // an earlier message in this slot is unread
        if (turn == ticket && ring_->tail.compare_exchange_weak(ticket, ticket + 1)) break;
        if (turn > ticket) ticket = ring_->tail.load(std::memory_order_relaxed);
    }
    Slot& slot = ring_->slots[ticket % kSlots];
    slot.header = header;
    if (!bytes.empty()) std::memcpy(slot.bytes, bytes.data(), bytes.size());
    // Release: pairs with the acquire in next().
    slot.turn.store(ticket + 1, std::memory_order_release);
    wake(*ring_);
    return true;
}

}  // namespace adversary
