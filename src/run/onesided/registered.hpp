// SPDX-License-Identifier: BSD-3-Clause
// registered.hpp - puts and gets that neither loads and stores nor network writes can do.
//
// Idea     The kernel copies from and to memory that a local peer has registered. If that
//          fails, or if the network has not registered the memory, the peer itself is asked to
//          copy. The data passes through this rank's buffer in the segment (onesided/area.hpp),
//          or within requests.
// Holds    Requests to a peer are done in order. Copies by the kernel are complete when the call
//          returns. If the kernel refuses in the middle, the peer repeats the whole copy.
// Why      Requests reach all memory of a live process, which no other method guarantees on
//          every machine (docs/decisions/0020-registered-memory.md).
// Next     service.hpp for the peer's side.
#pragma once

#include "base/copy.hpp"
#include "base/reach.hpp"
#include "run/onesided/onesided.hpp"

namespace weft::run {

template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::copy_to(Rank rank, const RemoteAddress& to, const std::byte* from,
                                    std::size_t bytes) noexcept {
    return to.memory->copied &&
           wire_.memory().copy_to(rank, {.address = to.address()}, from, bytes);
}

template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::copy_from(Rank rank, const RemoteAddress& from, std::byte* into,
                                      std::size_t bytes) noexcept {
    if (!from.memory->copied ||
        !wire_.memory().copy_from(rank, {.address = from.address()}, into, bytes))
        return false;
    std::atomic_thread_fence(std::memory_order_acquire);  // as in copy_near()
    return true;
}

/// Gets by requests. If `into` is in this rank's segment, one piece is enough; else pieces pass
/// through the buffer.
template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::get_by_request(Stream& of, Rank rank, std::byte* into,
                                           const RemoteAddress& from, std::size_t bytes) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(own_);
    const std::uint64_t segment = wire_.segment_bytes();
    const bool direct = offset < segment && bytes <= segment - offset;
    if (!direct && !until([&] { return !buffer_taken_; }, rank, "get")) return false;
    buffer_taken_ = buffer_taken_ || !direct;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t piece =
            direct ? bytes : std::min<std::size_t>(bytes - done, OneSidedArea::kBufferBytes);
        const std::uint64_t number = send_after_writes(of, rank,
                                                       {.kind = RequestKind::get,
                                                        .offset = (from + done).packed(),
                                                        .operand = piece,
                                                        .other = direct ? offset : area_.buffer()},
                                                       true);
        if (number == 0 || !requests_.await(rank, number)) return false;
        if (!direct) base::copy_bytes(into + done, own_ + area_.buffer(), piece);
        done += piece;
    }
    if (!direct) buffer_taken_ = false;
    return true;
}

/// Puts by requests. A local peer copies from this rank's buffer. Bytes for a remote one are
/// in the requests.
template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::put_by_request(Stream& of, Rank rank, const RemoteAddress& to,
                                           const std::byte* from, std::size_t bytes) {
    if (wire_.near(rank) == nullptr) {
        for (std::size_t done = 0; done < bytes;) {
            const std::size_t piece = std::min(bytes - done, RemoteRequest::kInlineMax);
            RemoteRequest request{.kind = RequestKind::flush,
                                  .inline_bytes = static_cast<std::uint8_t>(piece),
                                  .other = (to + done).packed()};
            std::memcpy(request.data, from + done, piece);
            if (send_after_writes(of, rank, request, false) == 0) return false;
            done += piece;
        }
        return true;
    }
    if (!until([&] { return !buffer_taken_; }, rank, "put")) return false;
    buffer_taken_ = true;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t piece = std::min<std::size_t>(bytes - done, OneSidedArea::kBufferBytes);
        base::copy_bytes(own_ + area_.buffer(), from + done, piece);
        const std::uint64_t number = send_after_writes(of, rank,
                                                       {.kind = RequestKind::pull,
                                                        .offset = (to + done).packed(),
                                                        .operand = piece,
                                                        .other = area_.buffer()},
                                                       true);
        if (number == 0 || !requests_.await(rank, number)) return false;
        done += piece;
    }
    buffer_taken_ = false;
    return true;
}

}  // namespace weft::run
