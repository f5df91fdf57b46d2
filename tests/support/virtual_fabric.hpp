// SPDX-License-Identifier: BSD-3-Clause
// virtual_fabric.hpp - a fabric of ports in one process that keeps only selected promises.
//
// Idea     The fabric replaces libfabric below the real wire. It delivers puts in chunks, in any
//          order, while the target polls, and completes them locally at any time. Each further
//          promise has a switch: order, delivery completion, fences, whole words, immediates and
//          counts after data. One seed determines every choice.
// Why      A notify strategy is right if it works on a fabric that keeps only the promise that the
//          strategy needs. The promise is needed if the strategy fails on a fabric that breaks only
//          this promise.
// Holds    One thread. A source is read no later than the local completion of its put.
// Next     virtual_job.hpp runs engines on it; notify_watch.hpp finds flags raised too early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::test {

/// Promises, rates and limits of a fabric. The unit of delays is a progress call of any rank.
struct FabricConduct {
    bool keeps_order = false;    ///< bytes from one rank to another are delivered in posting order
    bool keeps_delivery = true;  ///< delivered and fenced puts complete only after delivery
    bool keeps_fences = true;    ///< fenced puts are delivered after completion of earlier puts
    bool keeps_words = true;  ///< aligned 8-byte words are delivered whole, else upper halves first
    bool keeps_immediates = true;         ///< immediates arrive after their data is delivered
    bool keeps_counters = true;           ///< writes are counted after their delivery
    std::uint32_t refuse_percent = 10;    ///< refused posts
    std::uint32_t idle_percent = 20;      ///< progress calls that do nothing
    std::uint32_t delay_max = 60;         ///< limit of the delay of a chunk, except for stragglers
    std::uint32_t straggler_percent = 4;  ///< chunks that are stragglers
    std::uint32_t straggler_delay_max = 2000;
    std::uint32_t events_max = 16;       ///< maximum number of chunks delivered by a progress call
    std::size_t inject_bytes = 64;       ///< as in link::FabricFacts
    std::size_t message_bytes_max = 96;  ///< as in link::FabricFacts, for puts and gets
    std::size_t puts_in_flight = 24;     ///< limit of a rank's puts and reads in flight
    std::size_t flagged_parts_max = 0;   ///< as in link::FabricFacts
    std::size_t copied_bytes = 0;        ///< as in link::FabricFacts, for puts with flags
    std::size_t paced_bytes = 0;         ///< as in link::FabricFacts
};

/// A fabric that keeps no promise.
inline constexpr FabricConduct kNoPromises{.keeps_order = false,
                                           .keeps_delivery = false,
                                           .keeps_fences = false,
                                           .keeps_words = false,
                                           .keeps_immediates = false,
                                           .keeps_counters = false};
/// Returns the same promises with random limits, delays and refusals.
[[nodiscard]] FabricConduct harden(FabricConduct conduct, base::Random& random);
/// Returns a plan with one strategy for small and large payloads.
[[nodiscard]] constexpr link::NotifyPlan both(link::Notify notify) {
    return {notify, notify};
}

/// Conduct of a fabric, the strategy of its puts with flags, and base::RemoteFacts.
struct FabricSetting {
    FabricConduct conduct;
    link::NotifyPlan notify;
    base::RemoteCompletion completion = base::RemoteCompletion::counted;
    bool whole_words = true;
    bool reads = true;
    bool signals = false;
};
// Settings that keep only the promises that their strategy needs:
[[nodiscard]] FabricSetting counted_setting();        ///< immediates after data; whole words
[[nodiscard]] FabricSetting delivered_setting();      ///< delivery completion; whole words
[[nodiscard]] FabricSetting ordered_setting();        ///< order
[[nodiscard]] FabricSetting ordered_cells_setting();  ///< order; whole words; Notify::cells
[[nodiscard]] FabricSetting signals_setting();        ///< order; immediates after data; signals
[[nodiscard]] FabricSetting counted_torn_setting();   ///< immediates after data; no reads

struct VirtualFabricOptions {
    std::vector<std::byte*> segments;  ///< by rank
    std::uint64_t segment_bytes = 0;
    std::uint64_t seed = 1;
    FabricSetting setting;
};

class VirtualFabric {
  public:
    explicit VirtualFabric(VirtualFabricOptions options);

    [[nodiscard]] std::unique_ptr<link::FabricPort> open_port(Rank rank);
    /// Returns the number of reads, immediates, and writes that are not both delivered and
    /// complete.
    [[nodiscard]] std::size_t in_flight() const;
    /// Returns true if any operation was posted or has progressed since the last call.
    [[nodiscard]] bool take_moved();

