// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/neighborhood/exchange.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

std::int64_t Grid::ranks() const {
    std::int64_t ranks = 1;
    for (const Rank extent : extents_) ranks *= extent;
    return ranks;
}

bool Grid::is_valid() const {
    if (extents_.empty() || periodic_.size() != extents_.size()) return false;
    std::int64_t ranks = 1;
    for (const Rank extent : extents_) {
        if (extent < 1 || ranks > std::numeric_limits<Rank>::max() / extent) return false;
        ranks *= extent;
    }
    return true;
}

Coordinates Grid::coordinates_of(Rank rank) const {
    Coordinates coordinates(extents_.size());
    for (std::size_t i = extents_.size(); i-- > 0; rank /= extents_[i])
        coordinates[i] = rank % extents_[i];
    return coordinates;
}

Rank Grid::rank_at(const Coordinates& coordinates) const {
    std::int64_t rank = 0;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        const std::int64_t extent = extents_[i];
        std::int64_t at = coordinates[i];
        if (periodic_[i]) at = (at % extent + extent) % extent;
        if (at < 0 || at >= extent) return plan::kNoRank;
        rank = rank * extent + at;
    }
    return static_cast<Rank>(rank);
}

std::optional<Coordinates> Grid::reduced(Coordinates offset) const {
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        const std::int64_t extent = extents_[i];
        if (periodic_[i])
            offset[i] = (offset[i] % extent + extent) % extent;
        else if (offset[i] <= -extent || offset[i] >= extent)
            return std::nullopt;
    }
    return offset;
}

base::Result<Stencil> Stencil::make(Grid grid, std::vector<Coordinates> offsets) {
    if (!grid.is_valid())
        return base::fail(Status::argument,
                          "the grid must have at least one dimension of at least 1 rank, and fewer "
                          "than 2^31 ranks");
    if (offsets.empty()) return base::fail(Status::argument, "the list of offsets is empty");
    std::map<Coordinates, std::uint32_t> numbers;
    for (const Coordinates& offset : offsets) {
        const auto number = as_u32(numbers.size());
        if (offset.size() != grid.dimensions())
            return base::fail(Status::argument,
                              "offset {} has {} parts, but the grid has {} dimensions", number,
                              offset.size(), grid.dimensions());
        if (!numbers.emplace(offset, number).second)
            return base::fail(Status::argument, "offset {} repeats an earlier offset", number);
    }
    Stencil stencil(std::move(grid), std::move(offsets));
    for (const Coordinates& offset : stencil.offsets_) {
        Coordinates back = offset;
        for (std::int64_t& part : back) part = -part;
        const auto found = numbers.find(back);
        if (found == numbers.end())
            return base::fail(Status::argument, "the opposite of offset {} is missing",
                              stencil.opposite_.size());
        stencil.opposite_.push_back(found->second);
    }
    return stencil;
}

Rank Stencil::neighbor(Rank rank, std::uint32_t index) const {
    Coordinates at = grid_.coordinates_of(rank);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += offsets_[index][i];
    return grid_.rank_at(at);
}

std::vector<Coordinates> box_offsets(int dimensions, int reach) {
    std::vector<Coordinates> offsets;
    Coordinates offset(static_cast<std::size_t>(dimensions), -reach);
    while (true) {
        if (std::ranges::any_of(offset, [](std::int64_t part) { return part != 0; }))
            offsets.push_back(offset);
        std::size_t last = offset.size();
        while (last > 0 && offset[last - 1] == reach) offset[--last] = -reach;
        if (last == 0) return offsets;
        ++offset[last - 1];
    }
}

std::vector<Coordinates> star_offsets(int dimensions, int reach) {
    std::vector<Coordinates> offsets;
    for (int axis = 0; axis < dimensions; ++axis) {
        for (int distance = 1; distance <= reach; ++distance) {
            for (const int part : {-distance, distance}) {
                Coordinates offset(static_cast<std::size_t>(dimensions), 0);
                offset[static_cast<std::size_t>(axis)] = part;
                offsets.push_back(std::move(offset));
            }
        }
    }
    return offsets;
}

namespace {

std::string_view name_of(NeighborData data) {
    return data == NeighborData::same ? "neighbor_allgather" : "neighbor_alltoall";
}

/// Returns the offset with all parts outside first .. end-1 set to 0.
Coordinates parts_of(const Coordinates& offset, std::size_t first, std::size_t end) {
    Coordinates parts(offset.size(), 0);
    for (std::size_t i = first; i < end; ++i) parts[i] = offset[i];
    return parts;
}

bool is_zero(const Coordinates& offset) {
    return std::ranges::all_of(offset, [](std::int64_t part) { return part == 0; });
}

/// A block that moves from one rank to another in a round. Offsets are indices in the stencil.
struct MovingBlock {
    std::uint32_t offset = 0;                 ///< offsets.front()
    std::vector<std::uint32_t> offsets = {};  ///< all offsets whose neighbors get the block
};

/// Blocks that move between one pair of ranks in a round.
struct RoundMessage {
    Coordinates distance;      ///< as Grid::reduced() returns it
    std::uint32_t number = 0;  ///< index among all messages to other ranks
    std::vector<MovingBlock> blocks = {};

