// SPDX-License-Identifier: BSD-3-Clause
// image.hpp - compact form of programs for engines: sends, receptions and computations.
//
// Idea     Each lane becomes a row of pieces (pieces.hpp), with loops unrolled and bytes converted
//          to times. A part has the lanes of consecutive ranks. Parts are made independently, and
//          programs can be freed afterwards, so a million ranks fit in memory. Lanes are made from
//          programs, or written piece by piece.
// Holds    (rank, key) names a flag, with key = number * segments + segment. A flag is raised and
//          awaited under the same key. Consecutive waits form one reception.
// Next     generic.cpp runs images; stream.cpp writes them without programs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"
#include "plan/select/executed_steps.hpp"
#include "tools/simulate/clock.hpp"
#include "tools/simulate/pieces.hpp"

namespace weft::lab {

struct ImageLane {
    Rank rank = 0;
    std::uint32_t lane = 0;  ///< index within the rank
    std::size_t first = 0;   ///< index in Pieces::rows() of the lane's first piece
};

/// Costs to which a word of a piece refers: of a message, or the time of a computation.
struct WordCosts {
    Time time = 0;     ///< time for which the message occupies its sender, or of the computation
    Time delay = 0;    ///< latency beyond the model's
    Time hold = 0;     ///< time for which the message occupies a NIC; 0: no NIC
    Time work = 0;     ///< time in which the receiver processes the message
    Time two_way = 0;  ///< extra time if the receiver also has a message in flight

    friend bool operator==(const WordCosts&, const WordCosts&) = default;
};

class ImagePart {
  public:
    ImagePart(const MessageModel& model, const BufferSize& size,
              std::optional<plan::FarPuts> far = {})
        : models_{model, std::move(far)}, size_(size) {}

    /// Adds a program. Programs of consecutive ranks must be added in order.
    [[nodiscard]] base::Result<void> add(const Program& program);
    /// Reserves memory for `ranks` ranks with programs like those added before.
    void reserve(std::size_t ranks);

    [[nodiscard]] std::span<const ImageLane> lanes() const { return lanes_; }
    [[nodiscard]] const Pieces& pieces() const { return pieces_; }
    [[nodiscard]] Pieces& pieces() { return pieces_; }
    [[nodiscard]] const std::vector<WordCosts>& costs() const { return costs_; }
    /// Returns true if `work` of an entry is not 0.
    [[nodiscard]] bool has_works() const { return has_works_; }
    /// Returns true if messages use NICs, where they queue in the order of time.
    [[nodiscard]] bool has_nics() const { return has_nics_; }
    /// Returns the node of a rank, and with it the NIC that the rank uses.
    [[nodiscard]] Rank node_of(Rank rank) const {
        return (*models_.far->node_of)[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::uint32_t keys() const { return keys_; }
    [[nodiscard]] std::uint64_t raises() const { return pieces_.raises(); }
    [[nodiscard]] std::uint64_t waits() const { return pieces_.waits(); }

    // Parts of add(), for lanes that are written piece by piece.

    /// Prepares the part for the lanes of programs with this header. Fails if they exceed the
    /// limits of a simulation.
    [[nodiscard]] base::Result<void> admit(const Program& header);
    /// Fails if the part is full after the lanes of `rank`.
    [[nodiscard]] base::Result<void> check_capacity(Rank rank) const;
    void begin_lane(Rank rank, Rank size, std::uint32_t lane) {
        lanes_.push_back({rank, lane, pieces_.rows().size()});
        pieces_.begin_lane(rank, size);
    }
    /// Returns the index of an equal entry of costs(). Adds the entry if it does not exist.
    [[nodiscard]] std::uint32_t index_of(const WordCosts& costs);
    /// Returns the bytes of a block that starts at unit `first`.
    [[nodiscard]] std::uint64_t bytes_in(const Block& block, std::uint32_t first) const;
    [[nodiscard]] const MessageModel& model() const { return models_.model; }

  private:
    void compute(Time time);

    plan::PutModels models_;
    BufferSize size_;
    plan::Partition partition_{0, 0};
    std::vector<ImageLane> lanes_;
    Pieces pieces_;
    std::vector<WordCosts> costs_;
    static constexpr int kFoundBits = 6;  ///< bits of a hash
    /// Cache of index_of(): the last index for each hash of the requested costs.
    std::array<std::uint32_t, std::size_t{1} << kFoundBits> found_{};
    bool has_nics_ = false;
    bool has_works_ = false;
    std::uint32_t keys_ = 0;
};

/// Adds the ranks first .. last-1 without storing programs; equal to add() of program_of() of each
/// rank. Calls `progress` repeatedly with the current rank.
[[nodiscard]] base::Result<void> add_programs(ImagePart& part, const Stages& stages, Rank first,
                                              Rank last,
                                              const std::function<void(Rank)>& progress = {});

}  // namespace weft::lab
