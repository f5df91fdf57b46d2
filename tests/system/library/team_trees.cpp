// SPDX-License-Identifier: BSD-3-Clause
// team_trees.cpp - ranks that make random trees of teams, use them in random order, and compare the
// results with a serial model of all ranks.
//
// Idea     All ranks draw the same steps from one seed: split a team at random, call a collective,
//          allocate or free memory, free a team. Each rank makes the steps of its own teams. The
//          model has the teams of all ranks, their places in the table, and the expected results.
// Holds    Started calls stay open while other teams work. Members' memory has equal offsets,
//          and blocks of a rank never overlap. A split for which a rank has no free place fails
//          on all members of the parent.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr int kPlaces = 32;  ///< number of teams of which a rank can be a member

struct Block {
    std::uint64_t tag = 0;
    std::size_t bytes = 0;
    std::byte* here = nullptr;
};

/// A team in the model of each rank.
struct Node {
    std::vector<Rank> ranks;   ///< ranks in the job, by rank in the team
    int place = 0;             ///< index in the members' tables of teams
    std::optional<Team> mine;  ///< set if this rank is a member
    std::vector<Block> blocks;
    std::vector<std::pair<std::unique_ptr<double>, double>> values;  ///< result and expected value
    std::vector<Request> requests;
};

class Forest {
  public:
    Forest(Runtime& runtime, std::uint64_t seed)
        : world_(runtime.world()), me_(world_.rank()), random_(seed) {
        Node root;
        for (Rank rank = 0; rank < world_.size(); ++rank) root.ranks.push_back(rank);
        root.mine = world_;
        places_.assign(root.ranks.size(), 1);
        nodes_.push_back(std::move(root));
    }

    /// Runs random steps. Returns a description of the first failure, or an empty string.
    std::string run(int steps) {
        for (int step = 0; step < steps && wrong_.empty(); ++step) {
            const std::uint64_t kind = draw(12);
            Node& node = nodes_[draw(nodes_.size())];
            if (kind < 3)
                split(node);
            else if (kind < 5)
                reduce(node);
            else if (kind == 5)
                broadcast(node);
            else if (kind == 6)
                start(node);
            else if (kind < 9)
                allocate(node);
            else if (kind == 9)
                release(node);
            else if (kind == 10)
                finish(node);
            else
                free_team(&node - nodes_.data());
        }
        while (nodes_.size() > 1 && wrong_.empty()) free_team(nodes_.size() - 1);
        finish(nodes_.front());
        while (!nodes_.front().blocks.empty()) release(nodes_.front());
        return wrong_;
    }
    [[nodiscard]] int refusals() const { return refusals_; }
    [[nodiscard]] std::size_t teams_max() const { return teams_max_; }
    [[nodiscard]] int calls() const { return calls_; }

  private:
    std::uint64_t draw(std::uint64_t below) { return random_.below(below); }
    void complain(std::string text) {
        if (wrong_.empty()) wrong_ = fmt::format("rank {}: {}", me_, text);
    }
    static double value_of(Rank rank, std::uint64_t salt) {
        return static_cast<double>((static_cast<std::uint64_t>(rank) * 2654435761U + salt) % 1000);
    }

    void split(const Node& node) {
        const std::uint64_t colors = 1 + draw(3);
        std::vector<int> color;
        std::vector<int> key;
        for (std::size_t i = 0; i < node.ranks.size(); ++i) {
            color.push_back(static_cast<int>(draw(colors + 1)) - (draw(4) == 0 ? 1 : 0));
            key.push_back(static_cast<int>(draw(7)) - 3);
        }
        std::map<int, Node> children;
        for (int k = -3; k <= 3; ++k) {
            for (std::size_t i = 0; i < node.ranks.size(); ++i) {
                if (key[i] == k && color[i] >= 0) children[color[i]].ranks.push_back(node.ranks[i]);
            }
        }
        bool fits = true;
        for (auto& [at, child] : children) fits = find_place(child) && fits;
        make_children(node, color, key, children, fits);
    }

    /// Sets the first place that is free in the tables of all members, or returns false.
    [[nodiscard]] bool find_place(Node& child) const {
        std::uint64_t taken = 0;
        for (const Rank rank : child.ranks) taken |= places_[static_cast<std::size_t>(rank)];
        while (child.place < kPlaces && (taken >> child.place & 1) != 0) ++child.place;
        return child.place < kPlaces;
    }

    void make_children(const Node& node, const std::vector<int>& color, const std::vector<int>& key,
                       std::map<int, Node>& children, bool fits) {
        if (node.mine) {
            const auto at = static_cast<std::size_t>(node.mine->rank());
            Team parent = *node.mine;
            try {
                std::optional<Team> made = parent.split(color[at], key[at]);
                if (!fits) complain("a split without a free place was not refused");
                if (made.has_value() != (color[at] >= 0)) complain("a split gave the wrong teams");
                if (made && color[at] >= 0) check_child(children[color[at]], *made);
            } catch (const Error& error) {
                if (fits || error.status() != Status::memory) complain(error.what());
            }
        }
        if (!fits) {
            ++refusals_;
            return;
        }
        for (auto& [at, child] : children) {
            for (const Rank rank : child.ranks)
                places_[static_cast<std::size_t>(rank)] |= std::uint64_t{1} << child.place;
            nodes_.push_back(std::move(child));
        }
        teams_max_ = std::max(teams_max_, nodes_.size());
    }

    void check_child(Node& child, const Team& made) {
        child.mine = made;
        const auto at = std::ranges::find(child.ranks, me_) - child.ranks.begin();
        if (made.rank() != at || made.size() != static_cast<Rank>(child.ranks.size()))
            complain(fmt::format("rank {} of {} in a new team, expected {} of {}", made.rank(),
                                 made.size(), at, child.ranks.size()));
    }