    /// Returns true if the distance leads back to the sender, in a narrow periodic grid.
    [[nodiscard]] bool stays() const { return is_zero(distance); }
};

/// Messages along the dimensions first .. end-1.
struct Round {
    std::size_t first = 0;
    std::size_t end = 0;
    std::vector<RoundMessage> messages = {};
};

/// Messages of all rounds, and positions of blocks between rounds; equal on all ranks.
class Routes {
  public:
    Routes(const Stencil& stencil, NeighborData data, NeighborWay way)
        : stencil_(stencil), data_(data) {
        const std::vector<Coordinates>& offsets = stencil.offsets();
        for (std::uint32_t i = 0; i < offsets.size(); ++i) index_of_[offsets[i]] = i;
        const std::size_t dimensions = stencil.grid().dimensions();
        const std::size_t step = way == NeighborWay::direct ? dimensions : 1;
        for (std::size_t first = 0; first < dimensions; first += step)
            rounds_.push_back(round_of(first, first + step));
    }

    [[nodiscard]] const std::vector<Round>& rounds() const { return rounds_; }
    /// Returns the number of messages to other ranks.
    [[nodiscard]] std::uint32_t numbers() const { return numbers_; }

    /// Returns the position of the block with this offset before the round of `dimension`: in the
    /// input, the output or a scratch buffer.
    [[nodiscard]] plan::Block place(const BlockWriter& writer, std::uint32_t offset,
                                    std::size_t dimension) const {
        const Coordinates& whole = stencil_.offsets()[offset];
        const Coordinates begin = parts_of(whole, 0, dimension);
        if (is_zero(begin)) return writer.input(data_ == NeighborData::same ? 0 : offset);
        const auto found = index_of_.find(begin);
        if (found != index_of_.end() && (data_ == NeighborData::same || begin == whole))
            return writer.output(stencil_.opposite(found->second));
        const std::uint32_t id =
            data_ == NeighborData::same ? waiting_.find(begin)->second : offset;
        const auto blocks = as_u32(stencil_.offsets().size());
        return writer.scratch(id / blocks, id % blocks);
    }

  private:
    /// Returns the round along the dimensions first .. end - 1, and numbers its messages.
    Round round_of(std::size_t first, std::size_t end) {
        Round round{.first = first, .end = end};
        std::map<Coordinates, std::size_t> messages;  // index by distance
        std::map<Coordinates, std::size_t> shared;    // index of a block by its path so far
        for (std::uint32_t i = 0; i < stencil_.offsets().size(); ++i) {
            const Coordinates moved = parts_of(stencil_.offsets()[i], first, end);
            const auto distance = stencil_.grid().reduced(moved);
            if (is_zero(moved) || !distance) continue;
            const auto [found, is_new] = messages.emplace(*distance, round.messages.size());
            if (is_new) {
                round.messages.push_back({.distance = *distance, .number = numbers_});
                if (!round.messages.back().stays()) ++numbers_;
            }
            std::vector<MovingBlock>& blocks = round.messages[found->second].blocks;
            if (data_ == NeighborData::same) {
                const Coordinates begin = parts_of(stencil_.offsets()[i], 0, end);
                if (!index_of_.contains(begin)) waiting_.emplace(begin, as_u32(waiting_.size()));
                const auto [block, is_first] = shared.emplace(begin, blocks.size());
                if (!is_first) {
                    blocks[block->second].offsets.push_back(i);
                    continue;
                }
            }
            blocks.push_back({i, {i}});
        }
        return round;
    }

    const Stencil& stencil_;
    NeighborData data_;
    std::uint32_t numbers_ = 0;
    std::vector<Round> rounds_;
    std::map<Coordinates, std::uint32_t> index_of_;  ///< index of each offset of the stencil
    /// Scratch position of blocks between rounds, by the distance that they have moved so far if it
    /// is no offset of the stencil.
    std::map<Coordinates, std::uint32_t> waiting_;
};

class NeighborWriter {
  public:
    NeighborWriter(BlockWriter& writer, const NeighborRequest& request)
        : writer_(writer),
          stencil_(*request.stencil),
          data_(request.data),
          routes_(stencil_, data_, request.way),
          rank_(request.rank),
          segments_(request.segments),
          mapped_(request.way == NeighborWay::direct ? request.mapped : nullptr),
          in_lanes_(request.way == NeighborWay::direct && (mapped_ != nullptr || segments_ > 1)) {}

