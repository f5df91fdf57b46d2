// SPDX-License-Identifier: BSD-3-Clause
// bench_counts.hpp - the calls with a count for each member that `weft bench` times.
//
// Idea     Bytes are those of a block on average, so that a call moves as much as the one without counts
//          does. Which sizes the blocks have is said by lab/measure/block_sizes.hpp. Of alltoallv the block from one rank to
//          another has the size whose number is the sum of both ranks, modulo the ranks: all send as
//          much, and all get as much.
// Holds    What an element must be follows from where its sender has it: block by block, a rank and a place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "front/cli/bench_subjects.hpp"
#include "lab/measure/block_sizes.hpp"

namespace weft::front {

class CountsSubject : public DataSubject {
  public:
    CountsSubject(Team world, std::uint64_t bytes, const CallOptions& options, bool uneven)
        : DataSubject(world, options),
          sizes_{.elements = bytes / elements_.bytes * ranks_, .blocks = ranks_, .uneven = uneven},
          in_counts_(has_blocks_in() ? counts() : std::vector{own()}),
          out_counts_(has_blocks_out() ? counts() : std::vector{own()}),
          in_(total(in_counts_) * elements_.bytes, options.rotated),
          out_(total(out_counts_) * elements_.bytes, options.rotated),
          places_(places()) {}

    void prepare(std::uint64_t batch) {
        out_.clear();
        in_.fill([&](std::byte* start) {
            elements_.write(start, {world_.rank(), 0, total(in_counts_), batch});
        });
    }
    void call() {
        in_.rotate();
        out_.rotate();
        world_.run(next_call());
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        if (options_.collective == Collective::gatherv && !at_root()) return true;
        const std::byte* found = out_.data();
        for (std::size_t block = 0; block < out_counts_.size(); ++block) {
            const auto expect = [&](std::byte* to, std::size_t first, std::size_t tile) {
                expect_in(to, block, first, tile, batch);
            };
            if (!holds(found, out_counts_[block], expect)) return false;
            found += out_counts_[block] * elements_.bytes;
        }
        return true;
    }

  private:
    using Counts = std::vector<std::size_t>;

    [[nodiscard]] static std::size_t total(const Counts& counts) {
        return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    }
    [[nodiscard]] bool is(Collective collective) const { return options_.collective == collective; }
    [[nodiscard]] bool has_blocks_in() const {
        return is(Collective::scatterv) || is(Collective::alltoallv) ||
               is(Collective::reduce_scatterv);
    }
    [[nodiscard]] bool has_blocks_out() const {
        return is(Collective::gatherv) || is(Collective::allgatherv) || is(Collective::alltoallv);
    }
    /// Of this rank's block, where it has one.
    [[nodiscard]] std::size_t own() const { return sizes_.size(rank_); }
    /// Of the blocks that a rank sends or gets; of alltoallv both are the same.
    [[nodiscard]] Counts counts_of(std::size_t rank) const {
        Counts counts;
        for (std::size_t block = 0; block < ranks_; ++block)
            counts.push_back(
                sizes_.size(is(Collective::alltoallv) ? (rank + block) % ranks_ : block));
        return counts;
    }
    [[nodiscard]] Counts counts() const { return counts_of(rank_); }
    /// Where each block of the output starts in its sender's input.
    [[nodiscard]] Counts places() const {
        Counts places(out_counts_.size(), 0);
        if (!has_blocks_out()) places[0] = sizes_.start(rank_);
        for (std::size_t sender = 0; is(Collective::alltoallv) && sender < ranks_; ++sender) {
            Counts before = counts_of(sender);
            before.resize(rank_);
            places[sender] = total(before);
        }
        return places;
    }

    [[nodiscard]] Call next_call() {
        const Type type = options_.type;
        switch (options_.collective) {
            case Collective::gatherv:
                return Call::gatherv(in_.data(), own(), out_.data(), {.counts = out_counts_}, type,
                                     options_.root);
            case Collective::scatterv:
                return Call::scatterv(in_.data(), {.counts = in_counts_}, out_.data(), own(), type,
                                      options_.root);
            case Collective::allgatherv:
                return Call::allgatherv(in_.data(), out_.data(), {.counts = out_counts_}, type);
            case Collective::alltoallv:
                return Call::alltoallv(in_.data(), {.counts = in_counts_}, out_.data(),
                                       {.counts = out_counts_}, type);
            default:
                return Call::reduce_scatterv(in_.data(), out_.data(), in_counts_, type,
                                             options_.op);
        }
    }

    /// What must stand in a block of the output behind `first`.
    void expect_in(std::byte* to, std::size_t block, std::size_t first, std::size_t tile,
                   std::uint64_t batch) const {
        const std::size_t place = places_[block] + first;
        if (is(Collective::reduce_scatterv))
            return fold(to, world_.size(), {0, place, tile, batch});
        const Rank sender = is(Collective::scatterv) ? options_.root : static_cast<Rank>(block);
        elements_.write(to, {sender, place, tile, batch});
    }

    lab::BlockSizes sizes_;
    Counts in_counts_;
    Counts out_counts_;
    CallBuffer in_;
    CallBuffer out_;
    Counts places_;
};

}  // namespace weft::front
