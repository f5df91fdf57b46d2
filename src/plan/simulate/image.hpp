// SPDX-License-Identifier: BSD-3-Clause
// image.hpp - programs boiled down to what takes time: sends, receptions and computations.
//
// Idea     Each lane becomes a row of pieces (pieces.hpp), loops unrolled, with bytes already
//          turned into times. A part holds the lanes of consecutive ranks; parts can be made
//          independently and the programs be forgotten, so a million ranks fit. Lanes come from
//          programs, or are written piece by piece.
// Holds    A flag is named by (rank, key): key = number * segments + segment. What was raised under
//          a key is awaited under the same key. Consecutive waits form one reception.
// Next     generic.cpp runs images; lab/simulate/stream.hpp writes them without programs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"
#include "plan/simulate/model.hpp"
#include "plan/simulate/pieces.hpp"

namespace weft::plan {

/// How large the vectors are that programs cut into units.
struct VectorSize {
    std::uint64_t elements = 1;
    std::uint32_t element_bytes = 8;
};

struct ImageLane {
    Rank rank = 0;
    std::uint32_t lane = 0;  ///< number within the rank
    std::size_t first = 0;   ///< its first piece in the part's rows
};

/// Messages between ranks of different nodes keep their sender busy for another time.
struct FarPuts {
    MessageModel model;
    const std::vector<Rank>* node_of = nullptr;  ///< by rank; outlives the parts
};

class ImagePart {
  public:
    ImagePart(const MessageModel& model, const VectorSize& size, std::optional<FarPuts> far = {})
        : model_(model), size_(size), far_(far) {}

    /// The programs of consecutive ranks, in order.
    [[nodiscard]] base::Result<void> add(const Program& program);
    /// Room for so many ranks with programs like the ones so far.
    void reserve(std::size_t ranks);

    [[nodiscard]] std::span<const ImageLane> lanes() const { return lanes_; }
    [[nodiscard]] const Pieces& pieces() const { return pieces_; }
    [[nodiscard]] Pieces& pieces() { return pieces_; }
    [[nodiscard]] const std::vector<Time>& times() const { return times_; }
    [[nodiscard]] std::uint32_t keys() const { return keys_; }
    [[nodiscard]] std::uint64_t raises() const { return pieces_.raises(); }
    [[nodiscard]] std::uint64_t waits() const { return pieces_.waits(); }

    // What add() is made of, for lanes that are written piece by piece.

    /// Notes what all programs of these slots and segments need.
    [[nodiscard]] base::Result<void> admit(const Program& header);
    [[nodiscard]] base::Result<void> check_room(Rank rank) const;
    void begin_lane(Rank rank, Rank size, std::uint32_t lane) {
        lanes_.push_back({rank, lane, pieces_.rows().size()});
        pieces_.begin_lane(rank, size);
    }
    [[nodiscard]] std::uint32_t index_of(Time time);
    /// Of a block that starts at this unit.
    [[nodiscard]] std::uint64_t bytes_in(const Block& block, std::uint32_t first) const;
    [[nodiscard]] const MessageModel& model() const { return model_; }

  private:
    void add_step(const Program& program, const Step& step, std::uint32_t segment);
    void add_wait(const Program& program, const Step& step, std::uint32_t segment);
    void compute(Time time);
    [[nodiscard]] std::uint64_t mapped_bytes(const Program& program, const Step& step,
                                             std::uint32_t segment) const;
    [[nodiscard]] bool is_far(Rank a, Rank b) const {
        const std::vector<Rank>& node_of = *far_->node_of;
        return node_of[static_cast<std::size_t>(a)] != node_of[static_cast<std::size_t>(b)];
    }
    [[nodiscard]] std::uint32_t busy_of(const Program& program, const Step& step,
                                        std::uint32_t segment);
    [[nodiscard]] std::uint64_t bytes_of(const Program& program, BlockList list,
                                         std::uint32_t segment, std::uint32_t share = 1) const;

    MessageModel model_;
    VectorSize size_;
    std::optional<FarPuts> far_;
    Partition partition_{0, 0};
    std::vector<ImageLane> lanes_;
    Pieces pieces_;
    std::vector<Time> times_;
    std::uint32_t keys_ = 0;
    /// Of the last message: how long it keeps its sender busy, and what it was found for.
    struct Busy {
        std::uint32_t index = 0;
        bool known = false;
        bool far = false;  ///< to another node
        BlockList source;
        std::uint32_t segment = 0;
    } busy_;
};

/// A step, as often as it happens. Puts, signals, exposes, publishes, waits and reductions take
/// time; what stands between waits makes them separate receptions.
struct Happening {
    StepKind kind = StepKind::put;
    bool message = false;  ///< it raises something somewhere
    Rank peer = kNoRank;
    std::uint64_t key = 0;           ///< number * segments + segment, of sends and waits
    bool published = false;          ///< a wait for a published cell
    std::uint64_t bytes = 0;         ///< of a message, or of one operand
    std::uint32_t operands = 0;      ///< of a reduction
    std::uint64_t mapped_bytes = 0;  ///< copied from or to memory of node-mates in place
};
/// In the order of a lane, loop bodies once for each segment.
void for_each_happening(const Program& program, const Lane& lane, const VectorSize& size,
                        const std::function<void(const Happening&)>& visit);
/// Each message, with whom it is for (kNoRank if it is published) and its bytes.
void for_each_message(const Program& program, const VectorSize& size,
                      const std::function<void(Rank peer, std::uint64_t bytes)>& visit);
/// Each step that copies from or to memory of node-mates in place, with the bytes.
void for_each_mapped(const Program& program, const VectorSize& size,
                     const std::function<void(std::uint64_t bytes)>& visit);
/// Each reduction, with the bytes of an operand and the number of operands.
void for_each_reduction(
    const Program& program, const VectorSize& size,
    const std::function<void(std::uint64_t bytes, std::uint32_t operands)>& visit);

}  // namespace weft::plan
