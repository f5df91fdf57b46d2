// SPDX-License-Identifier: BSD-3-Clause
// image.hpp - programs boiled down to what takes time: sends, receptions and computations.
//
// Idea     Each lane becomes a row of 32-bit words, loops unrolled, with bytes already turned into
//          times. A part holds the lanes of consecutive ranks; parts can be made apart from each other
//          and the programs be forgotten, so a million ranks fit.
// Holds    A flag is named by (rank, key): key = number * segments + segment. What was raised under a
//          key is awaited under the same key. Consecutive waits form one reception.
// Next     generic.cpp and events.cpp run images.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"
#include "plan/simulate/model.hpp"

namespace weft::plan {

/// How large the vectors are that programs cut into units.
struct VectorSize {
    std::uint64_t elements = 1;
    std::uint32_t element_bytes = 8;
};

/// Words of a lane: the low three bits say what, the others are its argument.
enum class Word : std::uint32_t {
    send,     ///< argument: key; next word: the peer
    busy,     ///< argument: index of the time that sends are busy for, from here on
    publish,  ///< argument: key in my own published cells
    receive,  ///< argument: how many; for each one word: key << 1, or key << 1 | 1 and its owner
    compute,  ///< argument: index of the time it takes
    end,
};

struct ImageLane {
    Rank rank = 0;
    std::uint32_t lane = 0;  ///< number within the rank
    std::size_t first = 0;   ///< its first word in the part
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
    [[nodiscard]] const std::vector<std::uint32_t>& words() const { return words_; }
    [[nodiscard]] const std::vector<Time>& times() const { return times_; }
    [[nodiscard]] std::uint32_t keys() const { return keys_; }
    [[nodiscard]] std::uint64_t raises() const { return raises_; }
    [[nodiscard]] std::uint64_t waits() const { return waits_; }

  private:
    void add_step(const Program& program, const Step& step, std::uint32_t segment);
    void add_wait(const Program& program, const Step& step, std::uint32_t segment);
    void add_word(Word word, std::uint32_t argument) {
        words_.push_back(argument << 3 | static_cast<std::uint32_t>(word));
    }
    [[nodiscard]] bool is_far(Rank a, Rank b) const {
        const std::vector<Rank>& node_of = *far_->node_of;
        return node_of[static_cast<std::size_t>(a)] != node_of[static_cast<std::size_t>(b)];
    }
    void add_busy(const Program& program, const Step& step, std::uint32_t segment);
    [[nodiscard]] std::uint32_t index_of(Time time);
    [[nodiscard]] std::uint32_t key(const Program& program, std::uint32_t number,
                                    std::uint32_t segment);
    [[nodiscard]] std::uint64_t bytes_of(const Program& program, BlockList list,
                                         std::uint32_t segment, std::uint32_t share = 1) const;

    MessageModel model_;
    VectorSize size_;
    std::optional<FarPuts> far_;
    Partition partition_{0, 0};
    std::vector<ImageLane> lanes_;
    std::vector<std::uint32_t> words_;
    std::vector<Time> times_;
    std::uint32_t keys_ = 0;
    std::uint64_t raises_ = 0;
    std::uint64_t waits_ = 0;
    static constexpr std::size_t kNoReception = ~std::size_t{0};
    std::size_t reception_ = kNoReception;  ///< the receive word that further waits join
    bool busy_set_ = false;                 ///< the lane has a busy word already,
    bool busy_far_ = false;                 ///< to another node or not,
    std::uint64_t busy_bytes_ = 0;          ///< for so many bytes,
    BlockList busy_source_;                 ///< and this was the source of such a message,
    std::uint32_t busy_segment_ = 0;        ///< in this segment
};

/// Puts, signals, exposes and publishes of a program; loop bodies once for each segment.
[[nodiscard]] std::uint64_t raises_of(const Program& program);
/// A step, as often as it happens. Puts, signals, exposes, publishes, waits and reductions take time; what
/// stands between waits makes them receptions of their own.
struct Happening {
    StepKind kind = StepKind::put;
    bool message = false;  ///< it raises something somewhere
    Rank peer = kNoRank;
    std::uint64_t key = 0;       ///< number * segments + segment, of sends and waits
    bool published = false;      ///< a wait for a published cell
    std::uint64_t bytes = 0;     ///< of a message, or of one operand
    std::uint32_t operands = 0;  ///< of a reduction
};
/// In the order of a lane, loop bodies once for each segment.
void for_each_happening(const Program& program, const Lane& lane, const VectorSize& size,
                        const std::function<void(const Happening&)>& visit);
/// Each message, with whom it is for (kNoRank if it is published) and its bytes.
void for_each_message(const Program& program, const VectorSize& size,
                      const std::function<void(Rank peer, std::uint64_t bytes)>& visit);
/// Each reduction, with the bytes of an operand and the number of operands.
void for_each_reduction(
    const Program& program, const VectorSize& size,
    const std::function<void(std::uint64_t bytes, std::uint32_t operands)>& visit);

}  // namespace weft::plan
