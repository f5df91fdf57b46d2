// SPDX-License-Identifier: BSD-3-Clause
// stream.cpp - converts generated programs to an image, step by step.
//
// Idea     The generator emits a rank's steps, and the image records the cost of each. No program
//          with steps and blocks is stored.
#include <vector>

#include "plan/schedule/stage_steps.hpp"
#include "tools/simulate/image.hpp"

namespace weft::lab {

namespace {

/// Records the cost of each step of a rank, and stores no step (a StepSink). The steps are those of
/// programs with one lane, one segment and equal headers.
class ImageSteps {
  public:
    /// The part must outlive this object.
    ImageSteps(ImagePart& part, const plan::Program& header) : part_(&part), size_(header.size) {}

    void begin(Rank rank) {
        rank_ = rank;
        part_->begin_lane(rank, size_, 0);
    }
    [[nodiscard]] base::Result<void> end() {
        part_->pieces().end_lane();
        return part_->check_capacity(rank_);
    }

    /// Sets the size of the following puts. A signal() sets the size to 0.
    void payload(const plan::Block& block) { set_message_bytes(bytes_of(block)); }
    template <class PeerOf>
    void put(Rank count, const PeerOf& peer_of, std::uint32_t number, std::uint8_t /*flags*/) {
        part_->pieces().send(number, busy_index(), count, peer_of);
    }
    template <class PeerOf>
    void signal(Rank count, const PeerOf& peer_of, std::uint32_t number, std::uint8_t flags) {
        set_message_bytes(0);
        put(count, peer_of, number, flags);
    }
    template <class PeerOf>
    void wait(Rank count, const PeerOf& /*peer_of*/, std::uint32_t number, std::uint8_t /*flags*/) {
        part_->pieces().await(number, static_cast<std::uint32_t>(count));
    }
    void flush() { part_->pieces().interrupt(); }
    void operand(const plan::Block& block) {
        if (operand_count_++ == 0) first_operand_ = block;
    }
    void slots(const plan::Block& block, Rank count) {
        if (operand_count_ == 0) first_operand_ = block;
        operand_count_ += static_cast<std::uint32_t>(count);
    }
    void combine(const plan::Block& /*target*/) {
        part_->pieces().interrupt();
        const std::uint32_t index = combine_index(bytes_of(first_operand_), operand_count_);
        if (index != kNoIndex) part_->pieces().compute(index);
        operand_count_ = 0;
    }
    void copy(const plan::Block& /*target*/, const plan::Block& /*source*/) {
        part_->pieces().interrupt();
    }
    void begin_loop() {}
    bool next_segment() { return false; }

  private:
    static constexpr std::uint32_t kUnknown = ~0U;           ///< index not looked up yet
    static constexpr std::uint32_t kNoIndex = kUnknown - 1;  ///< combining takes no time

    [[nodiscard]] std::uint64_t bytes_of(const plan::Block& block) {
        if (block.first != first_ || block.count != count_ || block.stride != 1) {
            first_ = block.first;
            count_ = block.stride == 1 ? block.count : 0;
            bytes_ = part_->bytes_in(block, block.first);
        }
        return bytes_;
    }
    void set_message_bytes(std::uint64_t bytes) {
        if (bytes == busy_bytes_) return;
        busy_bytes_ = bytes;
        busy_index_ = kUnknown;
    }
    [[nodiscard]] std::uint32_t busy_index() {
        if (busy_index_ == kUnknown)
            busy_index_ = part_->index_of({.time = part_->model().busy(busy_bytes_),
                                           .two_way = part_->model().two_way_time(busy_bytes_)});
        return busy_index_;
    }
    [[nodiscard]] std::uint32_t combine_index(std::uint64_t bytes, std::uint32_t operands) {
        if (bytes != combine_bytes_ || operands >= combines_.size() ||
            combines_[operands] == kUnknown)
            find_combine_index(bytes, operands);
        return combines_[operands];
    }
    void find_combine_index(std::uint64_t bytes, std::uint32_t operands) {
        if (bytes != combine_bytes_) combines_.clear();
        combine_bytes_ = bytes;
        if (operands >= combines_.size()) combines_.resize(operands + 1, kUnknown);
        const plan::Time time = part_->model().combine(bytes, operands);
        combines_[operands] = time > 0 ? part_->index_of({.time = time}) : kNoIndex;
    }

    ImagePart* part_;
    Rank rank_ = 0;
    Rank size_;
    /// Cache of bytes_of(): the last block, if its stride is 1. After other blocks, count_ is 0.
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;
    std::uint64_t bytes_ = 0;
    /// Index of the time that a sender is busy with a message of busy_bytes_ bytes.
    std::uint64_t busy_bytes_ = 0;
    std::uint32_t busy_index_ = kUnknown;
    /// For each number of operands of combine_bytes_ bytes: index of the time to combine them.
    std::vector<std::uint32_t> combines_;
    std::uint64_t combine_bytes_ = 0;
    plan::Block first_operand_;  ///< first operand of the step
    std::uint32_t operand_count_ = 0;
};

}  // namespace

base::Result<void> add_programs(ImagePart& part, const plan::Stages& stages, Rank first, Rank last,
                                const std::function<void(Rank)>& progress) {
    constexpr Rank kReserveAfter = 64;   // the first ranks show how much memory the others need
    constexpr Rank kReportEvery = 4096;  // ranks between two calls of progress()
    if (stages.interleaves)
        return base::fail(
            Status::unsupported,
            "stages with several segments in flight cannot be converted: use the programs");
    WEFT_TRY(part.admit(stages.header));
    ImageSteps sink(part, stages.header);
    plan::StageSteps steps(stages, sink);
    for (Rank rank = first; rank < last; ++rank) {
        sink.begin(rank);
        steps.write(rank);
        WEFT_TRY(sink.end());
        if (rank - first == kReserveAfter) part.reserve(static_cast<std::size_t>(last - rank));
        if (progress && (rank - first) % kReportEvery == 0) progress(rank);
    }
    return base::Done{};
}

}  // namespace weft::lab
