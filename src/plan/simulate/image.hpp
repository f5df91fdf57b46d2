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

struct Touched;  // touched.hpp

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

/// A network card that the ranks of a node share: a message holds that of its sender, and then that
/// of its target, for the longer of these.
struct Card {
    Time message = 0;          ///< from one message to the next, and
    std::int64_t byte_fs = 0;  ///< each byte

    [[nodiscard]] Time held(std::uint64_t bytes) const {
        return std::max(message, to_time(static_cast<std::int64_t>(bytes) * byte_fs));
    }
};

/// Messages between ranks of different nodes keep their sender busy for another time, arrive after
/// another latency and go through the nodes' cards.
struct FarPuts {
    MessageModel model;
    Card card;
    const std::vector<Rank>* node_of = nullptr;  ///< by rank; outlives the parts
};

/// A team in which rank r + ranks does what rank r does, at the same distances: the image holds the
/// first `ranks` ranks and stands for all. All units of a vector then count as equally large.
struct Fold {
    Rank ranks = 0;
};

class ImagePart {
  public:
    ImagePart(const MessageModel& model, const VectorSize& size, std::optional<FarPuts> far = {},
              std::optional<Fold> fold = {})
        : model_(model), size_(size), far_(far), fold_(fold) {}

    /// The programs of consecutive ranks, in order.
    [[nodiscard]] base::Result<void> add(const Program& program) {
        return add(program, program.rank);
    }
    /// The program as another rank would have it, that does the same at the same distances.
    [[nodiscard]] base::Result<void> add(const Program& program, Rank rank);
    /// What one call of add() has added.
    struct Added {
        std::size_t lane = 0;  ///< its first lane, and
        std::size_t row = 0;   ///< the first reference of that
        std::size_t lanes = 0;
        std::size_t rows = 0;
        std::uint64_t raises = 0;
        std::uint64_t waits = 0;
    };
    [[nodiscard]] const Added& added() const { return added_; }
    /// The same for another rank, that does the same at the same distances. Where some messages are
    /// far, the same ones are.
    void repeat(const Added& like, Rank rank);
    /// Room for so many ranks with programs like the ones so far.
    void reserve(std::size_t ranks);

    [[nodiscard]] std::span<const ImageLane> lanes() const { return lanes_; }
    [[nodiscard]] const Pieces& pieces() const { return pieces_; }
    [[nodiscard]] Pieces& pieces() { return pieces_; }
    [[nodiscard]] const std::vector<Time>& times() const { return times_; }
    /// By the index of the time that a message keeps its sender busy: how much later than after
    /// the model's latency it arrives.
    [[nodiscard]] const std::vector<Time>& delays() const { return delays_; }
    /// By the same index: how long it holds a card; 0: it goes through none.
    [[nodiscard]] const std::vector<Time>& holds() const { return holds_; }
    /// By the same index: what its bytes take its receiver.
    [[nodiscard]] const std::vector<Time>& works() const { return works_; }
    [[nodiscard]] bool has_works() const { return has_works_; }
    /// Messages meet in cards: their order in time matters.
    [[nodiscard]] bool has_cards() const { return has_cards_; }
    /// Whose card a rank uses.
    [[nodiscard]] Rank node_of(Rank rank) const {
        return (*far_->node_of)[static_cast<std::size_t>(rank)];
    }
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
    [[nodiscard]] std::uint32_t index_of(Time time, Time delay = 0, Time hold = 0, Time work = 0);
    /// Of a block that starts at this unit.
    [[nodiscard]] std::uint64_t bytes_in(const Block& block, std::uint32_t first) const;
    [[nodiscard]] const MessageModel& model() const { return model_; }

