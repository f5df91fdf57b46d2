// SPDX-License-Identifier: BSD-3-Clause
// wire.hpp - one interface for puts: stores to shared mappings, and puts over the network.
//
// Idea     If the peer's segment is mapped, a put is a copy and a release store. Otherwise it is
//          one or more network puts (remote_puts.hpp), and the owner of the cell raises its flag
//          when the delivery of the whole put is proven (arrivals.hpp).
// Why      Networks guarantee no order between two puts in general (docs/one-sided.md, section 3).
// Holds    Only relax() blocks. One thread drives a wire. Satisfies run::Transport and run::Network
//          without including them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "link/fabric/fabric.hpp"
#include "link/wire/arrivals.hpp"
#include "link/wire/encoding.hpp"
#include "link/wire/exposed_memory.hpp"
#include "link/wire/remote_puts.hpp"
#include "link/wire/waiter.hpp"

namespace weft::link {

struct WireOptions {
    Rank rank = 0;                    ///< this process's rank in the job
    std::uint64_t segment_bytes = 0;  ///< size of each rank's segment
    std::uint64_t cells_end = 0;      ///< all cells of a segment are below this offset
    /// Waits may spin, because this host has a processor for each of its ranks.
    bool spin = false;
    /// Processor time is limited by a quota, so waits sleep early to save it.
    bool limited_time = false;
};

class Wire {
  public:
    /// `segments` has the mapped segment of each rank of the job; nullptr: the rank is remote.
    /// `port` is nullptr if all ranks are local. `direct` accesses memory of local peers outside
    /// their segments; nullptr: no such access.
    Wire(std::vector<std::byte*> segments, std::unique_ptr<FabricPort> port, WireOptions options,
         std::unique_ptr<DirectMemory> direct = nullptr);
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    /// Posts a put. `resume`: 0 at the first attempt, unchanged after base::Post::again.
    [[nodiscard]] base::Post try_put(const base::Put& put, std::uint64_t& resume) noexcept {
        if (std::byte* peer = near(put.peer)) return put_local(put, peer);
        return remote_.put(put, resume);
    }
    [[nodiscard]] base::Post try_read(const base::Read& read, std::uint64_t& resume) noexcept {
        return remote_.read(read, resume);
    }
    /// Returns the mapped segment of a rank, or nullptr if the rank is remote.
    [[nodiscard]] std::byte* near(Rank rank) const noexcept { return segments_[rank]; }
    [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return options_.segment_bytes; }
    /// Handles deliveries and completions of the network, and runs the service.
    void progress() noexcept {
        if (port_) return poll_port();
        if (service_.serve != nullptr) [[unlikely]]
            if (service_.serve(service_.argument)) waiter_.note_activity();
    }
    /// Raises the flag of this rank's cell if a put to it without an immediate is delivered.
    void settle(std::uint64_t cell) noexcept { arrivals_.settle(cell); }
    /// Pauses after `failures` failed polls in a row; see Waiter.
    void relax(unsigned failures) noexcept { waiter_.relax(failures); }
    /// Ends the network transfers with a rank that has died; see FabricPort::lose().
    void lose(Rank rank) noexcept {
        std::erase(unconnected_, rank);
        if (port_ && near(rank) == nullptr) port_->lose(rank);
    }
    /// Ends all network transfers; see FabricPort::cancel(). Memory of local peers is accessible.
    void cancel() noexcept {
        if (port_) port_->cancel();
        remote_.cancel();
    }
    /// Sets the service for requests and messages of peers; see WireService.
    void set_service(bool (*serve)(void* argument),
                     void (*on_immediate)(void* argument, std::uint64_t payload),
                     void* argument) noexcept {
        service_ = {serve, on_immediate, argument};
    }

    /// Sets failure() unless it is set. The engine then fails its calls.
    void fail(base::Failure why) noexcept { arrivals_.fail(std::move(why)); }
    /// Fails the wire because a remote rank (-1: unknown) sent invalid data, described by `what`.
    void distrust(Rank rank, const char* what) noexcept { arrivals_.distrust(rank, what); }
    /// Returns the wire's first failure, else its port's failure, or nullptr.
    [[nodiscard]] const base::Failure* failure() const noexcept {
        const base::Failure* const own = arrivals_.failure();
        return own != nullptr || !port_ ? own : port_->failure();
    }

    [[nodiscard]] ExposedMemory& memory() noexcept { return memory_; }
    [[nodiscard]] const ExposedMemory& memory() const noexcept { return memory_; }
    [[nodiscard]] Waiter& waiter() noexcept { return waiter_; }
    [[nodiscard]] const Waiter& waiter() const noexcept { return waiter_; }
    [[nodiscard]] WriteCounts& counts() noexcept { return counts_; }
    /// Returns the network's guarantees; all defaults in a job of one node.
    [[nodiscard]] const base::RemoteFacts& remote() const noexcept { return facts_; }
    void forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept {
        arrivals_.forget_pieces(offset, bytes);
    }
    /// Returns the network of this wire, or nullptr in a job of one node.
    [[nodiscard]] const FabricPort* port() const noexcept { return port_.get(); }
    /// Returns the number of incomplete network transfers and of deferred puts (remote_puts.hpp).
    [[nodiscard]] std::size_t in_flight() const noexcept {
        return port_ ? port_->in_flight() + remote_.deferred() : 0;
    }

  private:
    base::Post put_local(const base::Put& put, std::byte* peer) noexcept;
    void poll_port() noexcept;
    void try_connect() noexcept;

    std::vector<std::byte*> segments_;
    WireOptions options_;
    base::RemoteFacts facts_;
    WireService service_;
    Waiter waiter_;
    WriteCounts counts_;
    Arrivals arrivals_;
    RemotePuts remote_;
    ExposedMemory memory_;
    std::vector<Rank> unconnected_;   ///< remote peers to connect to; empty in a large job
    unsigned polls_ = 0;              ///< number of polls while peers are unconnected
    std::size_t in_flight_seen_ = 0;  ///< in_flight() of the port at the last poll
    /// Destroyed first: a port that closes still decrements counters in `remote_`.
    std::unique_ptr<FabricPort> port_;
};

}  // namespace weft::link
