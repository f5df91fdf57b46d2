// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/uniform.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace weft::plan {

namespace {

/// A send to the rank at some distance, one message of a reception, or a computation.
struct Move {
    Word word = Word::end;
    std::uint32_t key = 0;       ///< key of a message
    std::uint32_t distance = 0;  ///< distance of a send
    std::uint32_t count = 0;     ///< messages from here to the end of the reception
    Time time = 0;               ///< duration of a send or a computation
    Time delay = 0;              ///< extra latency of a send
};

/// Returns the moves of a part's only lane; empty if it contains any other action.
std::vector<Move> moves_of(const ImagePart& part) {
    std::vector<Move> moves;
    const Pieces& pieces = part.pieces();
    for (const std::uint32_t row : pieces.rows()) {
        const std::uint32_t* const piece = pieces.words().data() + row;
        for (const std::uint32_t* at = piece + Pieces::kHead; at < piece + piece[0];) {
            const auto word = static_cast<Word>(*at & 7);
            const std::uint32_t argument = *at++ >> 3;
            if (word == Word::compute) {
                moves.push_back({.word = word, .time = part.times()[argument]});
            } else if (word == Word::send) {
                const std::uint32_t busy = *at++;
                for (std::uint32_t left = *at++; left > 0; --left)
                    moves.push_back({.word = word,
                                     .key = argument,
                                     .distance = *at++,
                                     .time = part.times()[busy],
                                     .delay = part.delays()[busy]});
            } else if (word == Word::receive) {
                for (std::uint32_t i = 0; i < argument; ++i)
                    moves.push_back({.word = word, .key = *at++, .count = argument - i});
            } else if (word != Word::end) {
                return {};
            }
        }
    }
    return moves;
}

class Rows {
  public:
    Rows(Rank size, const FarPuts& far, const Surroundings& around, std::uint32_t keys)
        : size_(static_cast<std::size_t>(size)),
          node_of_(*far.node_of),
          around_(around),
          now_(size_),
          row_of_(keys) {
        // Ranks at this distance or more, in both directions, are on different nodes.
        std::vector<std::size_t> first(size_, size_);
        for (std::size_t rank = 0; rank < size_; ++rank) {
            const auto node = static_cast<std::size_t>(node_of_[rank]);
            if (node >= first.size()) first.resize(node + 1, size_);
            std::size_t& begin = first[node];
            begin = std::min(begin, rank);
            apart_ = std::max(apart_, rank - begin + 1);
        }
    }

    /// Runs the moves, with the times of near and of far messages. Both lists have the same moves.
    /// Returns false if they cannot run in rows.
    [[nodiscard]] bool run(std::span<const Move> near, std::span<const Move> far) {
        for (std::size_t i = 0; i < near.size() && !gives_up(); ++i) {
            const Move& move = near[i];
            if (move.word == Word::compute)
                for (Time& now : now_) now += move.time;
            else if (move.word == Word::send)
                send(move, far[i]);
            else if (receive(near.subspan(i, move.count)))
                i += move.count - 1;
            else
                return false;
            if (!fits_) return false;
        }
        return true;
    }
    [[nodiscard]] const std::vector<Time>& now() const { return now_; }

  private:
    static constexpr std::size_t kTile = 16;

    /// Arrival times of a message at all ranks, relative to the row's time.
    struct Row {
        Time time = 0;
        std::vector<std::int32_t> later;
    };

    [[nodiscard]] bool gives_up() {
        if (++moves_ % kTile != 0) return false;
        return *std::ranges::max_element(now_) > around_.give_up;
    }

    void send(const Move& near_move, const Move& far_move) {
        const Move near = near_move;  // copies, so the loops need not reload them
        const Move far = far_move;
        if (free_.empty()) {
            free_.push_back(rows_.size());
            rows_.emplace_back().later.resize(size_);
        }
        row_of_[near.key] = free_.back() + 1;
        Row& row = rows_[free_.back()];
        free_.pop_back();
        const std::size_t ahead = near.distance;
        const Time latency = around_.model.latency;
        const Time start = row.time = now_[0] + near.time + latency;
        Time* const now = now_.data();
        std::int32_t* const later = row.later.data();
        std::uint64_t beyond = 0;
        const auto each = [&](std::size_t first, std::size_t last, std::size_t to, auto is_far) {
            for (std::size_t rank = first; rank < last; ++rank, ++to) {
                const bool apart = is_far(rank, to);
                now[rank] += apart ? far.time : near.time;
                const Time by = now[rank] + latency + (apart ? far.delay : near.delay) - start;
                later[to] = static_cast<std::int32_t>(by);
                beyond |= static_cast<std::uint64_t>(by + kMostLater) >> 32;
            }
        };
        const auto both = [&](auto is_far) {
            each(0, size_ - ahead, ahead, is_far);
            each(size_ - ahead, size_, 0, is_far);
        };
        if (ahead >= apart_ && size_ - ahead >= apart_)
            both([](std::size_t, std::size_t) { return true; });
        else
            both([this](std::size_t a, std::size_t b) { return node_of_[a] != node_of_[b]; });
        fits_ = beyond == 0;
    }

