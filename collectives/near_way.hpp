// SPDX-License-Identifier: BSD-3-Clause
// near_way.hpp - how algorithms in which every rank drives the network hand blocks to node-mates.
//
// Idea     Short payloads are put to mates as they are put to other nodes. The blocks of long ones
//          are exposed where they lie: in the caller's vector, or in the slot to which another node
//          has put them. A mate copies, reduces or puts on from there and says when it is done.
// Why      A put to a mate copies the block into a slot, and the mate copies it again. An exposed
//          block is copied once, by the one who needs it.
// Source   Huang et al., PiP-MColl: shared receive buffers, ports that send from others' buffers,
//          reductions straight from the sources.
// Holds    The same way on all ranks: it follows from the spec and from what all know of the call.
//          What would be put as one payload counts as one, however short its blocks are. Blocks of
//          neighbours are exposed together where they adjoin in every vector, else one by one: so
//          ranks may stand anywhere, and pieces follow each other like those of other blocks. The
//          program waits for its mates at the end of each piece, so what they read there may be
//          written in the next.
// Next     node_position.hpp for ports; mapped.hpp for collectives of one node.
#pragma once

#include "collectives/blocks.hpp"
#include "collectives/node_position.hpp"
#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

enum class NearWay : std::uint8_t { put, mapped };

/// From so many bytes on it takes less time to read a block where it lies, and to say so, than to
/// copy it into a slot and out again.
inline constexpr std::uint64_t kNearMappedBytes = 8192;

inline constexpr Parameter kNearParameter{
    "near", "auto",
    "how ranks of a node hand each other blocks: put, mapped (others read them where they lie), or "
    "auto (mapped from 8 KiB on, where that is possible)",
    "mapped"};

/// What the parameter says; if it leaves the choice, by the bytes of the longest payload that one
/// rank of a node would put to another.
[[nodiscard]] inline base::Result<NearWay> near_way(const AlgorithmSpec& spec,
                                                    std::uint64_t bytes) {
    const SpecParameter* const given = spec.find(kNearParameter.name);
    if (given == nullptr || given->value == "auto")
        return bytes >= kNearMappedBytes ? NearWay::mapped : NearWay::put;
    if (given->value == "put") return NearWay::put;
    if (given->value == "mapped") return NearWay::mapped;
    return fail_at(given->position, "near is '{}', expected auto, put or mapped", given->value);
}

/// The spec for ranks that do not reach each other's memory: with `near=put`, if the algorithm has
/// the parameter and the spec leaves the choice.
[[nodiscard]] AlgorithmSpec with_near_puts(std::string_view collective, AlgorithmSpec spec);

/// What an algorithm that has this parameter promises. By value: g++ 14 takes references to two
/// files' own constants of one name for the same (tests/regress/merged_promises_test.cpp).
template <Properties kUsual>
[[nodiscard]] Properties with_near_way(const AlgorithmSpec& spec) {
    Properties properties = kUsual;
    const SpecParameter* const given = spec.find(kNearParameter.name);
    properties.direct = given != nullptr && given->value == "mapped";
    return properties;
}

/// Bytes of a vector of which each rank has a block; of one block.
[[nodiscard]] inline std::uint64_t block_bytes(const GenerateRequest& request) {
    return request.elements / static_cast<std::uint64_t>(request.size) * request.element_bytes;
}

/// Visits the runs of ranks (first, count) on some nodes whose blocks are exposed together: all
/// that follow each other, if their blocks do so in memory, else each rank alone.
template <class Visit>
void for_each_exposed_run(const BlockWriter& writer, const GenerateRequest& request,
                          const plan::Layout& layout, NodeWindow nodes, Visit visit) {
    const bool adjoin = !writer.pipelined() && request.counts.empty();
    for_each_run(layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
        if (adjoin) return visit(first, count);
        for (std::uint32_t i = 0; i < count; ++i) visit(first + i, 1U);
    });
}

/// The block that a mate has exposed, instead of putting it into this slot.
[[nodiscard]] inline plan::Block at_mate(Rank mate, plan::Block slot) {
    slot.buffer = plan::Buffer::mapped;
    slot.peer = mate;
    return slot;
}

/// Exposes blocks to the ranks of a node and learns when they are done with them.
class Mates {
  public:
    /// A rank says that it is done by the number first_done + its place on the node.
    Mates(plan::Builder& builder, const NodePosition& here, std::uint32_t first_done)
        : builder_(builder), here_(here), others_(here.others()), first_done_(first_done) {}

    void expose(std::uint32_t number, plan::Block block) {
        for (const Rank mate : others_) builder_.expose(mate, number, block);
    }
    void tell_done(Rank mate) { builder_.signal(mate, done(here_.local)); }
    void tell_done() {
        for (const Rank mate : others_) tell_done(mate);
    }
    void await_done(Rank mate) { builder_.wait(mate, done(here_.layout.local_of(mate))); }
    void await_done() {
        for (const Rank mate : others_) await_done(mate);
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
