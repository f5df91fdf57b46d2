// SPDX-License-Identifier: BSD-3-Clause
// striped_port.hpp - a port over several NICs, for long puts.
//
// Idea     A *rail* is a port over one NIC. Transfers of up to half of facts().message_bytes_max
//          use the first rail, whose NIC is nearest. The wire cuts longer puts into pieces of this
//          maximum. Each piece uses the rail with the fewest transfers in flight.
// Why      Writes of different NICs are not ordered. Therefore only two strategies use several
//          rails: immediate, because the target counts the pieces, and delivery, because the flag
//          is sent after the delivery of all pieces.
// Holds    A rail sends only to the peer's rail of the same number, so that the queue of a rail has
//          room for all peers. Puts to a peer use only the rails that both ranks have.
// Next     open_port.cpp chooses between a Port and a StripedPort.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "link/fabric/port.hpp"

namespace weft::link {

/// Returns the size of the pieces of a striped put. Sending a piece takes at least eight times as
/// long as posting it. Pieces of this size exceed staging buffers, so they are not copied.
[[nodiscard]] std::size_t piece_bytes(const ProfiledCost& cost);

class StripedPort final : public FabricPort {
  public:
    /// shared_keys: a key that the first rail chooses can be used on all rails.
    StripedPort(std::vector<std::unique_ptr<Port>> rails, std::size_t ranks,
                std::size_t piece_bytes, bool shared_keys);

    [[nodiscard]] std::span<const std::unique_ptr<Port>> rails() const { return rails_; }
    [[nodiscard]] const FabricFacts& facts() const override { return facts_; }
    [[nodiscard]] std::span<const std::byte> address() const override { return cards_; }
    void set_peer(Rank rank, std::span<const std::byte> address) override;
    base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t bytes_to_section_end(std::uint64_t offset) const noexcept override {
        return rails_.front()->bytes_to_section_end(offset);
    }
    [[nodiscard]] bool warm(Rank peer) noexcept override;
    base::Result<RemoteRegion> expose(std::span<std::byte> memory) override;
    void unexpose(const RemoteRegion& region) noexcept override;
    [[nodiscard]] base::Post try_put(const base::Put& put) noexcept override;
    [[nodiscard]] base::Post try_read(const base::Read& read) noexcept override;
    [[nodiscard]] std::size_t poll(std::span<std::uint64_t> immediates) noexcept override;
    [[nodiscard]] std::uint64_t writes() const noexcept override;
    void lose(Rank peer) noexcept override;
    void cancel() noexcept override;
    [[nodiscard]] std::size_t in_flight() const noexcept override;
    [[nodiscard]] const base::Failure* failure() const noexcept override;

  private:
    [[nodiscard]] Port& rail_for(Rank peer, std::size_t bytes, const RemoteRegion* region) noexcept;

    std::vector<std::unique_ptr<Port>> rails_;
    FabricFacts facts_;
    bool shared_keys_;
    std::vector<std::byte> cards_;            ///< see address(): the card of each rail
    std::vector<std::uint8_t> common_rails_;  ///< by peer: number of rails that both ranks have
    std::size_t next_ = 0;                    ///< rail that the next piece tries first
    std::optional<base::Failure> failure_;    ///< invalid card of a peer
};

/// Opens a port on the NIC of `found`. Uses its other NICs, too, if long puts may use them.
base::Result<std::unique_ptr<FabricPort>> open_on_nics(const FabricMemory& memory,
                                                       const FabricOptions& options, Found found);

}  // namespace weft::link