  private:
    void add_step(const Program& program, const Step& step, std::uint32_t segment);
    void add_wait(const Program& program, const Step& step, std::uint32_t segment);
    void compute(Time time);
    [[nodiscard]] Touched touched(const Program& program, const Step& step,
                                  std::uint32_t segment) const;
    [[nodiscard]] Time touch(const Program& program, const Step& step, std::uint32_t segment,
                             const Touched& touched) const;
    [[nodiscard]] Time expose(const Program& program) const;
    void find_unpacked(const Program& program);
    [[nodiscard]] Time unpack(const Program& program, const Step& step,
                              std::uint32_t segment) const;
    [[nodiscard]] bool is_far(Rank a, Rank b) const {
        const std::vector<Rank>& node_of = *far_->node_of;
        return node_of[static_cast<std::size_t>(a)] != node_of[static_cast<std::size_t>(b)];
    }
    [[nodiscard]] bool goes_far(const Program& program, const Step& step) const;
    /// Whom a program means by a rank, if another rank has it.
    [[nodiscard]] Rank meant(Rank peer, Rank size) const {
        const std::int64_t rank = std::int64_t{peer} + shift_;
        return static_cast<Rank>(rank < size ? rank : rank - size);
    }
    [[nodiscard]] Rank shown(Rank rank) const { return fold_ ? rank % fold_->ranks : rank; }
    [[nodiscard]] std::uint64_t carried_by(const Program& program, BlockList list,
                                           std::uint32_t segment, std::uint32_t share) const;
    [[nodiscard]] std::uint32_t busy_of(const Program& program, const Step& step,
                                        std::uint32_t segment);
    [[nodiscard]] std::uint64_t bytes_of(const Program& program, BlockList list,
                                         std::uint32_t segment, std::uint32_t share = 1) const;

    MessageModel model_;
    VectorSize size_;
    std::optional<FarPuts> far_;
    std::optional<Fold> fold_;
    Rank rank_ = 0;               ///< whose program is being added, and
    Rank shift_ = 0;              ///< how far ahead of the program's own rank that is
    bool mapped_ = false;         ///< it names memory of node-mates
    std::int64_t cold_fs_ = 0;    ///< of each byte of a vector that the program touches
    std::vector<bool> unpacked_;  ///< by put target of that program: whether reading it takes time
    Partition partition_{0, 0};
    std::vector<ImageLane> lanes_;
    Pieces pieces_;
    Added added_;
    std::vector<Time> times_;
    std::vector<Time> delays_;
    std::vector<Time> holds_;
    std::vector<Time> works_;
    static constexpr int kFoundBits = 6;
    /// Indices that were found last, by some bits of what was asked for.
    std::array<std::uint32_t, std::size_t{1} << kFoundBits> found_{};
    bool has_cards_ = false;
    bool has_works_ = false;
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
    StepKind kind = {};
    bool message = false;  ///< it raises something somewhere
    Rank peer = kNoRank;
    std::uint64_t key = 0;             ///< number * segments + segment, of sends and waits
    bool published = false;            ///< a wait for a published cell
    bool shared = false;               ///< a message that may be published instead (StepFlags)
    std::uint64_t bytes = 0;           ///< of a message, or of one operand
    std::uint32_t operands = 0;        ///< of a reduction
    std::uint32_t mapped_vectors = 0;  ///< of node-mates, read or written in place
    std::uint64_t mapped_bytes = 0;    ///< copied from or to these
    std::uint64_t own_bytes = 0;       ///< copied between vectors of the rank itself
    std::uint64_t slot_bytes = 0;      ///< copied out of put targets
    std::uint64_t unpacked_bytes = 0;  ///< copied or reduced out of those that are asked for
};
/// In the order of a lane, loop bodies once for each segment, as long as visit() returns true.
/// of_own: whether own_bytes and slot_bytes are wanted; slots: of which put targets unpacked_bytes
/// are (slots_filled_by() of touched.hpp).
void for_each_happening(const Program& program, const Lane& lane, const VectorSize& size,
                        const std::function<bool(const Happening&)>& visit, bool of_own = false,
                        const std::vector<bool>& slots = {});
/// Each message; `peer` is kNoRank if it is published.
void for_each_message(const Program& program, const VectorSize& size,
                      const std::function<void(const Happening&)>& visit);
/// Each step that copies, or reads or writes memory of node-mates in place.
void for_each_touching(const Program& program, const VectorSize& size,
                       const std::function<void(const Happening&)>& visit, bool of_own);
/// Bytes that a rank reads or writes for itself and its node-mates (memory_elements() of
/// touched.hpp).
[[nodiscard]] std::uint64_t touched_bytes(const Program& program, const VectorSize& size,
                                          const std::function<bool(Rank peer)>& is_mate);
/// How many of the caller's vectors a rank exposes to node-mates.
[[nodiscard]] std::uint32_t exposed_vectors(const Program& program,
                                            const std::function<bool(Rank peer)>& is_mate);
/// Each reduction.
void for_each_reduction(const Program& program, const VectorSize& size,
                        const std::function<void(const Happening&)>& visit);

}  // namespace weft::plan
