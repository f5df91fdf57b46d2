// SPDX-License-Identifier: BSD-3-Clause
// wire.hpp - one put over two media: stores through shared mappings, puts over the network.
//
// Idea     Where the peer's segment is mapped a put is a copy and a release store. Elsewhere it is one
//          or more network puts with immediates: an immediate names the cell (its line in the segment)
//          and what has landed there; the flag is raised by its owner when all of it has.
// Why      No network here promises an order between two puts (docs/one-sided.md). An immediate says
//          only that its own data is in place, so a large put counts its pieces.
// Holds    Nothing blocks or allocates after construction. One thread drives a wire. Fits
//          run::Transport without knowing it.
// Next     link/fabric/fabric.hpp for the network; run/execute/transport.hpp for the user.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/put.hpp"
#include "base/result.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::link {

struct WireOptions {
    Rank rank = 0;  ///< of this process in the job
    std::uint64_t segment_bytes = 0;
    std::uint64_t cells_end = 0;  ///< all cells of a segment lie below this offset
    bool spin = false;            ///< the ranks of this host fit its processors: wait by spinning
};

class Wire {
  public:
    /// `near`: by rank, where its segment is mapped, or nullptr. `port`: nullptr if every rank is near.
    Wire(std::vector<std::byte*> near, std::unique_ptr<FabricPort> port, WireOptions options);

    [[nodiscard]] base::Post try_put(const base::Put& put, std::uint64_t& resume) noexcept;
    [[nodiscard]] std::byte* near(Rank rank) const noexcept {
        return near_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return options_.segment_bytes; }
    void progress() noexcept {
        if (port_) poll_port();
    }
    void relax(unsigned failures) const noexcept;
    [[nodiscard]] const base::Failure* failure() const noexcept {
        return port_ ? port_->failure() : nullptr;
    }

    /// The network under this wire; nullptr in a job of one node.
    [[nodiscard]] const FabricPort* port() const noexcept { return port_.get(); }
    [[nodiscard]] std::size_t in_flight() const noexcept { return port_ ? port_->in_flight() : 0; }

  private:
    /// What an immediate says of the cell it names.
    enum class Landed : std::uint32_t {
        all = 0,     ///< flag word and payload
        piece = 1,   ///< a piece of the payload
        header = 2,  ///< the flag word and how many pieces there are
    };
    struct Free {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };
    /// Memory that outlives an injected put where the network cannot inject a cell.
    struct Staging {
        std::uint32_t pending = 0;
        std::byte bytes[sizeof(base::Cell)];
    };

    base::Post put_near(const base::Put& put, std::byte* peer) noexcept;
    base::Post put_cell(const base::Put& put) noexcept;
    base::Post put_pieces(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post post_header(const base::Put& put, const std::byte* bytes, std::size_t size,
                           Landed landed) noexcept;
    void poll_port() noexcept;
    void warm_one() noexcept;
    void land(std::uint32_t immediate) noexcept;
    static std::uint32_t immediate_for(std::uint64_t cell, Landed landed) noexcept {
        return static_cast<std::uint32_t>(cell / sizeof(base::Cell)) << 2 |
               static_cast<std::uint32_t>(landed);
    }

    std::vector<std::byte*> near_;
    WireOptions options_;
    std::byte* own_;
    std::vector<Rank> cold_;  ///< far peers that are not connected yet, of a small job
    unsigned polls_ = 0;
    std::size_t piece_bytes_max_ = 0;
    bool can_inject_cells_ = false;
    std::vector<Staging> staging_;
    std::size_t next_staging_ = 0;
    /// By cell line: pieces announced minus pieces landed; 0 when a put is whole.
    std::unique_ptr<std::int32_t[], Free> missing_;
    std::unique_ptr<FabricPort> port_;  ///< last: closing it still reads staged cells
};

}  // namespace weft::link