    [[nodiscard]] static double sum_of(const Node& node, std::uint64_t salt) {
        double sum = 0;
        for (const Rank rank : node.ranks) sum += value_of(rank, salt);
        return sum;
    }

    void reduce(Node& node) {
        const std::uint64_t salt = draw(1000);
        const std::size_t count = draw(4) == 0 ? 2000 : 1;
        ++calls_;
        if (!node.mine) return;
        std::vector<double> values(count, value_of(me_, salt));
        node.mine->allreduce(std::span(values), Op::sum);
        if (values.front() != sum_of(node, salt) || values.back() != values.front())
            complain("a sum over a team is wrong");
    }

    void broadcast(Node& node) {
        const std::uint64_t salt = draw(1000);
        const auto root = static_cast<Rank>(draw(node.ranks.size()));
        ++calls_;
        if (!node.mine) return;
        double value = value_of(me_, salt);
        node.mine->broadcast(std::span(&value, 1), root);
        if (value != value_of(node.ranks[static_cast<std::size_t>(root)], salt))
            complain("a broadcast in a team is wrong");
    }

    void start(Node& node) {
        const std::uint64_t salt = draw(1000);
        ++calls_;
        if (!node.mine || node.requests.size() > 20) return;
        node.values.emplace_back(std::make_unique<double>(value_of(me_, salt)), sum_of(node, salt));
        double* const value = node.values.back().first.get();
        node.requests.push_back(
            node.mine->start(Call::allreduce(value, value, 1, Type::float64, Op::sum)));
    }

    void finish(Node& node) {
        for (Request& request : node.requests) request.wait();
        for (const auto& [value, expected] : node.values) {
            if (*value != expected) complain("a started sum is wrong");
        }
        node.requests.clear();
        node.values.clear();
    }

    void allocate(Node& node) {
        const std::size_t bytes = draw(5) == 0 ? draw(300000) : draw(500);
        const std::size_t alignment = std::size_t{1} << draw(15);
        const std::uint64_t tag = ++tags_;
        if (!node.mine) return;
        Block block{tag, bytes, static_cast<std::byte*>(node.mine->allocate(bytes, alignment))};
        if (reinterpret_cast<std::uintptr_t>(block.here) % alignment != 0) complain("alignment");
        for (const Node& other : nodes_) {
            for (const Block& taken : other.blocks) {
                if (block.here < taken.here + std::max<std::size_t>(taken.bytes, 1) &&
                    taken.here < block.here + std::max<std::size_t>(bytes, 1))
                    complain("two blocks overlap");
            }
        }
        check_symmetry(node, block);
        std::fill_n(block.here, bytes, static_cast<std::byte>(tag));
        node.blocks.push_back(block);
    }

    /// Compares offsets from the world's first block, which has the same offset on all ranks.
    void check_symmetry(Node& node, const Block& block) {
        if (base_ == nullptr) return;
        const std::int64_t offset = block.here - base_;
        if (node.mine->allreduce(offset, Op::min) != node.mine->allreduce(offset, Op::max))
            complain("offsets of members differ");
    }

    void release(Node& node) {
        const std::uint64_t which = draw(1000);
        if (!node.mine || node.blocks.empty()) return;
        const auto at =
            node.blocks.begin() + static_cast<std::ptrdiff_t>(which % node.blocks.size());
        for (std::size_t i = 0; i < at->bytes; ++i) {
            if (at->here[i] != static_cast<std::byte>(at->tag))
                return complain("a block was written");
        }
        node.mine->release(at->here);
        node.blocks.erase(at);
    }

    void free_team(std::size_t at) {
        if (at == 0) return;
        Node& node = nodes_[at];
        for (const Rank rank : node.ranks)
            places_[static_cast<std::size_t>(rank)] &= ~(std::uint64_t{1} << node.place);
        if (node.mine) {
            finish(node);
            node.mine->free();
        }
        nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(at));
    }

  public:
    /// Sets the address of the world's first block, from which check_symmetry() computes offsets.
    void set_base(std::byte* base) { base_ = base; }

  private:
    Team world_;
    Rank me_;
    base::Random random_;
    std::vector<Node> nodes_;
    std::vector<std::uint64_t> places_;  ///< places in use, as bits, by rank of the job
    std::byte* base_ = nullptr;
    std::uint64_t tags_ = 0;
    int refusals_ = 0;
    int calls_ = 0;
    std::size_t teams_max_ = 0;
    std::string wrong_;
};

int run(int seeds, int steps) {
    Runtime runtime;
    Team world = runtime.world();
    const Memory base(world, 64);
    int refusals = 0;
    int calls = 0;
    std::size_t teams_max = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        Forest forest(runtime, static_cast<std::uint64_t>(seed));
        forest.set_base(static_cast<std::byte*>(base.data()));
        const std::string wrong = forest.run(steps);
        if (!wrong.empty()) {
            fmt::print(stderr, "seed {}: {}\n", seed, wrong);
            return 1;
        }
        refusals += forest.refusals();
        calls += forest.calls();
        teams_max = std::max(teams_max, forest.teams_max());
    }
    if (world.rank() == 0)
        fmt::print("{{\"teams_max\": {}, \"refusals\": {}, \"calls\": {}}}\n", teams_max, refusals,
                   calls);
    runtime.finalize();
    return 0;
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    try {
        return weft::test::run(std::atoi(argv[1]), std::atoi(argv[2]));
    } catch (const std::exception& problem) {
        fmt::print(stderr, "{}\n", problem.what());
        return 1;
    }
}
