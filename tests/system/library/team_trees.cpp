// SPDX-License-Identifier: BSD-3-Clause
// team_trees.cpp - ranks that make random trees of teams, use them in random order, and compare the
// results with a serial model of all ranks.
//
// usage: weft_team_trees SEEDS STEPS
//
// Idea     All ranks draw the same steps from one seed: split a team at random, call a collective,
//          allocate or free memory, free a team. A rank executes the steps of the teams of which it
//          is a member, and models the teams of all ranks. The model has their indices in the
//          members' tables of teams, and the expected results.
// Checks   Started calls complete after calls of other teams. Memory of a team has equal offsets on
//          all members, and blocks of a rank never overlap. If the table of one rank has no free
//          entry for a new team, the split fails on all members of the parent.
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

constexpr int kTeamsMax = 32;  ///< number of teams of which a rank can be a member

/// Symmetric memory of a team.
struct Block {
    std::uint64_t tag = 0;  ///< value of each byte, modulo 256
    std::size_t bytes = 0;
    std::byte* data = nullptr;
};

/// A team in the model.
struct ModelTeam {
    std::vector<Rank> ranks;     ///< ranks in the job, by rank in the team
    int table_index = 0;         ///< in the tables of teams of all members
    std::optional<Team> handle;  ///< set if this rank is a member
    std::vector<Block> blocks;
    std::vector<std::pair<std::unique_ptr<double>, double>> values;  ///< result and expected value
    std::vector<Request> requests;
};

/// The world, the teams made from it, and the random steps on them.
class TeamTrees {
  public:
    /// `base` is the world's first block, from which check_symmetry() computes offsets.
    TeamTrees(Runtime& runtime, const void* base, std::uint64_t seed)
        : world_(runtime.world()),
          me_(world_.rank()),
          random_(seed),
          base_(static_cast<const std::byte*>(base)) {
        ModelTeam root;
        for (Rank rank = 0; rank < world_.size(); ++rank) root.ranks.push_back(rank);
        root.handle = world_;
        used_entries_.assign(root.ranks.size(), 1);
        teams_.push_back(std::move(root));
    }

    /// Runs random steps. Returns a description of the first failure, or an empty string.
    std::string run(int steps) {
        for (int step = 0; step < steps && failure_.empty(); ++step) {
            const std::uint64_t kind = draw(12);
            ModelTeam& team = teams_[draw(teams_.size())];
            if (kind < 3)
                split(team);
            else if (kind < 5)
                reduce(team);
            else if (kind == 5)
                broadcast(team);
            else if (kind == 6)
                start(team);
            else if (kind < 9)
                allocate(team);
            else if (kind == 9)
                release(team);
            else if (kind == 10)
                finish(team);
            else
                free_team(&team - teams_.data());
        }
        while (teams_.size() > 1 && failure_.empty()) free_team(teams_.size() - 1);
        finish(teams_.front());
        while (!teams_.front().blocks.empty()) release(teams_.front());
        return failure_;
    }
    /// Number of splits that did not fit into the tables.
    [[nodiscard]] int refusals() const { return refusals_; }
    [[nodiscard]] std::size_t teams_max() const { return teams_max_; }
    [[nodiscard]] int calls() const { return calls_; }

  private:
    std::uint64_t draw(std::uint64_t below) { return random_.below(below); }
    void complain(std::string text) {
        if (failure_.empty()) failure_ = fmt::format("rank {}: {}", me_, text);
    }
    /// Returns the rank's contribution to a call; `salt` is drawn for each call.
    static double value_of(Rank rank, std::uint64_t salt) {
        return static_cast<double>((static_cast<std::uint64_t>(rank) * 2654435761U + salt) % 1000);
    }

    /// Splits a team by random colors and keys from -3 to 3. Members of a negative color get no
    /// team.
    void split(const ModelTeam& team) {
        const std::uint64_t colors = 1 + draw(3);
        std::vector<int> color;
        std::vector<int> key;
        for (std::size_t i = 0; i < team.ranks.size(); ++i) {
            color.push_back(static_cast<int>(draw(colors + 1)) - (draw(4) == 0 ? 1 : 0));
            key.push_back(static_cast<int>(draw(7)) - 3);
        }
        std::map<int, ModelTeam> children;
        for (int k = -3; k <= 3; ++k) {
            for (std::size_t i = 0; i < team.ranks.size(); ++i) {
                if (key[i] == k && color[i] >= 0) children[color[i]].ranks.push_back(team.ranks[i]);
            }
        }
        bool fits = true;  // all children have a table index
        for (auto& [of_color, child] : children) fits = find_table_index(child) && fits;
        make_children(team, color, key, children, fits);
    }

    /// Sets the first table index that is free on all members, or returns false.
    [[nodiscard]] bool find_table_index(ModelTeam& child) const {
        std::uint64_t taken = 0;
        for (const Rank rank : child.ranks) taken |= used_entries_[static_cast<std::size_t>(rank)];
        while (child.table_index < kTeamsMax && (taken >> child.table_index & 1) != 0)
            ++child.table_index;
        return child.table_index < kTeamsMax;
    }

