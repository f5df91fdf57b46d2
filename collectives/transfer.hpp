// SPDX-License-Identifier: BSD-3-Clause
// transfer.hpp - the parameters `into` and `near`, which replace slots by direct access to buffers.
//
// Idea     With slots, a receiver copies each payload to its place in a buffer.
//          into=vector: if no earlier step uses that place, the receiver exposes it, and the sender
//          puts directly into it. Between nodes this is one put from buffer to buffer.
//          near=mapped: in algorithms where every rank uses the network, a rank exposes its blocks
//          to local peers: in the caller's buffer, or in the slot into which another node has put
//          them. The peer copies, reduces or forwards them in place, then signals that it is done.
// Why      Both parameters save one copy of each byte and cost a signal for each message or pair of
//          ranks, so they suit long messages. With into=vector, put targets do not limit the size,
//          so buffers are not cut into pieces.
// Source   Huang et al., PiP-MColl: shared receive buffers, ports that send from the buffers of
//          other ranks, reductions directly from the sources.
// Holds    All ranks use the same method, because it follows from the spec and from facts that all
//          ranks know. Calls with counts ignore into=vector, because a sender does not know the
//          positions of blocks at the receiver.
// Next     docs/direct-memory.md.
#pragma once

#include "collectives/algorithm.hpp"

namespace weft::collectives {

/// Destination of payloads: a slot, or the receiver's buffer.
enum class Delivery : std::uint8_t { slot, direct };

inline constexpr Parameter kIntoParameter{
    "into", "slot",
    "destination of payloads: slot (a put target; ranks copy from there) or vector (their place "
    "in the buffer, which ranks expose first)",
    "vector"};

/// Returns the delivery that the spec names.
[[nodiscard]] base::Result<Delivery> delivery(const AlgorithmSpec& spec);
[[nodiscard]] bool delivers_directly(const AlgorithmSpec& spec);
/// Returns the spec with delivery to slots.
[[nodiscard]] AlgorithmSpec into_slots(AlgorithmSpec spec);

/// Transfer of blocks to local peers: by a put, or the peer reads them in the sender's memory.
enum class LocalTransfer : std::uint8_t { put, in_place };

/// Bytes from which reading a block in place, with the signal that the reader is done, takes less
/// time than a copy into a slot and another out of it.
inline constexpr std::uint64_t kLocalInPlaceBytes = 8192;

inline constexpr Parameter kNearParameter{
    "near", "auto",
    "how ranks of a node exchange blocks: put, mapped (local peers read them in place), or "
    "auto (mapped from 8 KiB on, if possible)",
    "mapped"};

/// Returns the method that the spec names. With near=auto or no `near`, `bytes` decides: the size
/// of the longest payload that a rank would put to a local peer.
[[nodiscard]] base::Result<LocalTransfer> local_transfer(const AlgorithmSpec& spec,
                                                         std::uint64_t bytes);
/// Returns the spec for ranks that cannot access each other's memory: with `near=put` in place of
/// `near=auto` or no value, if the algorithm has the parameter.
[[nodiscard]] AlgorithmSpec with_local_puts(std::string_view collective, AlgorithmSpec spec);

}  // namespace weft::collectives
