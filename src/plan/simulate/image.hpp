// SPDX-License-Identifier: BSD-3-Clause
// image.hpp - compact form of programs for engines: sends, receptions and computations.
//
// Idea     Each lane becomes a row of pieces (pieces.hpp), with loops unrolled and bytes converted
//          to times. A part holds the lanes of consecutive ranks. Parts are made independently, and
//          programs can be freed afterwards, so a million ranks fit in memory. Lanes are made from
//          programs, or written piece by piece.
// Holds    (rank, key) names a flag, with key = number * segments + segment. A flag is raised and
//          awaited under the same key. Consecutive waits form one reception.
// Next     generic.cpp runs images; tools/lab/simulate/stream.hpp writes them without programs.
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

/// Size of the buffers that programs cut into units.
struct VectorSize {
    std::uint64_t elements = 1;
    std::uint32_t element_bytes = 8;
};

struct ImageLane {
    Rank rank = 0;
    std::uint32_t lane = 0;  ///< index within the rank
    std::size_t first = 0;   ///< index of its first piece in the part's rows
};

/// NIC that the ranks of a node share. A message occupies the NIC of its sender and then that of
/// its target, each for the longer of two times.
struct Card {
    Time message = 0;          ///< least time between two messages
    std::int64_t byte_fs = 0;  ///< time for each byte

    [[nodiscard]] Time held(std::uint64_t bytes) const {
        return std::max(message, to_time(static_cast<std::int64_t>(bytes) * byte_fs));
    }
};

/// Costs of messages between nodes: other times and latency, and the NICs of the nodes.
struct FarPuts {
    MessageModel model;
    Card card;
    const std::vector<Rank>* node_of = nullptr;  ///< by rank; must outlive the parts
};

/// A team in which rank r + ranks repeats rank r at the same distances. The image holds the
/// first `ranks` ranks and represents all. All units of a buffer count as equally large.
struct Fold {
    Rank ranks = 0;
};

class ImagePart {
  public:
    ImagePart(const MessageModel& model, const VectorSize& size, std::optional<FarPuts> far = {},
              std::optional<Fold> fold = {})
        : model_(model), size_(size), far_(far), fold_(fold) {}

    /// Adds a program. Programs of consecutive ranks must be added in order.
    [[nodiscard]] base::Result<void> add(const Program& program) {
        return add(program, program.rank);
    }
    /// Adds the program as `rank` would have it, if that rank does the same at the same distances.
    [[nodiscard]] base::Result<void> add(const Program& program, Rank rank);
    /// Result of one call of add().
    struct Added {
        std::size_t lane = 0;  ///< index of its first lane
        std::size_t row = 0;   ///< index of the first row of that lane
        std::size_t lanes = 0;
        std::size_t rows = 0;
        std::uint64_t raises = 0;
        std::uint64_t waits = 0;
    };
    [[nodiscard]] const Added& added() const { return added_; }
    /// Adds the same pieces for another rank, which must do the same at the same distances. The
    /// same messages must be far.
    void repeat(const Added& like, Rank rank);
    /// Reserves memory for `ranks` ranks with programs like those added before.
    void reserve(std::size_t ranks);

