// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/folding.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>

#include "plan/schedule/step.hpp"

namespace weft::plan {

namespace {

/// Generates the programs of the fewest ranks that represent a team.
class Team {
  public:
    Team(const Candidate& candidate, Rank size, Rank period, const VectorSize& vector)
        : candidate_(candidate), size_(size), period_(period), vector_(vector) {}

    [[nodiscard]] base::Result<Shown> show(bool used_once) const {
        for (const bool turned : {false, true}) {
            if (period_ == 0 || size_ <= kFoldedRanks) break;
            if (agree(std::array{0, 1, size_ / 3, size_ / 2 + 1, size_ - 1}, turned))
                return of_ranks(1, period_, turned);
            if (period_ > 1 && period_ < size_ && nodes_agree(turned))
                return of_ranks(period_, period_, turned);
        }
        if (used_once) return Shown{.ranks = size_, .team = size_};
        return of_ranks(size_, size_, false);
    }

    [[nodiscard]] bool seems_to_fold() const {
        constexpr std::size_t kStepsAndBlocksMax = 1000;
        if (period_ == 0 || period_ >= size_ || size_ <= kFoldedRanks) return false;
        const auto first = candidate_.program(size_, 0);
        if (!first || first->steps.size() + first->blocks.size() > kStepsAndBlocksMax) return false;
        return agree(same_place(0), false) || agree(same_place(0), true);
    }

    /// Compares ranks 0 and 1, which mostly decide it, then others and some of the largest node.
    [[nodiscard]] std::optional<Program> common(const std::vector<Rank>& node_of) const {
        if (size_ <= kFoldedRanks) return {};
        std::vector<Rank> ranks{0, 1, size_ / 3, size_ / 2 + 1, size_ - 1};
        std::map<Rank, std::ptrdiff_t> ranks_on;
        for (const Rank node : node_of) ++ranks_on[node];
        const auto largest =
            std::ranges::max_element(ranks_on, {}, [](const auto& on) { return on.second; });
        const auto first = std::ranges::find(node_of, largest->first) - node_of.begin();
        for (const std::ptrdiff_t more :
             {std::ptrdiff_t{0}, std::ptrdiff_t{1}, largest->second - 1})
            ranks.push_back(static_cast<Rank>(first + more));
        for (const bool turned : {false, true}) {
            if (!agree(std::span(ranks).first(2), turned) || !agree(ranks, turned)) continue;
            if (auto program = program_of(0, turned)) return *std::move(program);
        }
        return {};
    }

  private:
    /// Smaller teams are simulated without folding.
    static constexpr Rank kFoldedRanks = 64;

    [[nodiscard]] base::Result<Program> program_of(Rank rank, bool turned) const {
        auto program = candidate_.program(size_, rank);
        if (!program) return program;
        if (turned)
            for (Step& step : program->steps) turn(step, *program);
        sort_receptions(*program);
        return program;
    }

    /// Sorts each run of adjacent waits. A run is one reception, so the order of its waits does not
    /// matter; algorithms that receive in order of ranks then compare as equal.
    static void sort_receptions(Program& program) {
        const auto is = [](StepKind kind) {
            return [kind](const Step& step) { return step.kind == kind; };
        };
        if (std::ranges::any_of(program.steps, is(StepKind::loop))) return;
        for (const Lane& lane : program.lanes) {
            const auto steps = std::span(program.steps).subspan(lane.first, lane.count);
            for (auto at = steps.begin(); at != steps.end();) {
                const auto first = std::find_if(at, steps.end(), is(StepKind::wait));
                at = std::find_if_not(first, steps.end(), is(StepKind::wait));
                std::sort(first, at, [](const Step& a, const Step& b) {
                    return std::tie(a.signal, a.flags, a.peer) <
                           std::tie(b.signal, b.flags, b.peer);
                });
            }
        }
    }

