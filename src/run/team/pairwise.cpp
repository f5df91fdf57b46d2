// SPDX-License-Identifier: BSD-3-Clause
// pairwise.cpp - binds calls whose counts only the two ends of each message know.
//
// Next     collectives/v_collective.hpp for their programs; plan.cpp for all other calls.
#include <limits>

#include "collectives/v_collective.hpp"
#include "run/bind/bind.hpp"
#include "run/team/plan.hpp"

namespace weft::run {

namespace {

/// Messages that a rank sends or receives, and their starts in the caller's memory, in elements.
struct Messages {
    std::vector<collectives::Message> list;
    std::vector<std::uint64_t> starts;

    void add(Rank peer, std::uint64_t count, std::uint64_t start) {
        if (count == 0) return;
        list.push_back({peer, count});
        starts.push_back(start);
    }
};

/// `own_block` adds the single message of a non-root rank in a rooted call.
Messages messages_of(const Call& call, const Blocks& blocks, bool own_block) {
    Messages messages;
    const std::vector<std::uint64_t> starts = starts_of(blocks);
    for (std::size_t rank = 0; rank < blocks.counts.size(); ++rank)
        messages.add(static_cast<Rank>(rank), blocks.counts[rank], starts[rank]);
    if (own_block) messages.add(call.root, call.count, 0);
    return messages;
}

/// Chooses the messages that are read in place. Both ends decide equally, from the count and from
/// whether they share a node.
void choose_mapped(const PlanContext& context, std::uint32_t element_bytes, Messages& messages) {
    const std::uint64_t least = mapped_bytes_min(context.machine);
    for (collectives::Message& message : messages.list) {
        const bool near = context.near[static_cast<std::size_t>(message.peer)];
        message.mapped = near && message.count * element_bytes >= least;
    }
}

/// Fails unless a rank's send and receive counts for itself are equal.
base::Result<void> check_own_message(const Call& call, Rank rank) {
    const auto to_itself = [&](const Blocks& blocks) {
        return blocks.counts.empty() ? call.count : blocks.counts[static_cast<std::size_t>(rank)];
    };
    const bool has_both = !call.in_blocks.counts.empty() || !call.out_blocks.counts.empty();
    const std::size_t sent = to_itself(call.in_blocks);
    const std::size_t received = to_itself(call.out_blocks);
    if (!has_both || sent == received) return {};
    return base::fail(Status::argument,
                      "rank {} sends {} elements to itself and expects {} from itself", rank, sent,
                      received);
}

}  // namespace

std::uint64_t mapped_bytes_min(const plan::Machine& machine) {
    const std::int64_t byte_fs = machine.near.byte_fs - machine.mapped_byte_fs;
    if (!machine.direct || byte_fs <= 0) return std::numeric_limits<std::uint64_t>::max();
    const plan::Time more =
        machine.mapped + machine.near.latency + machine.near.issue + machine.near.receive;
    return static_cast<std::uint64_t>(more * 1000 / byte_fs) + 1;
}

base::Result<BoundProgram> bind_pairwise(const PlanContext& context, const Call& call,
                                         const ChosenAlgorithm& algorithm, BindOptions options) {
    const collectives::CollectiveTraits& traits = traits_of(call.collective);
    if (algorithm.text != collectives::kPairwiseAlgorithm)
        return base::fail(Status::argument, "{} has no algorithm '{}'; it has {}", traits.name,
                          algorithm.text, collectives::kPairwiseAlgorithm);
    if (auto checked = check_own_message(call, context.rank); !checked) return checked.failure();
    const std::uint64_t slot = even_slot_bytes(
        options.shape, static_cast<std::uint32_t>(context.size), collectives::kVCollectiveDepth);
    const std::uint64_t piece = slot / options.element_bytes;
    if (piece == 0)
        return base::fail(
            Status::memory,
            "put targets of {} bytes for each of {} ranks do not hold an element of {} "
            "bytes (WEFT_BANK_BYTES sets the {} bytes of a bank)",
            slot, context.size, options.element_bytes, options.shape.bulk_bytes);
    using collectives::VectorPart;
    Messages sent = messages_of(call, call.in_blocks, traits.input == VectorPart::own_block);
    Messages received = messages_of(call, call.out_blocks, traits.output == VectorPart::own_block);
    choose_mapped(context, options.element_bytes, sent);
    choose_mapped(context, options.element_bytes, received);
    auto program = collectives::generate_v_collective({.collective = traits.name,
                                                       .rank = context.rank,
                                                       .size = context.size,
                                                       .root = call.root,
                                                       .piece_elements = piece,
                                                       .sent = sent.list,
                                                       .received = received.list});
    if (!program) return program.failure();
    // By block of the program: first the sent messages, then the received ones.
    const std::size_t blocks = sent.starts.size() + received.starts.size();
    received.starts.insert(received.starts.begin(), sent.starts.size(), 0);
    sent.starts.resize(blocks);
    options.input_starts = std::move(sent.starts);
    options.output_starts = std::move(received.starts);
    return bind(*std::move(program), options);
}

}  // namespace weft::run
