// SPDX-License-Identifier: BSD-3-Clause
// registered.hpp - puts and gets for memory that is neither mapped nor registered with the network.
//
// Idea     The kernel copies from and to registered memory of a local peer. If the kernel refuses,
//          or if the network cannot access a remote peer's memory, this rank sends requests and the
//          peer copies. The data passes through a buffer in this rank's segment (area.hpp), or is
//          part of the requests.
// Holds    A peer executes requests in order. Copies by the kernel are complete when the call
//          returns. If the kernel copied only a part, the peer copies everything again.
// Next     docs/decisions/0020-registered-memory.md.
#pragma once

#include "base/copy.hpp"
#include "base/reach.hpp"
#include "run/onesided/onesided.hpp"
#include "run/onesided/quiet.hpp"

namespace weft::run {

/// Transfers data through this rank's buffer in pieces. For each piece, calls before(at, bytes),
/// sends a request, and calls after(at, bytes) when the request is done.
template <Network Wire, class Drive>
template <class Before, class After>
bool OneSided<Wire, Drive>::through_buffer(Stream& stream, Rank rank, RequestKind kind,
                                           const RemoteAddress& target, std::size_t bytes,
                                           Before before, After after) {
    const char* const call = kind == RequestKind::get ? "get" : "put";
    if (!until([&] { return !buffer_taken_; }, rank, call)) return false;
    buffer_taken_ = true;
    bool is_done = true;
    for (std::size_t at = 0; is_done && at < bytes; at += OneSidedArea::kBufferBytes) {
        const std::size_t piece = std::min<std::size_t>(bytes - at, OneSidedArea::kBufferBytes);
        before(at, piece);
        is_done = send_and_await(stream, rank,
                                 {.kind = kind,
                                  .offset = (target + at).packed(),
                                  .operand = piece,
                                  .operand2 = area_.buffer()});
        if (is_done) after(at, piece);
    }
    buffer_taken_ = false;  // also after a failure: a dead peer no longer uses the buffer
    return is_done;
}

/// Gets by requests. If `into` is in this rank's segment, a single request puts the data there.
template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::get_by_request(Stream& stream, Rank rank, std::byte* into,
                                           const RemoteAddress& from, std::size_t bytes) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(own_);
    const std::uint64_t segment = wire_.segment_bytes();
    if (offset < segment && bytes <= segment - offset)
        return send_and_await(stream, rank,
                              {.kind = RequestKind::get,
                               .offset = from.packed(),
                               .operand = bytes,
                               .operand2 = offset});
    return through_buffer(
        stream, rank, RequestKind::get, from, bytes, [](std::size_t, std::size_t) {},
        [&](std::size_t at, std::size_t piece) {
            base::copy_bytes(into + at, own_ + area_.buffer(), piece);
        });
}

/// Puts to a local peer through this rank's buffer, or to a remote peer by requests with the data.
template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::put_by_request(Stream& stream, Rank rank, const RemoteAddress& to,
                                           const std::byte* from, std::size_t bytes) {
    if (wire_.near(rank) != nullptr)
        return through_buffer(
            stream, rank, RequestKind::pull, to, bytes,
            [&](std::size_t at, std::size_t piece) {
                base::copy_bytes(own_ + area_.buffer(), from + at, piece);
            },
            [](std::size_t, std::size_t) {});
    for (std::size_t at = 0; at < bytes; at += RemoteRequest::kInlineMax) {
        const std::size_t piece = std::min(bytes - at, RemoteRequest::kInlineMax);
        RemoteRequest request{.kind = RequestKind::flush,
                              .inline_bytes = static_cast<std::uint8_t>(piece),
                              .operand2 = (to + at).packed()};
        std::memcpy(request.data, from + at, piece);
        if (send_after_writes(stream, rank, request) == 0) return false;
    }
    return true;
}

}  // namespace weft::run