    /// Replaces a step's number below the number of ranks by the distance from the rank that owns
    /// the flag or cell.
    static void turn(Step& step, const Program& program) {
        const auto ranks = static_cast<std::uint32_t>(program.size);
        const bool names = step.kind == StepKind::put || step.kind == StepKind::signal ||
                           step.kind == StepKind::expose || step.kind == StepKind::publish ||
                           step.kind == StepKind::wait;
        if (!names || step.signal >= ranks) return;
        const bool reads = step.kind == StepKind::wait && (step.flags & kFromPublished) != 0;
        const bool own = step.kind == StepKind::publish || (step.kind == StepKind::wait && !reads);
        const Rank owner = own ? program.rank : step.peer;
        step.signal = (step.signal + ranks - static_cast<std::uint32_t>(owner)) % ranks;
    }

    /// Returns programs of ranks in the middle of the team. The first ranks may have no
    /// number to replace.
    [[nodiscard]] base::Result<Shown> of_ranks(Rank programs, Rank ranks, bool turned) const {
        Shown shown{.ranks = ranks, .team = size_};
        shown.programs.reserve(static_cast<std::size_t>(programs));
        const Rank first = ranks < size_ ? size_ / ranks / 2 * ranks : 0;
        for (Rank rank = 0; rank < programs; ++rank) {
            auto program = program_of(first + rank, turned);
            if (!program) return program.failure();
            shown.programs.push_back(*std::move(program));
        }
        return shown;
    }

    /// Returns true if the first, second and last rank of a node agree across four nodes.
    [[nodiscard]] bool nodes_agree(bool turned) const {
        for (const Rank local : {0, 1, period_ - 1})
            if (!agree(same_place(local), turned)) return false;
        return true;
    }
    /// Returns the ranks with the same local number on four nodes.
    [[nodiscard]] std::array<Rank, 4> same_place(Rank local) const {
        const Rank nodes = size_ / period_;
        return {local, local + period_, local + nodes / 2 * period_, local + (nodes - 1) * period_};
    }

    /// Returns true if these ranks do the same at the same distances.
    [[nodiscard]] bool agree(std::span<const Rank> ranks, bool turned) const {
        constexpr MessageModel kAnything{.busy_base = 1, .byte_fs = 1'000'000, .reduce = 1};
        ImagePart part(kAnything, vector_, {}, Fold{size_});
        std::vector<std::uint32_t> first;
        std::size_t before = 0;
        for (const Rank rank : ranks) {
            const auto program = program_of(rank, turned);
            if (!program || !part.add(*program)) return false;
            const std::vector<std::uint32_t>& rows = part.pieces().rows();
            if (first.empty())
                first = rows;
            else if (!std::ranges::equal(first, std::span(rows).last(rows.size() - before)))
                return false;
            before = rows.size();
        }
        return true;
    }

    const Candidate& candidate_;
    Rank size_;
    Rank period_;
    const VectorSize& vector_;
};

}  // namespace

base::Result<Shown> show_team(const Candidate& candidate, Rank size, Rank period,
                              const VectorSize& vector, bool used_once) {
    return Team(candidate, size, period, vector).show(used_once);
}

std::optional<Program> common_program(const Candidate& candidate, Rank size,
                                      const std::vector<Rank>& node_of, const VectorSize& vector) {
    return Team(candidate, size, 0, vector).common(node_of);
}

Rank period_of(const std::vector<Rank>& node_of) {
    const auto end = std::ranges::find_if(node_of, [&](Rank n) { return n != node_of[0]; });
    const auto each = static_cast<std::size_t>(end - node_of.begin());
    if (node_of.size() % each != 0) return 0;
    for (std::size_t i = each; i < node_of.size(); ++i)
        if ((node_of[i] == node_of[i - 1]) != (i % each != 0)) return 0;
    return static_cast<Rank>(each);
}

bool seems_to_fold(const Candidate& candidate, Rank size, Rank period, const VectorSize& vector) {
    return Team(candidate, size, period, vector).seems_to_fold();
}

}  // namespace weft::plan