    /// Registers memory under a new key.
    [[nodiscard]] base::RemoteRegion expose(std::span<std::byte> memory);
    void unexpose(std::uint64_t key) { registered_.erase(key); }
    base::Post try_put(Rank origin, const base::Put& put);
    base::Post try_read(Rank origin, const base::Read& get);
    /// Ends a rank. Some of its last writes to each target are lost.
    void kill(Rank origin);
    /// Ends the operations of `origin` to and from a rank that has died; see FabricPort::lose().
    void lose(Rank origin, Rank peer);
    /// Ends the rank's operations: they neither access its memory nor change `pending` again.
    void cancel(Rank origin);
    /// Returns the number of writes from `origin` to `target` that `counter` has counted.
    [[nodiscard]] std::uint64_t landed(Rank target, Rank origin, std::uint32_t counter) {
        return counts_[{target, origin, counter}];
    }
    /// Makes progress. Stores arrived immediates in `immediates` and returns their number.
    std::size_t progress(Rank rank, std::span<std::uint64_t> immediates);
    /// Returns the number of the rank's puts and reads that are not complete.
    [[nodiscard]] std::size_t in_flight_of(Rank origin) const;
    [[nodiscard]] bool chance(std::uint32_t percent) { return random_.below(100) < percent; }

  private:
    struct Chunk {
        std::size_t offset = 0;  ///< in the write: first the data, then the flag
        std::size_t bytes = 0;
        std::uint64_t due = 0;  ///< earliest time on clock_
    };
    /// A put that is not both delivered and complete.
    struct Write {
        base::Put put;
        base::RemoteRegion region;         ///< region of the target; key 0: the segment
        std::vector<base::PutPart> parts;  ///< sources of the put
        Rank origin = 0;
        std::vector<std::byte> copy;  ///< data and flag, after the source is read
        std::vector<Chunk> chunks;    ///< not delivered yet
        bool read = false;            ///< the source is in `copy`
        bool complete = false;
    };

    /// A read that is not complete.
    struct Fetch {
        base::Read get;
        base::RemoteRegion region;  ///< region of the source; key 0: the segment
        Rank origin = 0;
        std::uint64_t due = 0;        ///< earliest time of the next event on clock_
        std::vector<std::byte> copy;  ///< data, after the source is read; empty before
    };

    /// Returns a random time on clock_, for a new chunk or read.
    [[nodiscard]] std::uint64_t due();
    [[nodiscard]] std::vector<Chunk> cut(const base::Put& put);
    void cut_flag(std::vector<Chunk>& chunks, const base::Put& put);
    /// Returns true if the fabric's promises allow a delivery for write `at` now.
    [[nodiscard]] bool may_deliver(const std::vector<std::unique_ptr<Write>>& writes,
                                   std::size_t at) const;
    /// Returns the index of the first write with chunks from the origin of write `at`: the only
    /// write of this origin that an ordered fabric may deliver.
    [[nodiscard]] static std::size_t first_undelivered(
        const std::vector<std::unique_ptr<Write>>& writes, std::size_t at);
    void deliver_some(Rank rank);
    void deliver(Write& write, std::size_t chunk_index);
    void complete_writes(Rank rank);
    void advance_reads(Rank rank);
    [[nodiscard]] std::byte* target_of(const Write& write, std::size_t offset) const;
    [[nodiscard]] std::byte* start_of(const base::RemoteRegion& region, Rank owner) const;
    static void read_source(Write& write);
    /// Returns the data of a write, then its flag.
    [[nodiscard]] static std::vector<std::byte> source_of(const Write& write);

    VirtualFabricOptions options_;
    base::Random random_;
    std::vector<std::vector<std::unique_ptr<Write>>> writes_;  ///< by target, in order of posting
    std::vector<std::deque<std::uint64_t>> immediates_;        ///< by target, in order of delivery
    std::vector<Fetch> reads_;
    /// Counts by target, origin and counter.
    std::map<std::tuple<Rank, Rank, std::uint32_t>, std::uint64_t> counts_;
    std::set<std::pair<Rank, Rank>> lost_;          ///< by origin and peer; see lose()
    std::unordered_set<std::uint64_t> registered_;  ///< keys of the registered regions
    std::uint64_t last_key_ = 0;
    std::uint64_t clock_ = 0;  ///< progress calls of all ranks
    bool moved_ = false;
};

}  // namespace weft::test
