// SPDX-License-Identifier: BSD-3-Clause
// wire.hpp - one interface for puts: stores to shared mappings, and puts over the network.
//
// Idea     If the peer's segment is mapped, a put is a copy and a release store. Otherwise it is
//          one or more network puts (remote_puts.hpp), and the owner of the cell raises its flag
//          when the delivery of the whole put is proven (arrivals.hpp).
// Why      Networks guarantee no order between two puts in general (docs/one-sided.md, section 3).
// Holds    Nothing blocks, or allocates after construction. One thread drives a wire. Satisfies
//          run::Transport and run::Network without including them.
// Next     link/fabric/fabric.hpp for the network; run/execute/transport.hpp for the user.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "link/fabric/fabric.hpp"
#include "link/wire/arrivals.hpp"
#include "link/wire/exposed_memory.hpp"
#include "link/wire/remote_puts.hpp"
#include "link/wire/waiter.hpp"
#include "link/wire/write_counts.hpp"

namespace weft::link {

struct WireOptions {
    Rank rank = 0;  ///< of this process in the job
    std::uint64_t segment_bytes = 0;
    std::uint64_t cells_end = 0;  ///< all cells of a segment are below this offset
    bool spin = false;            ///< the ranks of this host fit its processors: waits may spin
    /// Processor time is limited by a quota, so waits sleep early to save it.
    bool limited_time = false;
};

class Wire {
  public:
    /// `near` has the mapped segment of each rank, or nullptr. `port` is nullptr if all ranks are
    /// local. `direct` accesses memory of local peers outside their segments; it may be nullptr.
    Wire(std::vector<std::byte*> near, std::unique_ptr<FabricPort> port, WireOptions options,
         std::unique_ptr<DirectMemory> direct = nullptr);
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    /// Posts a put. `resume` is as in run::Transport.
    [[nodiscard]] base::Post try_put(const base::Put& put, std::uint64_t& resume) noexcept {
        if (std::byte* peer = near(put.peer)) return put_near(put, peer);
        return remote_.put(put, resume);
    }
    [[nodiscard]] base::Post try_read(const base::Read& read, std::uint64_t& resume) noexcept {
        return remote_.read(read, resume);
    }
    [[nodiscard]] std::byte* near(Rank rank) const noexcept { return near_[rank]; }
    [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return options_.segment_bytes; }
    void progress() noexcept {
        if (port_) {
            poll_port();
        } else if (service_.serve != nullptr) [[unlikely]] {
            if (service_.serve(service_.argument)) waiter_.note_activity();
        }
    }
    void settle(std::uint64_t cell) noexcept { arrivals_.settle(cell); }
    void relax(unsigned failures) noexcept { waiter_.relax(failures); }
    /// See run::Transport. Memory of local peers stays reachable.
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

    /// Makes every later call on the wire fail for this reason.
    void fail(base::Failure why) noexcept { arrivals_.fail(std::move(why)); }
    void distrust(Rank rank, const char* what) noexcept { arrivals_.distrust(rank, what); }
    [[nodiscard]] const base::Failure* failure() const noexcept {
        const base::Failure* const own = arrivals_.failure();
        return own != nullptr || !port_ ? own : port_->failure();
    }

    [[nodiscard]] ExposedMemory& memory() noexcept { return memory_; }
    [[nodiscard]] const ExposedMemory& memory() const noexcept { return memory_; }
    [[nodiscard]] Waiter& waiter() noexcept { return waiter_; }
    [[nodiscard]] const Waiter& waiter() const noexcept { return waiter_; }
    [[nodiscard]] WriteCounts& counts() noexcept { return counts_; }
    [[nodiscard]] const base::RemoteFacts& remote() const noexcept { return facts_; }
    void forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept {
        arrivals_.forget_pieces(offset, bytes);
    }
    /// Returns the network of this wire, or nullptr in a job of one node.
    [[nodiscard]] const FabricPort* port() const noexcept { return port_.get(); }
    /// Returns the number of incomplete network puts, and of flags that wait for some of them.
    [[nodiscard]] std::size_t in_flight() const noexcept {
        return port_ ? port_->in_flight() + remote_.deferred() : 0;
    }

  private:
    base::Post put_near(const base::Put& put, std::byte* peer) noexcept;
    void poll_port() noexcept;
    void warm_one() noexcept;

    std::vector<std::byte*> near_;
    WireOptions options_;
    base::RemoteFacts facts_;
    WireService service_;
    Waiter waiter_;
    WriteCounts counts_;
    Arrivals arrivals_;
    RemotePuts remote_;
    ExposedMemory memory_;
    std::vector<Rank> cold_;  ///< unconnected remote peers, in a small job
    unsigned polls_ = 0;
    std::size_t in_flight_seen_ = 0;    ///< in_flight() of the port at the last poll
    std::unique_ptr<FabricPort> port_;  ///< last: closing it still counts in `remote_`
};

}  // namespace weft::link