    void write() {
        copy_to_self();
        for (const Round& round : routes_.rounds()) {
            bool sends = false;
            for (const RoundMessage& message : round.messages) sends |= send(round, message);
            // Received blocks may replace blocks of earlier rounds that the puts still read.
            if (sends && round.first > 0) writer_->flush();
            for (const RoundMessage& message : round.messages) receive(round, message);
        }
        reserve();
    }

  private:
    /// Copies the block with offset 0, which this rank sends to itself.
    void copy_to_self() {
        for (std::uint32_t i = 0; i < stencil_.offsets().size(); ++i)
            if (is_zero(stencil_.offsets()[i]))
                writer_->copy(writer_.output(i), routes_.place(writer_, i, 0));
    }

    /// Reserves the slots of all messages, equal on all ranks.
    void reserve() {
        const bool all_mapped =
            mapped_ != nullptr && std::ranges::find(*mapped_, false) == mapped_->end();
        for (const Round& round : routes_.rounds()) {
            for (const RoundMessage& message : round.messages) {
                if (message.stays()) continue;
                const auto blocks = as_u32(message.blocks.size());
                if (all_mapped && is_mappable(message)) continue;
                writer_->reserve_capacities(by_rank_ ? 0 : message.number, by_rank_ ? numbers_ : 1,
                                            blocks);
            }
        }
        writer_->reserve_slots(mapped_ != nullptr ? 2 * numbers_ : numbers_);
        writer_.reserve_credits(numbers_, numbers_);
    }

    /// Returns the rank at direction * distance from this rank (direction is 1 or -1), or kNoRank.
    [[nodiscard]] Rank at(const Coordinates& distance, int direction) const {
        Coordinates there = here_;
        for (std::size_t i = 0; i < there.size(); ++i) there[i] += direction * distance[i];
        return stencil_.grid().rank_at(there);
    }

    /// Returns the number of a message; each number has one sender at each receiver. A narrow grid
    /// has fewer ranks than messages, so messages there are numbered by sender.
    [[nodiscard]] std::uint32_t number_of(const RoundMessage& message, Rank sender) const {
        return by_rank_ ? as_u32(sender) : message.number;
    }
    /// Returns the number of the receiver's signal that it has read a message.
    [[nodiscard]] std::uint32_t credit_of(const RoundMessage& message, Rank receiver) const {
        return numbers_ + number_of(message, receiver);
    }

    /// Returns true if this rank holds the block before the round of `dimension`: the grid has the
    /// rank from which it comes, and a rank that needs it.
    [[nodiscard]] bool is_needed(const MovingBlock& block, std::size_t dimension) const {
        const Coordinates begin = parts_of(stencil_.offsets()[block.offset], 0, dimension);
        if (at(begin, -1) == plan::kNoRank) return false;
        return std::ranges::any_of(block.offsets, [&](std::uint32_t offset) {
            const Coordinates& whole = stencil_.offsets()[offset];
            return at(parts_of(whole, dimension, whole.size()), 1) != plan::kNoRank;
        });
    }

    /// Returns the positions, before the round of `dimension`, of the blocks for which
    /// is_needed(block, needed) is true.
    [[nodiscard]] std::vector<plan::Block> places(const RoundMessage& message, std::size_t needed,
                                                  std::size_t dimension) const {
        std::vector<plan::Block> list;
        for (const MovingBlock& block : message.blocks)
            if (is_needed(block, needed))
                list.push_back(routes_.place(writer_, block.offset, dimension));
        return list;
    }

    /// Returns true if local peers may read the message in place: its blocks are consecutive.
    [[nodiscard]] bool is_mappable(const RoundMessage& message) const {
        if (data_ == NeighborData::same) return message.blocks.size() == 1;
        const std::uint32_t others = message.blocks.back().offset - message.blocks.front().offset;
        return message.blocks.size() == others + 1;
    }
    [[nodiscard]] bool is_mapped(const RoundMessage& message, Rank peer) const {
        return mapped_ != nullptr && (*mapped_)[static_cast<std::size_t>(peer)] &&
               is_mappable(message);
    }
    /// Begins a lane for a message if messages could delay each other.
    void begin_lane(bool for_each_segment = true) {
        if (in_lanes_) writer_.begin_lane(for_each_segment);
    }

    /// Joins consecutive blocks to one, unless a block is cut into segments.
    [[nodiscard]] std::vector<plan::Block> joined(std::vector<plan::Block> list) const {
        std::size_t runs = 0;
        for (const plan::Block& block : list) {
            plan::Block& last = list[runs == 0 ? 0 : runs - 1];
            if (runs > 0 && segments_ == 1 && block.buffer == last.buffer &&
                block.index == last.index && block.first == last.first + last.count)
                ++last.count;
            else
                list[runs++] = block;
        }
        list.resize(runs);
        return list;
    }