    [[nodiscard]] std::span<const ImageLane> lanes() const { return lanes_; }
    [[nodiscard]] const Pieces& pieces() const { return pieces_; }
    [[nodiscard]] Pieces& pieces() { return pieces_; }
    [[nodiscard]] const std::vector<Time>& times() const { return times_; }
    /// Returns the extra latency of a message beyond the model's, by the index of its busy time.
    [[nodiscard]] const std::vector<Time>& delays() const { return delays_; }
    /// Returns the time that a message occupies a NIC, by the same index; 0 if it uses none.
    [[nodiscard]] const std::vector<Time>& holds() const { return holds_; }
    /// Returns the time of the receiver for the bytes of a message, by the same index.
    [[nodiscard]] const std::vector<Time>& works() const { return works_; }
    [[nodiscard]] bool has_works() const { return has_works_; }
    /// Returns true if messages use NICs, so their order in time matters.
    [[nodiscard]] bool has_cards() const { return has_cards_; }
    /// Returns the node of a rank, and with it the NIC that the rank uses.
    [[nodiscard]] Rank node_of(Rank rank) const {
        return (*far_->node_of)[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::uint32_t keys() const { return keys_; }
    [[nodiscard]] std::uint64_t raises() const { return pieces_.raises(); }
    [[nodiscard]] std::uint64_t waits() const { return pieces_.waits(); }

    // Parts of add(), for lanes that are written piece by piece.

    /// Records the keys and units of programs with these slots and segments. Fails if they exceed
    /// the limits of a simulation.
    [[nodiscard]] base::Result<void> admit(const Program& header);
    [[nodiscard]] base::Result<void> check_room(Rank rank) const;
    void begin_lane(Rank rank, Rank size, std::uint32_t lane) {
        lanes_.push_back({rank, lane, pieces_.rows().size()});
        pieces_.begin_lane(rank, size);
    }
    [[nodiscard]] std::uint32_t index_of(Time time, Time delay = 0, Time hold = 0, Time work = 0);
    /// Returns the bytes of a block that starts at unit `first`.
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
    /// Returns the rank that a peer's number means for the rank being added.
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
    Rank rank_ = 0;               ///< rank whose program is being added
    Rank shift_ = 0;              ///< distance from the program's own rank to rank_
    bool mapped_ = false;         ///< the program accesses memory of local peers
    std::int64_t cold_fs_ = 0;    ///< time for each buffer byte that the program touches
    std::vector<bool> unpacked_;  ///< by put target of the program: reading it takes time
    Partition partition_{0, 0};
    std::vector<ImageLane> lanes_;
    Pieces pieces_;
    Added added_;
    std::vector<Time> times_;
    std::vector<Time> delays_;
    std::vector<Time> holds_;
    std::vector<Time> works_;
    static constexpr int kFoundBits = 6;
    /// Cache of the last indices found, by some bits of the requested values.
    std::array<std::uint32_t, std::size_t{1} << kFoundBits> found_{};
    bool has_cards_ = false;
    bool has_works_ = false;
    std::uint32_t keys_ = 0;
    /// Key and result of the last busy_of().
    struct Busy {
        std::uint32_t index = 0;
        bool known = false;
        bool far = false;  ///< goes to another node
        BlockList source;
        std::uint32_t segment = 0;
    } busy_;
};

/// Effect of one execution of a step. Puts, signals, exposes, publishes, waits and reductions take
/// time; a step between waits separates their receptions.
struct Happening {
    StepKind kind = {};
    bool message = false;  ///< raises a flag
    Rank peer = kNoRank;
    std::uint64_t key = 0;       ///< number * segments + segment, for sends and waits
    bool published = false;      ///< wait for a published cell
    bool shared = false;         ///< message that may be published instead (StepFlags)
    std::uint64_t bytes = 0;     ///< of a message, or of one operand
    std::uint32_t operands = 0;  ///< operands of a reduction
    /// Buffers of local peers that are read or written in place.
    std::uint32_t mapped_vectors = 0;
    std::uint64_t mapped_bytes = 0;  ///< bytes copied from or to such buffers
    std::uint64_t own_bytes = 0;     ///< bytes copied between the rank's own buffers
    std::uint64_t slot_bytes = 0;    ///< bytes copied out of put targets
    /// Bytes copied or reduced out of the selected put targets.
    std::uint64_t unpacked_bytes = 0;
};
/// Calls visit() for each step of a lane in order, loop bodies once for each segment, while it
/// returns true. `of_own`: compute own_bytes and slot_bytes. `slots`: put targets that count for
/// unpacked_bytes (slots_filled_by() of touched.hpp).
void for_each_happening(const Program& program, const Lane& lane, const VectorSize& size,
                        const std::function<bool(const Happening&)>& visit, bool of_own = false,
                        const std::vector<bool>& slots = {});
/// Visits each message. `peer` is kNoRank for a published one.
void for_each_message(const Program& program, const VectorSize& size,
                      const std::function<void(const Happening&)>& visit);
/// Visits each step that copies, or reads or writes memory of local peers in place.
void for_each_touching(const Program& program, const VectorSize& size,
                       const std::function<void(const Happening&)>& visit, bool of_own);
/// Returns the bytes that a rank reads or writes for itself and its local peers
/// (memory_elements() of touched.hpp).
[[nodiscard]] std::uint64_t touched_bytes(const Program& program, const VectorSize& size,
                                          const std::function<bool(Rank peer)>& is_near);
/// Returns the number of the caller's buffers that a rank exposes to local peers: 0 to 2.
[[nodiscard]] std::uint32_t exposed_vectors(const Program& program,
                                            const std::function<bool(Rank peer)>& is_near);
/// Visits each reduction.
void for_each_reduction(const Program& program, const VectorSize& size,
                        const std::function<void(const Happening&)>& visit);

}  // namespace weft::plan
