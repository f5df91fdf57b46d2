// SPDX-License-Identifier: BSD-3-Clause
// quiet.hpp - completion of all puts and gets of a stream, locally and at the peers.
#pragma once

#include <utility>
#include <vector>

#include "run/onesided/onesided.hpp"

namespace weft::run {

/// Completes all puts and gets of the stream. Fails if one of their peers has died.
template <Network Wire, class Drive>
Waited OneSided<Wire, Drive>::complete(Stream& used, const base::Deadline& deadline) {
    // This fence and the last one order accesses of mapped memory before and after quiet().
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto wait = [&](Rank rank, auto ended) { return until(ended, deadline, rank, "quiet"); };
    Waited waited = wait(kNoPeer, [&] { return used.outstanding == 0 && used.forget_ended_gets(); });
    // Flushes only peers that are dirty now, because other threads may put during the waits below.
    std::vector<Flush> flushes = std::exchange(used.spare, {});
    flushes.clear();
    for (const Rank rank : used.dirty) flushes.push_back({.rank = rank});
    for (std::size_t i = 0; waited == Waited::done && i < flushes.size(); ++i) {
        const Rank rank = flushes[i].rank;
        waited = wait(rank, [&] { return is_flushable(rank); });
        if (waited != Waited::done) break;
        const auto started = start_flush(used, rank);
        if (started)
            flushes[i] = *started;
        else
            waited = Waited::failed;
    }
    for (std::size_t i = 0; waited == Waited::done && i < flushes.size(); ++i) {
        const Flush& flush = flushes[i];
        waited = wait(flush.rank, [&] { return is_flushed(flush); });
        if (waited == Waited::done) settle(used, flush);
    }
    if (waited == Waited::done) used.mark_clean(flushes);
    used.spare = std::move(flushes);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return waited;
}

}  // namespace weft::run