    /// Sends or exposes a message. Returns false if no block of it is needed.
    bool send(const Round& round, const RoundMessage& message) {
        const auto from = places(message, round.first, round.first);
        if (from.empty() || message.stays()) return false;
        const Rank to = at(message.distance, 1);
        const std::uint32_t number = number_of(message, rank_);
        const bool maps = is_mapped(message, to);
        begin_lane(!maps);
        if (maps) {
            const auto blocks = as_u32(from.size());
            writer_->expose(to, number, plan::input(from.front().first, blocks * segments_));
            writer_->wait(to, credit_of(message, to));
            return true;
        }
        writer_.await_credit(to, credit_of(message, to));
        writer_->put(to, number, joined(from));
        return true;
    }

    void receive(const Round& round, const RoundMessage& message) {
        auto into = places(message, round.end, round.end);
        if (into.empty()) return;
        auto sent = places(message, round.end, round.first);
        if (message.stays()) {
            begin_lane();
            copy_returning(into, sent);
            return;
        }
        const Rank from = at(message.distance, -1);
        const std::uint32_t number = number_of(message, from);
        const bool maps = is_mapped(message, from);
        begin_lane(!maps);
        writer_->wait(from, number);
        const std::uint32_t first = sent.front().first;
        for (plan::Block& block : sent) {
            if (maps) {
                block = plan::mapped(from, number, block.first, segments_);
                block.origin = first;
            } else {
                block.buffer = plan::Buffer::slot;
                block.index = number;
                block.origin = block.first;
            }
        }
        if (maps)
            for (plan::Block& block : into) block = plan::output(block.first, segments_);
        writer_->copy(joined(into), joined(sent));
        if (maps)
            writer_->signal(from, credit_of(message, rank_));
        else
            writer_.give_credit(from, credit_of(message, rank_));
    }

    /// Copies blocks whose distance leads back to this rank, unless they are already in place.
    void copy_returning(std::vector<plan::Block> into, std::vector<plan::Block> from) {
        for (std::size_t i = into.size(); i-- > 0;) {
            if (into[i] != from[i]) continue;
            into.erase(into.begin() + static_cast<std::ptrdiff_t>(i));
            from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (!into.empty()) writer_->copy(joined(into), joined(from));
    }

    BlockWriter& writer_;
    const Stencil& stencil_;
    NeighborData data_;
    const Routes routes_;
    Rank rank_;
    std::uint32_t segments_;
    const std::vector<bool>* mapped_;  ///< NeighborRequest::mapped of direct calls, else nullptr
    bool in_lanes_;                    ///< each message has its own lane
    /// The number of a message is its sender's rank.
    bool by_rank_ = routes_.numbers() > stencil_.grid().ranks();
    /// Number of different message numbers.
    std::uint32_t numbers_ = by_rank_ ? as_u32(stencil_.grid().ranks()) : routes_.numbers();
    Coordinates here_ = stencil_.grid().coordinates_of(rank_);
};

}  // namespace

plan::Program generate_neighbors(const NeighborRequest& request) {
    const Stencil& stencil = *request.stencil;
    plan::Program header;
    header.collective = name_of(request.data);
    header.algorithm = request.way == NeighborWay::direct ? "direct" : "combined";
    header.rank = request.rank;
    header.size = static_cast<Rank>(stencil.grid().ranks());
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.depth = BlockWriter::kDepth;
    BlockWriter writer(std::move(header), as_u32(stencil.offsets().size()), request.segments,
                       Cut::blocks);
    NeighborWriter(writer, request).write();
    return std::move(writer).finish();
}

plan::Contract neighbor_contract(const Stencil& stencil, NeighborData data) {
    const auto pieces = [&stencil](const plan::Program& header) {
        return header.units / as_u32(stencil.offsets().size());
    };
    plan::Contract contract;
    contract.collective = name_of(data);
    if (data == NeighborData::same)
        contract.input = [=](const plan::Program& header) {
            return plan::UnitRange{0, pieces(header)};
        };
    contract.expected = [=, &stencil](const plan::Program& header) {
        std::vector<plan::Expectation> list;
        const std::uint32_t each = pieces(header);
        for (std::uint32_t i = 0; i < stencil.offsets().size(); ++i) {
            const Rank from = stencil.neighbor(header.rank, i);
            const std::uint32_t block = data == NeighborData::same ? 0 : stencil.opposite(i);
            for (std::uint32_t p = 0; p < each && from != plan::kNoRank; ++p)
                list.push_back({i * each + p, from, from, block * each + p});
        }
        return list;
    };
    return contract;
}

}  // namespace weft::collectives