    /// Makes the real teams of this rank, and adds the children to the model.
    void make_children(const ModelTeam& team, const std::vector<int>& color,
                       const std::vector<int>& key, std::map<int, ModelTeam>& children, bool fits) {
        if (team.handle) {
            const auto at = static_cast<std::size_t>(team.handle->rank());
            Team parent = *team.handle;
            try {
                std::optional<Team> made = parent.split(color[at], key[at]);
                if (!fits) complain("a split without a free table entry was not refused");
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
        for (auto& [of_color, child] : children) {
            for (const Rank rank : child.ranks)
                used_entries_[static_cast<std::size_t>(rank)] |= std::uint64_t{1}
                                                                 << child.table_index;
            teams_.push_back(std::move(child));
        }
        teams_max_ = std::max(teams_max_, teams_.size());
    }

    void check_child(ModelTeam& child, const Team& made) {
        child.handle = made;
        const auto at = std::ranges::find(child.ranks, me_) - child.ranks.begin();
        if (made.rank() != at || made.size() != static_cast<Rank>(child.ranks.size()))
            complain(fmt::format("rank {} of {} in a new team, expected {} of {}", made.rank(),
                                 made.size(), at, child.ranks.size()));
    }

    [[nodiscard]] static double sum_of(const ModelTeam& team, std::uint64_t salt) {
        double sum = 0;
        for (const Rank rank : team.ranks) sum += value_of(rank, salt);
        return sum;
    }

    void reduce(ModelTeam& team) {
        const std::uint64_t salt = draw(1000);
        const std::size_t count = draw(4) == 0 ? 2000 : 1;
        ++calls_;
        if (!team.handle) return;
        std::vector<double> values(count, value_of(me_, salt));
        team.handle->allreduce(std::span(values), Op::sum);
        if (values.front() != sum_of(team, salt) || values.back() != values.front())
            complain("a sum over a team is wrong");
    }

    void broadcast(ModelTeam& team) {
        const std::uint64_t salt = draw(1000);
        const auto root = static_cast<Rank>(draw(team.ranks.size()));
        ++calls_;
        if (!team.handle) return;
        double value = value_of(me_, salt);
        team.handle->broadcast(std::span(&value, 1), root);
        if (value != value_of(team.ranks[static_cast<std::size_t>(root)], salt))
            complain("a broadcast in a team is wrong");
    }

    /// Starts an allreduce, which finish() completes.
    void start(ModelTeam& team) {
        const std::uint64_t salt = draw(1000);
        ++calls_;
        if (!team.handle || team.requests.size() > 20) return;
        team.values.emplace_back(std::make_unique<double>(value_of(me_, salt)), sum_of(team, salt));
        double* const value = team.values.back().first.get();
        team.requests.push_back(
            team.handle->start(Call::allreduce(value, value, 1, Type::float64, Op::sum)));
    }

    /// Completes the started calls of a team.
    void finish(ModelTeam& team) {
        for (Request& request : team.requests) request.wait();
        for (const auto& [value, expected] : team.values) {
            if (*value != expected) complain("a started sum is wrong");
        }
        team.requests.clear();
        team.values.clear();
    }

    void allocate(ModelTeam& team) {
        const std::size_t bytes = draw(5) == 0 ? draw(300000) : draw(500);
        const std::size_t alignment = std::size_t{1} << draw(15);
        const std::uint64_t tag = ++tags_;
        if (!team.handle) return;
        Block block{tag, bytes, static_cast<std::byte*>(team.handle->allocate(bytes, alignment))};
        if (reinterpret_cast<std::uintptr_t>(block.data) % alignment != 0)
            complain("a block is not aligned");
        for (const ModelTeam& other : teams_) {
            for (const Block& taken : other.blocks) {
                if (block.data < taken.data + std::max<std::size_t>(taken.bytes, 1) &&
                    taken.data < block.data + std::max<std::size_t>(bytes, 1))
                    complain("two blocks overlap");
            }
        }
        check_symmetry(team, block);
        std::fill_n(block.data, bytes, static_cast<std::byte>(tag));
        team.blocks.push_back(block);
    }

    /// Checks that the block's distance from base_ is equal on all members.
    void check_symmetry(ModelTeam& team, const Block& block) {
        const std::int64_t offset = block.data - base_;
        if (team.handle->allreduce(offset, Op::min) != team.handle->allreduce(offset, Op::max))
            complain("the offset of a block differs between members");
    }

    void release(ModelTeam& team) {
        const std::uint64_t which = draw(1000);
        if (!team.handle || team.blocks.empty()) return;
        const auto at =
            team.blocks.begin() + static_cast<std::ptrdiff_t>(which % team.blocks.size());
        for (std::size_t i = 0; i < at->bytes; ++i) {
            if (at->data[i] != static_cast<std::byte>(at->tag))
                return complain("a block has changed since it was allocated");
        }
        team.handle->release(at->data);
        team.blocks.erase(at);
    }

    void free_team(std::size_t at) {
        if (at == 0) return;
        ModelTeam& team = teams_[at];
        for (const Rank rank : team.ranks)
            used_entries_[static_cast<std::size_t>(rank)] &=
                ~(std::uint64_t{1} << team.table_index);
        if (team.handle) {
            finish(team);
            team.handle->free();
        }
        teams_.erase(teams_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    Team world_;
    Rank me_;
    base::Random random_;
    const std::byte* base_;
    std::vector<ModelTeam> teams_;
    std::vector<std::uint64_t> used_entries_;  ///< table entries in use, as bits, by rank
    std::uint64_t tags_ = 0;
    int refusals_ = 0;
    int calls_ = 0;
    std::size_t teams_max_ = 0;
    std::string failure_;
};

int run(int seeds, int steps) {
    Runtime runtime;
    Team world = runtime.world();
    const Memory base(world, 64);
    int refusals = 0;
    int calls = 0;
    std::size_t teams_max = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        TeamTrees trees(runtime, base.data(), static_cast<std::uint64_t>(seed));
        const std::string failure = trees.run(steps);
        if (!failure.empty()) {
            fmt::print(stderr, "seed {}: {}\n", seed, failure);
            return 1;
        }
        refusals += trees.refusals();
        calls += trees.calls();
        teams_max = std::max(teams_max, trees.teams_max());
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
