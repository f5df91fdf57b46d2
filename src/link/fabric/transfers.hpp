// SPDX-License-Identifier: BSD-3-Clause
// transfers.hpp - operations of a port that libfabric has not completed, and posted receives.
//
// Holds    Each operation has a Transfer of a fixed pool. The address of the Transfer is the
//          operation's context for libfabric. No allocation after construction.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/put.hpp"
#include "link/fabric/regions.hpp"

namespace weft::link {

/// Largest number of sources of one write, including its flag.
inline constexpr std::size_t kSourceParts = 4;
/// Returns the largest number of signaled puts in flight to one peer. A rank's completion queue
/// must have room for the puts of all its peers.
[[nodiscard]] std::size_t puts_per_peer(const FabricOptions& options);
/// Number of unsignaled small puts between two signaled ones, if the profile allows unsignaled
/// puts. This limits the puts in flight to a peer that does not poll.
inline constexpr std::uint32_t kUnsignaledPuts = 16;

struct Transfer {
    fi_context2 context{};             // must be first, so that its address is the transfer's
    std::uint32_t* pending = nullptr;  // Put::pending or Read::pending; may be nullptr
    std::byte* staged = nullptr;       // registered buffer in use; nullptr: none
    std::byte* into = nullptr;         // final target of a read through `staged`
    std::size_t source = Regions::kNoSource;  // number of a source registered for this put
    std::uint64_t flag = 0;                   // source of the flag of a put with a cell
    Transfer* next = nullptr;                 // next free transfer
    std::size_t bytes = 0;
    Rank peer = 0;
    bool in_use = false;
    bool failed = false;  // libfabric has reported an error; the caller still waits
    bool lost = false;    // ended for its caller; libfabric has not completed it
};

class Transfers {
  public:
    /// copied_bytes: largest size of a copy, at least kCopiedBytesMax. The memory for copies is not
    /// initialized, so its unused pages take no memory.
    Transfers(std::size_t count, std::size_t copied_bytes)
        : pool_(count), copied_bytes_(copied_bytes), copies_(new std::byte[count * copied_bytes]) {
        for (Transfer& transfer : pool_) put_back(transfer);
    }

    /// Returns the transfer that take() would return, or nullptr if all are in use.
    [[nodiscard]] Transfer* next() const noexcept { return free_; }
    /// Uses next(), which must exist, for a posted operation. Increments `pending`.
    Transfer& take(Rank peer, std::size_t bytes, std::uint32_t* pending) noexcept {
        Transfer& transfer = *free_;
        free_ = transfer.next;
        transfer.pending = pending;
        transfer.bytes = bytes;
        transfer.peer = peer;
        transfer.in_use = true;
        if (pending != nullptr) ++*pending;
        ++in_flight_;
        return transfer;
    }
    void release(Transfer& transfer) noexcept {
        if (transfer.pending != nullptr) --*transfer.pending;
        if (!transfer.lost) --in_flight_;
        transfer.into = nullptr;
        transfer.source = Regions::kNoSource;
        transfer.staged = nullptr;
        transfer.pending = nullptr;
        transfer.in_use = transfer.failed = transfer.lost = false;
        put_back(transfer);
    }
    /// Ends a transfer for its caller. It stays in use until libfabric has completed it, which
    /// libfabric need not do if the peer has died.
    void lose(Transfer& transfer) noexcept {
        if (transfer.pending != nullptr) --*transfer.pending;
        transfer.pending = nullptr;
        transfer.into = nullptr;
        transfer.lost = true;
        --in_flight_;
    }
    [[nodiscard]] std::span<Transfer> all() noexcept { return pool_; }
    /// Returns the transfer with this context, or nullptr.
    [[nodiscard]] Transfer* find(void* context) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(context);
        const auto first = reinterpret_cast<std::uintptr_t>(pool_.data());
        const bool ours = address >= first && address - first < pool_.size() * sizeof(Transfer);
        return ours ? static_cast<Transfer*>(context) : nullptr;
    }
    /// Copies a put's sources to the memory of transfer next(), valid until release().
    [[nodiscard]] std::byte* copy(const base::Put& put) noexcept {
        const auto number = static_cast<std::size_t>(free_ - pool_.data());
        std::byte* const start = copies_.get() + number * copied_bytes_;
        put.copy_to(start);
        return start;
    }
    /// Ends all transfers without access to `pending` or the final targets of reads.
    void cancel() noexcept {
        for (Transfer& transfer : pool_) {
            transfer.pending = nullptr;
            transfer.into = nullptr;
        }
        in_flight_ = 0;
    }
    [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }

  private:
    void put_back(Transfer& transfer) noexcept {
        transfer.next = free_;
        free_ = &transfer;
    }

    std::vector<Transfer> pool_;
    Transfer* free_ = nullptr;
    std::size_t in_flight_ = 0;
    std::size_t copied_bytes_;
    std::unique_ptr<std::byte[]> copies_;  ///< copied_bytes_ bytes for each transfer
};

/// Returns a noun phrase for messages. transfer: the failed operation; nullptr: not this port's.
[[nodiscard]] inline std::string described(const FailedOperation& failed,
                                           const Transfer* transfer) {
    if (transfer != nullptr)
        return fmt::format("transfer of {} bytes with rank {}", transfer->bytes, transfer->peer);
    const bool arrival = (failed.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0;
    return arrival ? "arrival of a put" : "connection or operation of the provider";
}

/// Receives without a buffer, which immediates consume on some providers (FI_RX_CQ_DATA).
class Receives {
  public:
    /// Makes `count` receives: one for each immediate that may arrive between two polls.
    void resize(std::size_t count) {
        receives_.resize(count);
        missing_ = receives_.size();
    }
    [[nodiscard]] bool empty() const noexcept { return receives_.empty(); }
    [[nodiscard]] bool any_missing() const noexcept { return missing_ != 0; }
    /// Posts the missing receives. Returns libfabric's error, or 0, also if some stay missing.
    [[nodiscard]] ssize_t post_missing(fid_ep& endpoint) noexcept {
        ssize_t error = 0;
        for (Receive& receive : receives_) {
            if (receive.posted) continue;
            if (const ssize_t code = post(endpoint, receive); code != 0) error = code;
        }
        return error;
    }
    /// Posts a receive again that an immediate has consumed. context: of the completion.
    [[nodiscard]] ssize_t renew(fid_ep& endpoint, void* context) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(context);
        const auto first = reinterpret_cast<std::uintptr_t>(receives_.data());
        if (address < first || address - first >= receives_.size() * sizeof(Receive)) return 0;
        return post(endpoint, *static_cast<Receive*>(context));
    }

  private:
    struct Receive {
        fi_context2 context{};  // first: libfabric returns its address
        bool posted = false;
    };

    ssize_t post(fid_ep& endpoint, Receive& receive) noexcept {
        const ssize_t code =
            fi_recv(&endpoint, nullptr, 0, nullptr, FI_ADDR_UNSPEC, &receive.context);
        const bool posted = code == 0;
        missing_ += !posted && receive.posted ? 1U : 0U;
        missing_ -= posted && !receive.posted ? 1U : 0U;
        receive.posted = posted;
        return code == -FI_EAGAIN ? 0 : code;
    }

    std::vector<Receive> receives_;
    std::size_t missing_ = 0;  ///< number of receives that are not posted
};

}  // namespace weft::link
