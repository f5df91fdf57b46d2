// SPDX-License-Identifier: BSD-3-Clause
// onesided_ranks.hpp - N ranks in one process that make one-sided calls over the virtual fabric.
//
// Holds    One thread. While a call of one rank waits, random ranks make progress calls. The seed
//          alone determines the run; no clock is used.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <span>
#include <vector>

#include "run/onesided/onesided.hpp"
#include "tests/support/fabric_over.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/serve_onesided.hpp"

namespace weft::test {

// Short names of the settings of virtual_fabric.hpp.
inline constexpr auto& counted = counted_setting;
inline constexpr auto& delivered = delivered_setting;
inline constexpr auto& ordered = ordered_setting;
inline constexpr auto& ordered_cells = ordered_cells_setting;
inline constexpr auto& with_signals = signals_setting;
inline constexpr auto& counted_torn = counted_torn_setting;

/// The ranks of a job: a wire on the virtual fabric, a heap and one-sided calls for each rank.
class Ranks {
  public:
    /// Waits for a rank's calls while random ranks make progress. Fails the test after kStepsMax
    /// progress calls, with the text of waits(), which describes the wait.
    struct Drive {
        Ranks* ranks;
        base::Failure timeout;

        template <class Ended, class Waits>
        bool await(Ended ended, Waits waits, Rank) {
            for (std::uint64_t steps = 0; !ended(); ++steps) {
                if (steps == kStepsMax) {
                    timeout = base::fail(Status::timeout, "seed {}: {}", ranks->seed_, waits());
                    ADD_FAILURE() << timeout.text;
                    return false;
                }
                ranks->step();
            }
            return true;
        }
        [[nodiscard]] static std::set<Rank> deaths() { return {}; }
        [[nodiscard]] const base::Failure& failure() const { return timeout; }
    };
    using Calls = run::OneSided<link::Wire, Drive>;

    Ranks(const FabricSetting& setting, std::vector<int> nodes, std::uint64_t seed)
        : seed_(seed),
          random_(base::Random(seed).stream(21)),
          network_({.segment_bytes = kSegment, .node_of_rank = std::move(nodes), .seed = seed}),
          fabric_(fabric_over(network_, setting, seed_, random_)) {
        const run::OneSidedArea area{.offset = 0, .ranks = size()};
        heap_ = (area.bytes() + 63) / 64 * 64;
        WEFT_CHECK(heap_ + kHeapBytes <= kSegment, heap_);
        for (Rank rank = 0; rank < size(); ++rank) {
            link::Wire& wire = open_wire(wires_, network_, fabric_, rank);
            Drive& drive = drives_.emplace_back(Drive{this, {}});
            Calls& calls = calls_.emplace_back(wire, drive, area, rank);
            calls.let_sleep();
            if (calls.service().has_origins()) serve_onesided(wire, calls);
        }
    }

    [[nodiscard]] Rank size() const { return network_.size(); }
    /// Returns true if a quiet of the default stream may have to wait.
    [[nodiscard]] bool is_busy(Rank rank) { return !(*this)[rank].streams().of(nullptr).is_idle(); }
    Calls& operator[](Rank rank) { return calls_[static_cast<std::size_t>(rank)]; }
    base::Random& random() { return random_; }
    /// Makes one progress call of a random rank.
    void step() {
        ++steps_;
        wires_[random_.below(wires_.size())].progress();
    }
    /// Returns the number of progress calls of all ranks.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

    static constexpr std::uint64_t kHeapBytes = std::uint64_t{64} << 10;  ///< of each rank
    /// Returns the offset of a word of the heap in bytes, the same in every segment.
    [[nodiscard]] std::uint64_t at(std::size_t word) const { return heap_ + word * 8; }
    /// Returns a word of the rank's heap, or of its registered memory after register_words().
    std::uint64_t& word(Rank rank, std::size_t number) {
        if (!registered_.empty()) return registered_[static_cast<std::size_t>(rank)][number];
        return *reinterpret_cast<std::uint64_t*>(network_.segment(rank) + at(number));
    }

    /// Makes word() and place() refer to registered memory outside the segments. Remote ranks reach
    /// this memory through the network if `with_network` is true, else only by requests.
    void register_words(bool with_network) {
        registered_.assign(calls_.size(), std::vector<std::uint64_t>(kHeapBytes / 8));
        handles_.resize(calls_.size() * calls_.size());
        for (Rank owner = 0; owner < size(); ++owner) {
            const auto index = static_cast<std::size_t>(owner);
            const std::span<std::byte> memory =
                std::as_writable_bytes(std::span(registered_[index]));
            link::Wire& wire = wires_[index];
            auto& service = calls_[index].service();
            const std::uint64_t number = service.registered().add(memory);
            base::RemoteRegion region;
            if (with_network) region = *wire.memory().register_memory(memory);
            serve_onesided(wire, calls_[index]);
            for (Rank from = 0; from < size(); ++from) {
                service.serve_near(from);
                run::PeerMemory& handle =
                    handles_[index * calls_.size() + static_cast<std::size_t>(from)];
                handle = {.number = number,
                          .bytes = memory.size(),
                          .address = reinterpret_cast<std::uintptr_t>(memory.data())};
                if (from == owner) handle.mapped = memory.data();
                if (wire.near(from) == nullptr) handle.region = region;
            }
        }
    }
    /// Returns the address of a word of `owner`, for calls of rank `from`.
    [[nodiscard]] run::RemoteAddress place(Rank from, Rank owner, std::size_t word) const {
        if (registered_.empty()) return at(word);
        const std::size_t row = static_cast<std::size_t>(owner) * calls_.size();  // in handles_
        return {word * 8, &handles_[row + static_cast<std::size_t>(from)]};
    }

  private:
    static constexpr std::uint64_t kSegment = std::uint64_t{1} << 20;  ///< bytes
    static constexpr std::uint64_t kStepsMax = 4'000'000;  ///< progress calls in one wait

    std::uint64_t seed_;
    std::uint64_t steps_ = 0;
    base::Random random_;
    VirtualNetwork network_;
    VirtualFabric fabric_;
    std::uint64_t heap_ = 0;  ///< offset of the heap in every segment
    std::deque<link::Wire> wires_;
    std::deque<Drive> drives_;
    std::deque<Calls> calls_;
    std::vector<std::vector<std::uint64_t>> registered_;  ///< by rank; empty: the heap is used
    std::vector<run::PeerMemory> handles_;  ///< for registered_: by owner, then by accessing rank
};

constexpr std::uint64_t kSlowdown = kSlow ? 10 : 1;  ///< divisor of the number of operations

/// Returns the node of each rank: one of three layouts, selected by the seed.
inline std::vector<int> layout(std::uint64_t seed) {
    if (seed % 3 == 0) return {0, 0, 1, 1};
    if (seed % 3 == 1) return {0, 1};
    return {0, 1, 2};
}

// Indices of words in each rank's heap, in separate cache lines. Data has up to kDataMax words.
constexpr std::size_t kFlag = 0, kCredit = 8, kCounter = 16, kData = 64, kDataMax = 400;

/// Returns the number of seeds that a test runs.
inline std::uint64_t seed_count() {
    return full_mode() ? 300 : kSlow ? 4 : 12;
}

}  // namespace weft::test
