// SPDX-License-Identifier: BSD-3-Clause
// landing.hpp - destination of an algorithm's payloads: slots or the receiver's buffer.
//
// Idea     With slots, the receiver copies each payload to its place in a buffer. If the place is
//          free until then, the receiver may expose it, and the sender puts directly there.
//          Between nodes this is one put from buffer to buffer. For a local peer, the sender
//          copies the data there.
// Why      It saves one copy of each byte, and put targets do not limit the size, so buffers are
//          not cut into pieces. It costs one signal for each message or pair of ranks, so it
//          suits long messages.
// Holds    The spec decides, so all ranks use the same method. Calls with counts use slots, because
//          the sender does not know the positions of blocks at the receiver.
// Next     near_way.hpp for blocks that local peers read in place; docs/direct-memory.md.
#pragma once

#include "collectives/blocks.hpp"
#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

enum class Landing : std::uint8_t { slot, vector };

inline constexpr Parameter kIntoParameter{
    "into", "slot",
    "destination of payloads: slot (a put target; ranks copy from there) or vector (their place "
    "in the buffer, which ranks expose first)",
    "vector"};

[[nodiscard]] inline base::Result<Landing> landing(const AlgorithmSpec& spec) {
    const SpecParameter* const given = spec.find(kIntoParameter.name);
    if (given == nullptr || given->value == "slot") return Landing::slot;
    if (given->value != "vector")
        return fail_at(given->position, "into is '{}', expected slot or vector", given->value);
    const SpecParameter* const segments = spec.find("segments");
    if (segments == nullptr || segments->value == "1") return Landing::vector;
    return fail_at(segments->position, "into=vector does not cut buffers into pieces, expected 1");
}

[[nodiscard]] inline bool lands_in_vectors(const AlgorithmSpec& spec) {
    const base::Result<Landing> into = landing(spec);
    return into.ok() && *into == Landing::vector;
}

/// Returns the spec with delivery to slots.
[[nodiscard]] AlgorithmSpec into_slots(AlgorithmSpec spec);

/// Returns the properties of an algorithm with this parameter. The constant is
/// passed by value: g++ 14 confuses references to constants of the same name in
/// two files (tests/regress/merged_promises_test.cpp).
template <Properties kUsual>
[[nodiscard]] Properties with_landing(const AlgorithmSpec& spec) {
    Properties properties = kUsual;
    properties.direct = lands_in_vectors(spec);
    return properties;
}

/// Returns the program whose segments `write(writer, request, landing)` writes. With into=vector
/// there is one segment.
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

/// Puts a block directly to the place that rank `to` has exposed for it by signal `exposed`.
inline void put_into_place(BlockWriter& writer, Rank to, std::uint32_t number,
                           std::uint32_t exposed, plan::Block source) {
    writer->put_mapped(to, number, plan::mapped(to, exposed, source.first, source.count), source);
}

}  // namespace weft::collectives
