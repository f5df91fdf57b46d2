// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/neighborhood/exchange.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
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

base::Result<Stencil> Stencil::make(Grid grid, std::vector<Coordinates> offsets) {
    if (!grid.is_valid())
        return base::fail(Status::argument,
                          "grid: at least one dimension is needed, of 1 rank or more each");
    if (offsets.empty()) return base::fail(Status::argument, "offsets: none given");
    std::map<Coordinates, std::uint32_t> numbers;
    for (const Coordinates& offset : offsets) {
        const auto number = static_cast<std::uint32_t>(numbers.size());
        if (offset.size() != grid.dimensions())
            return base::fail(Status::argument, "offset {}: it has {} parts, the grid {}", number,
                              offset.size(), grid.dimensions());
        if (!numbers.emplace(offset, number).second)
            return base::fail(Status::argument, "offset {}: it was given before", number);
    }
    Stencil stencil(std::move(grid), std::move(offsets));
    for (const Coordinates& offset : stencil.offsets_) {
        Coordinates back = offset;
        for (std::int64_t& part : back) part = -part;
        const auto found = numbers.find(back);
        if (found == numbers.end())
            return base::fail(Status::argument, "offset {}: its opposite is missing",
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
        for (int far = 1; far <= reach; ++far) {
            for (const int part : {-far, far}) {
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

/// Returns the offset with all parts from `dimension` on set to 0: the distance that a block has
/// moved before the round of that dimension.
Coordinates begin_of(const Coordinates& offset, std::size_t dimension) {
    Coordinates begin(offset.begin(), offset.begin() + static_cast<std::ptrdiff_t>(dimension));
    begin.resize(offset.size(), 0);
    return begin;
}

/// A block that moves from one rank to another in a round.
struct Moving {
    std::uint32_t offset = 0;                 ///< its own, or the first of those that share it
    std::vector<std::uint32_t> offsets = {};  ///< all offsets that share the block
};

/// Blocks that move by the same distance in the same round.
struct CombinedMessage {
    std::size_t dimension = 0;
    std::int64_t part = 0;  ///< distance along the dimension
    std::vector<Moving> blocks = {};
};

/// Messages of the combined method and places of blocks between rounds; equal on all ranks.
class Routes {
  public:
    Routes(const Stencil& stencil, NeighborData data) : stencil_(stencil), data_(data) {
        const std::vector<Coordinates>& offsets = stencil.offsets();
        for (std::uint32_t i = 0; i < offsets.size(); ++i) final_[offsets[i]] = i;
        for (std::size_t dimension = 0; dimension < stencil.grid().dimensions(); ++dimension) {
            std::set<std::int64_t> parts;
            for (const Coordinates& offset : offsets) parts.insert(offset[dimension]);
            parts.erase(0);
            for (const std::int64_t part : parts) messages_.push_back(message_of(dimension, part));
        }
    }

    [[nodiscard]] const std::vector<CombinedMessage>& messages() const { return messages_; }

    /// Returns the place of a block with this offset before the round of a dimension: in the input,
    /// the output or a scratch vector.
    [[nodiscard]] plan::Block place(const BlockWriter& writer, std::uint32_t offset,
                                    std::size_t dimension) const {
        const Coordinates& whole = stencil_.offsets()[offset];
        const Coordinates begin = begin_of(whole, dimension);
        if (std::ranges::all_of(begin, [](std::int64_t part) { return part == 0; }))
            return writer.input(data_ == NeighborData::same ? 0 : offset);
        const auto final = final_.find(begin);
        if (final != final_.end() && (data_ == NeighborData::same || begin == whole))
            return writer.output(stencil_.opposite(final->second));
        const std::uint32_t id =
            data_ == NeighborData::same ? waiting_.find(begin)->second : offset;
        const auto blocks = static_cast<std::uint32_t>(stencil_.offsets().size());
        return writer.scratch(id / blocks, id % blocks);
    }

  private:
    CombinedMessage message_of(std::size_t dimension, std::int64_t part) {
        CombinedMessage message{.dimension = dimension, .part = part};
        std::map<Coordinates, std::size_t> shared;
        for (std::uint32_t i = 0; i < stencil_.offsets().size(); ++i) {
            const Coordinates& offset = stencil_.offsets()[i];
            if (offset[dimension] != part) continue;
            const Coordinates begin = begin_of(offset, dimension + 1);
            if (data_ == NeighborData::same) {
                if (!final_.contains(begin))
                    waiting_.emplace(begin, static_cast<std::uint32_t>(waiting_.size()));
                const auto [found, is_new] = shared.emplace(begin, message.blocks.size());
                if (!is_new) {
                    message.blocks[found->second].offsets.push_back(i);
                    continue;
                }
            }
            message.blocks.push_back({i, {i}});
        }
        return message;
    }

    const Stencil& stencil_;
    NeighborData data_;
    std::vector<CombinedMessage> messages_;
    std::map<Coordinates, std::uint32_t> final_;    ///< offsets of neighbors
    std::map<Coordinates, std::uint32_t> waiting_;  ///< other offsets of blocks between rounds
};

class NeighborWriter {
  public:
    NeighborWriter(BlockWriter& writer, const NeighborRequest& request)
        : writer_(writer),
          stencil_(*request.stencil),
          data_(request.data),
          rank_(request.rank),
          blocks_(static_cast<std::uint32_t>(stencil_.offsets().size())),
          here_(stencil_.grid().coordinates_of(rank_)) {}

    void direct() {
        const auto read = [&](std::uint32_t i) {
            return writer_.input(data_ == NeighborData::same ? 0 : i);
        };
        for (std::uint32_t i = 0; i < blocks_; ++i) {
            writer_->reserve_capacity(i, 1);
            const Rank to = stencil_.neighbor(rank_, i);
            if (to == plan::kNoRank) continue;
            if (to == rank_) {
                writer_->copy(writer_.output(stencil_.opposite(i)), read(i));
                continue;
            }
            writer_.await_credit(to, blocks_ + i);
            writer_->put(to, i, read(i));
        }
        for (std::uint32_t i = 0; i < blocks_; ++i) {
            const Rank from = stencil_.neighbor(rank_, stencil_.opposite(i));
            if (from == plan::kNoRank || from == rank_) continue;
            writer_->wait(from, i);
            writer_->copy(writer_.output(stencil_.opposite(i)),
                          writer_.slot(i, data_ == NeighborData::same ? 0 : i));
            writer_.give_credit(from, blocks_ + i);
        }
        writer_->reserve_slots(blocks_);
        writer_.reserve_credits(blocks_, blocks_);
    }

    void combined() {
        const Routes routes(stencil_, data_);
        keep(routes);
        const std::vector<CombinedMessage>& messages = routes.messages();
        for (std::size_t first = 0; first < messages.size();) {
            std::size_t end = first;
            while (end < messages.size() && messages[end].dimension == messages[first].dimension)
                ++end;
            bool sends = false;
            for (std::size_t i = first; i < end; ++i) sends |= send(routes, i);
            if (sends) writer_->flush();  // received blocks may replace sent ones
            for (std::size_t i = first; i < end; ++i) receive(routes, i);
            first = end;
        }
        const auto numbers = static_cast<std::uint32_t>(messages.size());
        writer_->reserve_slots(numbers);
        writer_.reserve_credits(numbers, numbers);
    }

  private:
    /// Copies blocks with an offset of 0.
    void keep(const Routes& routes) {
        for (std::uint32_t i = 0; i < blocks_; ++i)
            if (stencil_.offsets()[i] == Coordinates(here_.size(), 0))
                writer_->copy(writer_.output(i), routes.place(writer_, i, 0));
    }

    /// Returns the rank at distance `part` along the message's dimension.
    [[nodiscard]] Rank along(const CombinedMessage& message, std::int64_t part) const {
        Coordinates at = here_;
        at[message.dimension] += part;
        return stencil_.grid().rank_at(at);
    }

    /// Returns true if a block that has moved this far has a source rank, and a rank that needs it.
    [[nodiscard]] bool is_needed(const Moving& block, std::size_t dimension) const {
        const Coordinates begin = begin_of(stencil_.offsets()[block.offset], dimension);
        Coordinates origin = here_;
        for (std::size_t i = 0; i < origin.size(); ++i) origin[i] -= begin[i];
        if (stencil_.grid().rank_at(origin) == plan::kNoRank) return false;
        for (const std::uint32_t offset : block.offsets) {
            Coordinates end = origin;
            for (std::size_t i = 0; i < end.size(); ++i) end[i] += stencil_.offsets()[offset][i];
            if (stencil_.grid().rank_at(end) != plan::kNoRank) return true;
        }
        return false;
    }

    /// Returns the places, before the round of `dimension`, of the blocks that are needed before
    /// the round of `needed`.
    [[nodiscard]] std::vector<plan::Block> places(const Routes& routes,
                                                  const CombinedMessage& message,
                                                  std::size_t needed, std::size_t dimension) const {
        std::vector<plan::Block> list;
        for (const Moving& block : message.blocks)
            if (is_needed(block, needed))
                list.push_back(routes.place(writer_, block.offset, dimension));
        return list;
    }

    bool send(const Routes& routes, std::size_t index) {
        const CombinedMessage& message = routes.messages()[index];
        const auto number = static_cast<std::uint32_t>(index);
        const auto numbers = static_cast<std::uint32_t>(routes.messages().size());
        writer_->reserve_capacity(number, static_cast<std::uint32_t>(message.blocks.size()));
        const auto from = places(routes, message, message.dimension, message.dimension);
        const Rank to = along(message, message.part);
        if (from.empty() || to == rank_) return false;
        writer_.await_credit(to, numbers + number);
        writer_->put(to, number, from);
        return true;
    }

    void receive(const Routes& routes, std::size_t index) {
        const CombinedMessage& message = routes.messages()[index];
        const auto number = static_cast<std::uint32_t>(index);
        const auto numbers = static_cast<std::uint32_t>(routes.messages().size());
        const std::size_t after = message.dimension + 1;
        const auto into = places(routes, message, after, after);
        if (into.empty()) return;
        const Rank from = along(message, -message.part);
        auto sent = places(routes, message, after, message.dimension);
        if (from == rank_) {
            copy_own(into, sent);
            return;
        }
        writer_->wait(from, number);
        for (plan::Block& block : sent) block = arrived(number, block);
        writer_->copy(into, sent);
        writer_.give_credit(from, numbers + number);
    }

    /// Copies blocks whose path leads back to this rank, because the grid is narrow.
    void copy_own(const std::vector<plan::Block>& into, const std::vector<plan::Block>& from) {
        for (std::size_t i = 0; i < into.size(); ++i)
            if (into[i] != from[i]) writer_->copy(into[i], from[i]);
    }

    /// Returns the slot with the data that the sender had at this place.
    [[nodiscard]] static plan::Block arrived(std::uint32_t number, plan::Block block) {
        block.buffer = plan::Buffer::slot;
        block.index = number;
        block.origin = block.first;
        return block;
    }

    BlockWriter& writer_;
    const Stencil& stencil_;
    NeighborData data_;
    Rank rank_;
    std::uint32_t blocks_;
    Coordinates here_;
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
    BlockWriter writer(std::move(header), static_cast<std::uint32_t>(stencil.offsets().size()),
                       request.segments, Cut::blocks);
    NeighborWriter neighbors(writer, request);
    if (request.way == NeighborWay::direct)
        neighbors.direct();
    else
        neighbors.combined();
    return std::move(writer).finish();
}

plan::Contract neighbor_contract(const Stencil& stencil, NeighborData data) {
    const auto pieces = [&stencil](const plan::Program& header) {
        return header.units / static_cast<std::uint32_t>(stencil.offsets().size());
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
