// SPDX-License-Identifier: BSD-3-Clause
// quiet.hpp - order and completion of all puts and gets of a stream, locally and at the peers.
#pragma once

#include <utility>
#include <vector>

#include "run/onesided/onesided.hpp"

namespace weft::run {

template <Network Wire, class Drive>
bool OneSided<Wire, Drive>::fence(Stream* context) {
    // Release: orders this rank's stores to mapped memory.
    std::atomic_thread_fence(std::memory_order_release);
    Stream& stream = stream_of(context);
    std::vector<Rank> near;  // with unfinished requests, which is rare
    for (const Rank rank : stream.dirty) {
        Stream::Peer& at = stream.at(rank);
        if (!needs_fence(rank)) continue;
        at.fenced = true;
        at.fence = at.posted;
        if (wire_.near(rank) != nullptr) near.push_back(rank);
    }
    // Other threads may change the list of dirty peers during a flush.
    return std::ranges::all_of(near, [&](Rank rank) { return flush(stream, rank); });
}

/// Completes all puts and gets of the stream. Fails if one of their peers has died.
template <Network Wire, class Drive>
Waited OneSided<Wire, Drive>::complete(Stream& stream, const base::Deadline& deadline) {
    // This fence and the last one order accesses of mapped memory before and after quiet().
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto wait = [&](Rank rank, auto ended) { return until(ended, deadline, rank, "quiet"); };
    Waited waited =
        wait(kNoPeer, [&] { return stream.outstanding == 0 && stream.forget_ended_gets(); });
    // Flushes only peers that are dirty now, because other threads may put during the waits below.
    std::vector<Flush> flushes = std::exchange(stream.spare, {});
    flushes.clear();
    for (const Rank rank : stream.dirty) flushes.push_back({.rank = rank});
    for (std::size_t i = 0; waited == Waited::done && i < flushes.size(); ++i) {
        const Rank rank = flushes[i].rank;
        waited = wait(rank, [&] { return is_flushable(rank); });
        if (waited != Waited::done) break;
        const auto started = start_flush(stream, rank);
        if (started)
            flushes[i] = *started;
        else
            waited = Waited::failed;
    }
    for (std::size_t i = 0; waited == Waited::done && i < flushes.size(); ++i) {
        const Flush& flush = flushes[i];
        waited = wait(flush.rank, [&] { return is_flushed(flush); });
        if (waited == Waited::done) settle(stream, flush);
    }
    if (waited == Waited::done) stream.mark_clean(flushes);
    stream.spare = std::move(flushes);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return waited;
}

}  // namespace weft::run
