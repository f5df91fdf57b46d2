// SPDX-License-Identifier: BSD-3-Clause
// virtual_fabric.hpp - a network of ports in one process that keeps only selected promises.
//
// Idea     Replaces the fabric below the real wire. Puts land in chunks, in any order, while their
//          target polls; local completions come at any time. Each further promise of a fabric has a
//          switch: order, delivery completion, fences, whole words, immediates after data. One seed
//          determines every choice.
// Why      A notify strategy is right if it works on the most adverse fabric that keeps its
//          promise. It needs the promise if it fails on a fabric that breaks only this one.
// Holds    One thread. A source is read no later than the local completion of its put.
// Next     virtual_job.hpp runs engines on it; notify_watch.hpp finds flags raised too early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "base/random.hpp"
#include "link/fabric/fabric.hpp"

namespace weft::test {

struct FabricConduct {
    bool keeps_order = false;    ///< bytes from one rank to another land in posting order
    bool keeps_delivery = true;  ///< delivered and fenced puts complete only after they have landed
    bool keeps_fences = true;  ///< fenced puts start after earlier ones to that target are complete
    bool keeps_words = true;   ///< aligned words land whole; else upper halves first
    bool keeps_immediates = true;  ///< immediates arrive after their data
    bool keeps_counters = true;    ///< writes are counted after they have landed
    std::uint32_t refuse_percent = 10;
    std::uint32_t idle_percent = 20;
    std::uint32_t delay_max = 60;  ///< progress calls of any rank before a chunk may land
    std::uint32_t straggler_percent = 4;
    std::uint32_t straggler_delay_max = 2000;
    std::uint32_t events_max = 16;  ///< per progress call
    std::size_t inject_bytes = 64;
    std::size_t message_bytes_max = 96;
    std::size_t puts_in_flight = 24;
    std::size_t flagged_parts_max = 0;  ///< as in link::FabricFacts
    std::size_t copied_bytes = 0;       ///< as in link::FabricFacts, for puts with flags
    std::size_t paced_bytes = 0;        ///< as in link::FabricFacts
};

/// A fabric that keeps no promise.
inline constexpr FabricConduct kFaithless{.keeps_order = false,
                                          .keeps_delivery = false,
                                          .keeps_fences = false,
                                          .keeps_words = false,
                                          .keeps_immediates = false,
                                          .keeps_counters = false};
/// Returns the same promises with random limits and a random rate of refusals.
[[nodiscard]] FabricConduct harden(FabricConduct conduct, base::Random& random);
/// Returns a plan with one strategy for payloads of all sizes.
[[nodiscard]] constexpr link::NotifyPlan all(link::Notify notify) {
    return {notify, notify};
}

/// A fabric, the strategy of its puts with flags, and the facts that one-sided calls depend on.
struct FabricSetting {
    FabricConduct conduct;
    link::NotifyPlan notify;
    base::RemoteCompletion completion = base::RemoteCompletion::counted;
    bool whole_words = true;
    bool reads = true;
    bool signals = false;
};
// Settings that keep only the promise that their strategy needs.
[[nodiscard]] FabricSetting counted_setting();
[[nodiscard]] FabricSetting delivered_setting();
[[nodiscard]] FabricSetting ordered_setting();
/// Sends requests as tagged words over a stream.
[[nodiscard]] FabricSetting ordered_cells_setting();
/// Signals travel with their data.
[[nodiscard]] FabricSetting signals_setting();
[[nodiscard]] FabricSetting counted_torn_setting();

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
    /// Returns the number of writes that have not landed or completed, and of immediates in flight.
    [[nodiscard]] std::size_t in_flight() const;
    [[nodiscard]] bool take_moved();

    [[nodiscard]] base::RemoteRegion expose(std::span<std::byte> memory);
    void conceal(std::uint64_t key) { registered_.erase(key); }
    base::Post try_put(Rank origin, const base::Put& put);
    base::Post try_read(Rank origin, const base::Read& get);
    /// Ends the rank's posted operations: they touch neither its memory nor a counter again.
    void cancel(Rank origin);
    [[nodiscard]] std::uint64_t landed(Rank target, Rank origin, std::uint32_t counter) {
        return counts_[{target, origin, counter}];
    }
    std::size_t progress(Rank rank, std::span<std::uint64_t> immediates);
    [[nodiscard]] std::size_t in_flight_of(Rank origin) const;
    [[nodiscard]] bool chance(std::uint32_t percent) { return random_.below(100) < percent; }

  private:
    struct Chunk {
        std::size_t offset = 0;  ///< in the write; a flag is at its end
        std::size_t bytes = 0;
        std::uint64_t due = 0;
    };
    struct Write {
        base::Put put;
        base::RemoteRegion region;         ///< region of its target; key 0: the segment
        std::vector<base::PutPart> parts;  ///< its sources
        Rank origin = 0;
        std::vector<std::byte> copy;  ///< of the source, after it is read
        std::vector<Chunk> chunks;    ///< not landed yet
        bool read = false;
        bool complete = false;
    };

    struct Fetch {
        base::Read get;
        base::RemoteRegion region;  ///< region of its source; key 0: the segment
        Rank origin = 0;
        std::uint64_t due = 0;
        std::vector<std::byte> copy;  ///< of the source, after it is read
    };

    [[nodiscard]] std::uint64_t due();
    [[nodiscard]] std::vector<Chunk> cut(const base::Put& put);
    void cut_flag(std::vector<Chunk>& chunks, const base::Put& put);
    [[nodiscard]] bool may_land(const std::vector<std::unique_ptr<Write>>& writes,
                                std::size_t at) const;
    /// Returns the next of the rank's writes in order, so that long queues land no slower.
    [[nodiscard]] static std::size_t first_to_land(
        const std::vector<std::unique_ptr<Write>>& writes, std::size_t at);
    void land_some(Rank rank);
    void land(Write& write, std::size_t chunk);
    void complete_some(Rank rank);
    void read_some(Rank rank);
    [[nodiscard]] std::byte* target_of(const Write& write, std::size_t offset) const;
    [[nodiscard]] std::byte* start_of(const base::RemoteRegion& region, Rank owner) const;
    static void read_source(Write& write);
    [[nodiscard]] static std::vector<std::byte> source_of(const Write& write);

    VirtualFabricOptions options_;
    base::Random random_;
    std::vector<std::vector<std::unique_ptr<Write>>> writes_;  ///< by target, in order of posting
    std::vector<std::deque<std::uint64_t>> immediates_;        ///< by target, in order of landing
    std::vector<Fetch> reads_;
    /// Counts by target, origin and counter.
    std::map<std::tuple<Rank, Rank, std::uint32_t>, std::uint64_t> counts_;
    std::unordered_set<std::uint64_t> registered_;  ///< keys
    std::uint64_t registrations_ = 0;
    std::uint64_t clock_ = 0;
    bool moved_ = false;
};

}  // namespace weft::test
