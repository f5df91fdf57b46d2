// SPDX-License-Identifier: BSD-3-Clause
// near_way.hpp - transfer of blocks to local peers, in algorithms where every rank
// uses the network.
//
// Idea     Short payloads are put to local peers as to other nodes. Blocks of long payloads are
//          exposed in place: in the caller's buffer, or in the slot that another node has put
//          them to. The local peer copies, reduces or forwards them from there, and signals that
//          it is done.
// Why      A put to a local peer copies the block into a slot, and the peer copies it out again. An
//          exposed block is copied once, by the peer that needs it.
// Source   Huang et al., PiP-MColl: shared receive buffers, ports that send from the buffers of
//          other ranks, reductions directly from the sources.
// Holds    All ranks use the same method, because it follows from the spec and from facts that all
//          know. The length of a payload counts, not the length of its blocks. Blocks of
//          consecutive ranks are exposed together if they adjoin in every buffer, else one by one.
//          So any layout and any number of pieces work. At the end of each piece the program waits
//          for its local peers, so the next piece may write to the memory that they have read.
// Next     node_position.hpp for ports; families/in_place.cpp for collectives of one node.
#pragma once

#include "collectives/blocks.hpp"
#include "collectives/node_position.hpp"
#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

enum class NearWay : std::uint8_t { put, mapped };

/// From this size on, reading a block in place takes less time than a copy into a slot and out of
/// it. The time includes the signal that the reader is done.
inline constexpr std::uint64_t kNearMappedBytes = 8192;

inline constexpr Parameter kNearParameter{
    "near", "auto",
    "how ranks of a node exchange blocks: put, mapped (local peers read them in place), or "
    "auto (mapped from 8 KiB on, if possible)",
    "mapped"};

/// Returns the method that the spec names. If it leaves the choice, `bytes` decides: the size of
/// the longest payload that a rank would put to a local peer.
[[nodiscard]] inline base::Result<NearWay> near_way(const AlgorithmSpec& spec,
                                                    std::uint64_t bytes) {
    const SpecParameter* const given = spec.find(kNearParameter.name);
    if (given == nullptr || given->value == "auto")
        return bytes >= kNearMappedBytes ? NearWay::mapped : NearWay::put;
    if (given->value == "put") return NearWay::put;
    if (given->value == "mapped") return NearWay::mapped;
    return fail_at(given->position, "near is '{}', expected auto, put or mapped", given->value);
}

/// Returns the spec for ranks that cannot access each other's memory. It adds `near=put` if the
/// algorithm has the parameter and the spec does not give it.
[[nodiscard]] AlgorithmSpec with_near_puts(std::string_view collective, AlgorithmSpec spec);

/// Returns the properties of an algorithm with this parameter. The constant is
/// passed by value: g++ 14 confuses references to constants of the same name in
/// two files (tests/regress/merged_promises_test.cpp).
template <Properties kUsual>
[[nodiscard]] Properties with_near_way(const AlgorithmSpec& spec) {
    Properties properties = kUsual;
    const SpecParameter* const given = spec.find(kNearParameter.name);
    properties.direct = given != nullptr && given->value == "mapped";
    return properties;
}

/// Returns the bytes of one rank's block, for a vector with a block for each rank.
[[nodiscard]] inline std::uint64_t block_bytes(const GenerateRequest& request) {
    return request.elements / static_cast<std::uint64_t>(request.size) * request.element_bytes;
}

/// Calls visit(first, count) for the runs of ranks, on some nodes, whose blocks are exposed
/// together. A run has all consecutive ranks if their blocks adjoin in memory, else one rank.
template <class Visit>
void for_each_exposed_run(const BlockWriter& writer, const GenerateRequest& request,
                          const plan::Layout& layout, NodeWindow nodes, Visit visit) {
    const bool adjoin = !writer.pipelined() && request.counts.empty();
    for_each_run(layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
        if (adjoin) return visit(first, count);
        for (std::uint32_t i = 0; i < count; ++i) visit(first + i, 1U);
    });
}

/// Returns the block that a local peer has exposed instead of putting it into this slot.
[[nodiscard]] inline plan::Block at_peer(Rank peer, plan::Block slot) {
    slot.buffer = plan::Buffer::mapped;
    slot.peer = peer;
    return slot;
}

/// Exposes blocks to the local peers, and waits until they are done with them.
class LocalPeers {
  public:
    /// A rank signals that it is done by number `first_done` + its local rank.
    LocalPeers(plan::Builder& builder, const NodePosition& here, std::uint32_t first_done)
        : builder_(builder), here_(here), others_(here.others()), first_done_(first_done) {}

    void expose(std::uint32_t number, plan::Block block) {
        for (const Rank peer : others_) builder_.expose(peer, number, block);
    }
    void tell_done(Rank peer) { builder_.signal(peer, done(here_.local)); }
    void tell_done() {
        for (const Rank peer : others_) tell_done(peer);
    }
    void await_done(Rank peer) { builder_.wait(peer, done(here_.layout.local_of(peer))); }
    void await_done() {
        for (const Rank peer : others_) await_done(peer);
    }

  private:
    [[nodiscard]] std::uint32_t done(Rank local) const {
        return first_done_ + static_cast<std::uint32_t>(local);
    }

    plan::Builder& builder_;
    const NodePosition& here_;
    std::vector<Rank> others_;
    std::uint32_t first_done_;
};

}  // namespace weft::collectives
