// SPDX-License-Identifier: BSD-3-Clause
// registered.hpp - puts and gets that neither loads and stores nor network writes can do.
//
// Idea     The kernel copies from and to memory that a local peer has registered. If that
//          fails, or if the network has not registered the memory, the peer itself is asked to
//          copy. The data passes through this rank's buffer in the segment (onesided/area.hpp),
//          or within requests.
// Holds    Requests to a peer are done in order. Copies by the kernel are complete when the call
//          returns. If the kernel refuses in the middle, the peer repeats the whole copy.
// Next     service.hpp for the peer's side; docs/decisions/0020-registered-memory.md.
#pragma once

#include "base/copy.hpp"
#include "base/reach.hpp"
#include "run/onesided/onesided.hpp"

namespace weft::run {

/// Moves bytes through this rank's buffer, with a request for each piece. Calls before(at, bytes)
/// for each piece, and after(at, bytes) once its request is done.
template <Network Wire, class Drive>
template <class Before, class After>
bool OneSided<Wire, Drive>::through_buffer(Stream& of, Rank rank, RequestKind kind,
                                           const RemoteAddress& there, std::size_t bytes,
                                           Before before, After after) {
    const char* const call = kind == RequestKind::get ? "get" : "put";
    if (!until([&] { return !buffer_taken_; }, rank, call)) return false;
    buffer_taken_ = true;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t piece = std::min<std::size_t>(bytes - done, OneSidedArea::kBufferBytes);
        before(done, piece);
        const RemoteRequest request{.kind = kind,
                                    .offset = (there + done).packed(),
                                    .operand = piece,
                                    .other = area_.buffer()};
        if (!send_and_await(of, rank, request)) return false;
        after(done, piece);
        done += piece;
    }
    buffer_taken_ = false;
    return true;
}

/// Gets by requests. If `into` is in this rank's segment, one piece is enough.
template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::get_by_request(Stream& of, Rank rank, std::byte* into,
                                           const RemoteAddress& from, std::size_t bytes) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(own_);
    const std::uint64_t segment = wire_.segment_bytes();
    if (offset < segment && bytes <= segment - offset)
        return send_and_await(
            of, rank,
            {.kind = RequestKind::get, .offset = from.packed(), .operand = bytes, .other = offset});
    return through_buffer(
        of, rank, RequestKind::get, from, bytes, [](std::size_t, std::size_t) {},
        [&](std::size_t at, std::size_t piece) {
            base::copy_bytes(into + at, own_ + area_.buffer(), piece);
        });
}

/// Puts by requests with the bytes, or to a local peer through this rank's buffer.
template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::put_by_request(Stream& of, Rank rank, const RemoteAddress& to,
                                           const std::byte* from, std::size_t bytes) {
    if (wire_.near(rank) != nullptr)
        return through_buffer(
            of, rank, RequestKind::pull, to, bytes,
            [&](std::size_t at, std::size_t piece) {
                base::copy_bytes(own_ + area_.buffer(), from + at, piece);
            },
            [](std::size_t, std::size_t) {});
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

}  // namespace weft::run
