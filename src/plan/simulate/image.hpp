// SPDX-License-Identifier: BSD-3-Clause
// image.hpp - programs boiled down to what takes time: sends, receptions and computations.
//
// Idea     Each lane becomes a row of pieces (pieces.hpp), loops unrolled, with bytes already turned into
//          times. A part holds the lanes of consecutive ranks; parts can be made apart from each other
//          and the programs be forgotten, so a million ranks fit. Steps can come from a program, or
//          one by one from whoever writes them, without a program in between (ImageSteps).
// Holds    A flag is named by (rank, key): key = number * segments + segment. What was raised under a
//          key is awaited under the same key. Consecutive waits form one reception.
// Next     stream.hpp for steps one by one; generic.cpp and events.cpp run images.
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
    [[nodiscard]] const std::vector<Time>& times() const { return times_; }
    [[nodiscard]] std::uint32_t keys() const { return keys_; }
    [[nodiscard]] std::uint64_t raises() const { return pieces_.raises(); }
    [[nodiscard]] std::uint64_t waits() const { return pieces_.waits(); }

  private:
    friend class ImageSteps;

    /// Notes what all programs of these slots and segments need.
    [[nodiscard]] base::Result<void> admit(const Program& header);
    [[nodiscard]] base::Result<void> check_room(Rank rank) const;
    void begin_lane(Rank rank, Rank size, std::uint32_t lane) {
        lanes_.push_back({rank, lane, pieces_.rows().size()});
        pieces_.begin_lane(rank, size);
    }
    void add_step(const Program& program, const Step& step, std::uint32_t segment);
    void add_wait(const Program& program, const Step& step, std::uint32_t segment);
    [[nodiscard]] bool is_far(Rank a, Rank b) const {
        const std::vector<Rank>& node_of = *far_->node_of;
        return node_of[static_cast<std::size_t>(a)] != node_of[static_cast<std::size_t>(b)];
    }
    [[nodiscard]] std::uint32_t busy_of(const Program& program, const Step& step,
                                        std::uint32_t segment);
    [[nodiscard]] std::uint32_t index_of(Time time);
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

/// Takes the steps of one rank after the other, each for what it costs, and keeps none (a StepSink).
/// The steps are those of programs in one lane whose headers are alike.
class ImageSteps {
  public:
    /// The part must outlive this. Status::unsupported if such programs are too large.
    [[nodiscard]] static base::Result<ImageSteps> into(ImagePart& part, const Program& header);

    void begin(Rank rank) {
        rank_ = rank;
        part_->begin_lane(rank, size_, 0);
    }
    [[nodiscard]] base::Result<void> end() {
        part_->pieces_.end_lane();
        return part_->check_room(rank_);
    }

    void payload(const Block& block) { busy_for(bytes_of(block)); }
    template <class PeerOf>
    void put(Rank count, const PeerOf& peer_of, std::uint32_t number, std::uint8_t /*flags*/) {
        if (!part_->far_) return part_->pieces_.send(key(number), busy(false), count, peer_of);
        for (Rank i = 0; i < count; ++i) {
            const Rank peer = peer_of(i);
            part_->pieces_.send(key(number), busy(part_->is_far(rank_, peer)), peer);
        }
    }
    template <class PeerOf>
    void signal(Rank count, const PeerOf& peer_of, std::uint32_t number, std::uint8_t flags) {
        busy_for(0);
        put(count, peer_of, number, flags);
    }
    template <class PeerOf>
    void wait(Rank count, const PeerOf& /*peer_of*/, std::uint32_t number, std::uint8_t /*flags*/) {
        part_->pieces_.await(key(number), static_cast<std::uint32_t>(count), segments_);
    }
    void flush() { part_->pieces_.interrupt(); }
    void operand(const Block& block) {
        if (operands_++ == 0) operand_ = block;
    }
    void slots(const Block& block, Rank count) {
        if (operands_ == 0) operand_ = block;
        operands_ += static_cast<std::uint32_t>(count);
    }
    void combine(const Block& /*target*/) {
        part_->pieces_.interrupt();
        const std::uint32_t time = combine_for(bytes_of(operand_), operands_);
        if (time != kNoTime) part_->pieces_.compute(time);
        operands_ = 0;
    }
    void copy(const Block& /*target*/, const Block& /*source*/) { part_->pieces_.interrupt(); }
    void begin_loop() { segment_ = 0; }
    bool next_segment() {
        if (++segment_ < segments_) return true;
        segment_ = 0;
        return false;
    }

  private:
    ImageSteps(ImagePart& part, const Program& header)
        : part_(&part), size_(header.size), segments_(header.segments) {}
    [[nodiscard]] std::uint32_t key(std::uint32_t number) const {
        return number * segments_ + segment_;
    }
    [[nodiscard]] std::uint64_t bytes_of(const Block& block) {
        const std::uint32_t first = block.first + block.advance * segment_;
        if (first != first_ || block.count != count_ || block.stride != 1) measure(block, first);
        return bytes_;
    }
    void measure(const Block& block, std::uint32_t first);
    void busy_for(std::uint64_t bytes) {
        if (bytes == busy_bytes_) return;
        busy_bytes_ = bytes;
        busy_[0] = busy_[1] = kUnknown;
    }
    [[nodiscard]] std::uint32_t busy(bool far) {
        std::uint32_t& index = busy_[far ? 1 : 0];
        if (index == kUnknown) index = look_up_busy(far);
        return index;
    }
    [[nodiscard]] std::uint32_t look_up_busy(bool far);
    [[nodiscard]] std::uint32_t combine_for(std::uint64_t bytes, std::uint32_t operands) {
        if (bytes != combine_bytes_ || operands >= combines_.size() ||
            combines_[operands] == kUnknown)
            look_up_combine(bytes, operands);
        return combines_[operands];
    }
    void look_up_combine(std::uint64_t bytes, std::uint32_t operands);

    static constexpr std::uint32_t kUnknown = ~0U;

    ImagePart* part_;
    Rank rank_ = 0;
    Rank size_;
    std::uint32_t segments_;
    std::uint32_t segment_ = 0;
    /// The block that was measured last, and its bytes.
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;
    std::uint64_t bytes_ = 0;
    /// For messages of so many bytes.
    std::uint64_t busy_bytes_ = 0;
    std::array<std::uint32_t, 2> busy_{kUnknown, kUnknown};  ///< near and far: index of the time
    /// By the number of operands of so many bytes: the index of the time that combining them takes.
    static constexpr std::uint32_t kNoTime = kUnknown - 1;
    std::vector<std::uint32_t> combines_;
    std::uint64_t combine_bytes_ = 0;
    Block operand_;  ///< the first one of those said
    std::uint32_t operands_ = 0;
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
