// SPDX-License-Identifier: BSD-3-Clause
// landing.hpp - where the payloads of an algorithm land: in put targets, or where they belong.
//
// Idea     A rank that copies a payload out of a slot, into a place of its vector that nothing else
//          needs until then, may expose that place to the sender, who puts there. Between nodes
//          that is one put from the caller's vector into the receiver's; to a mate the sender
//          copies it there.
// Why      A copy less of each byte, and no limit by the size of put targets: vectors go as a
//          whole. It costs a signal for each message or for each pair of ranks, so it is for long
//          ones.
// Holds    The same way on all ranks: it follows from the spec. Calls whose blocks have counts use
//          slots: such blocks may lie apart, which the sender does not know.
// Next     near_way.hpp for blocks that mates read where they lie; docs/direct-memory.md.
#pragma once

#include "collectives/blocks.hpp"
#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

enum class Landing : std::uint8_t { slot, vector };

inline constexpr Parameter kIntoParameter{
    "into", "slot",
    "where payloads land: slot (a put target, from which they are copied) or vector (where they "
    "belong; ranks expose that first)",
    "vector"};

[[nodiscard]] inline base::Result<Landing> landing(const AlgorithmSpec& spec) {
    const SpecParameter* const given = spec.find(kIntoParameter.name);
    if (given == nullptr || given->value == "slot") return Landing::slot;
    if (given->value != "vector")
        return fail_at(given->position, "into is '{}', expected slot or vector", given->value);
    const SpecParameter* const segments = spec.find("segments");
    if (segments == nullptr || segments->value == "1") return Landing::vector;
    return fail_at(segments->position, "vectors go as a whole where into=vector, expected 1");
}

[[nodiscard]] inline bool lands_in_vectors(const AlgorithmSpec& spec) {
    const base::Result<Landing> into = landing(spec);
    return into.ok() && *into == Landing::vector;
}

/// The spec for calls whose payloads must land in slots.
[[nodiscard]] AlgorithmSpec into_slots(AlgorithmSpec spec);

/// What an algorithm that has this parameter promises. By value: g++ 14 takes references to two
/// files' own constants of one name for the same (tests/regress/merged_promises_test.cpp).
template <Properties kUsual>
[[nodiscard]] Properties with_landing(const AlgorithmSpec& spec) {
    Properties properties = kUsual;
    properties.direct = lands_in_vectors(spec);
    return properties;
}

/// The program of which `write(writer, request, landing)` writes a segment, or all of it.
template <class Write>
[[nodiscard]] base::Result<plan::Program> program_that_lands(const BlockCall& call,
                                                             const AlgorithmSpec& spec,
                                                             GenerateRequest request, Write write) {
    const base::Result<Landing> into = landing(spec);
    if (!into) return into.failure();
    if (*into == Landing::vector) request.segments = 1;
    return program_by_blocks(
        call, spec, request,
        [&](BlockWriter& writer, const GenerateRequest& asked) { write(writer, asked, *into); });
}

/// Puts a block to the place that a rank has exposed for it, by the number `exposed`.
inline void put_into_place(BlockWriter& writer, Rank to, std::uint32_t number,
                           std::uint32_t exposed, plan::Block source) {
    writer->put_mapped(to, number, plan::mapped(to, exposed, source.first, source.count), source);
}

}  // namespace weft::collectives