    [[nodiscard]] bool receive(std::span<const Move> messages) {
        for (const Move& message : messages)
            if (row_of_[message.key] == 0) return false;
        if (messages.size() == 1) {
            const Row& row = rows_[row_of_[messages.front().key] - 1];
            for (std::size_t rank = 0; rank < size_; ++rank)
                now_[rank] =
                    std::max(now_[rank], row.time + row.later[rank]) + around_.model.receive;
        } else {
            for (std::size_t first = 0; first < size_; first += kTile)
                receive(messages, first, std::min(size_, first + kTile));
        }
        for (const Move& message : messages) {
            free_.push_back(row_of_[message.key] - 1);
            row_of_[message.key] = 0;
        }
        return true;
    }

    /// Receives for a tile of ranks, so that the arrivals of a rank are adjacent.
    void receive(std::span<const Move> messages, std::size_t first, std::size_t last) {
        tile_.resize(kTile * messages.size());
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const Row& row = rows_[row_of_[messages[i].key] - 1];
            for (std::size_t rank = first; rank < last; ++rank)
                tile_[(rank - first) * messages.size() + i] = row.time + row.later[rank];
        }
        for (std::size_t rank = first; rank < last; ++rank)
            now_[rank] = received(
                now_[rank],
                std::span(tile_).subspan((rank - first) * messages.size(), messages.size()));
    }

    /// Returns the end of a reception in order of arrival. A rank that has received a message still
    /// has to receive all later ones. The end is the maximum over all arrivals of the arrival plus
    /// the time for that and all later receptions. Arrivals so early that the others fit before the
    /// last arrival do not count.
    [[nodiscard]] Time received(Time now, std::span<Time> arrivals) const {
        const Time each = around_.model.receive;
        const Time last = *std::ranges::max_element(arrivals);
        const Time busy = now + static_cast<Time>(arrivals.size()) * each;
        if (each == 0) return std::max(now, last);
        for (std::size_t before = arrivals.size() + 1; arrivals.size() < before;) {
            before = arrivals.size();
            const Time early = last + each - static_cast<Time>(before) * each;
            const auto rest = std::partition(arrivals.begin(), arrivals.end(),
                                             [&](Time arrival) { return arrival > early; });
            arrivals = std::span(arrivals.begin(), rest);
        }
        if (arrivals.empty()) return std::max(busy, last + each);
        std::ranges::sort(arrivals);
        Time end = busy;
        for (std::size_t i = 0; i < arrivals.size(); ++i)
            end = std::max(end, arrivals[i] + static_cast<Time>(arrivals.size() - i) * each);
        return end;
    }

    static constexpr Time kMostLater = Time{1} << 31;

    std::size_t size_;
    const std::vector<Rank>& node_of_;
    const Surroundings& around_;
    std::size_t apart_ = 1;
    std::vector<Time> now_;
    std::vector<Row> rows_;
    std::vector<std::size_t> free_;    ///< unused rows
    std::vector<std::size_t> row_of_;  ///< by key: row + 1; 0: no message in flight
    std::vector<Time> tile_;
    bool fits_ = true;
    std::uint32_t moves_ = 0;
};

base::Failure not_in_rows() {
    return base::fail(Status::unsupported, "such programs do not go in rows");
}

}  // namespace

base::Result<Outcome> simulate_uniform(const Program& program, const VectorSize& size,
                                       const FarPuts& far, const Surroundings& around) {
    const bool plain = around.noise.is_none() && around.starts.empty() && around.uniform() &&
                       around.model.gap == 0 && !around.model.blocking && !around.ends;
    const bool even = program.unit_counts.empty() && !program.pairwise &&
                      (program.units == 0 || size.elements % program.units == 0);
    if (!plain || !even || far.card.held(1) > 0 || program.lanes.size() > 1) return not_in_rows();
    // Two images: all ranks on one node, and each rank on its own node.
    std::vector<Rank> own(static_cast<std::size_t>(program.size));
    std::iota(own.begin(), own.end(), 0);
    ImagePart near(around.model, size);
    ImagePart apart(around.model, size, FarPuts{far.model, far.card, &own});
    for (ImagePart* const part : {&near, &apart})
        if (auto added = part->add(program); !added) return added.failure();
    const std::vector<Move> near_moves = moves_of(near);
    const std::vector<Move> far_moves = moves_of(apart);
    const auto same = [](const Move& a, const Move& b) {
        return a.word == b.word && (a.word != Word::compute || a.time == b.time);
    };
    if (near_moves.empty() || !std::ranges::equal(near_moves, far_moves, same) || apart.has_works())
        return not_in_rows();
    Rows rows(program.size, far, around, near.keys());
    if (!rows.run(near_moves, far_moves)) return not_in_rows();
    const auto [first, last] = std::ranges::minmax(rows.now());
    const std::uint64_t raises = near.raises() * static_cast<std::uint64_t>(program.size);
    return Outcome{.makespan = last,
                   .earliest_finish = first,
                   .messages = raises,
                   .events = raises + near.waits() * static_cast<std::uint64_t>(program.size)};
}

}  // namespace weft::plan
