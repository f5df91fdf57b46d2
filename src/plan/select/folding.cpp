// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/folding.hpp"

#include <algorithm>
#include <initializer_list>
#include <span>

#include "plan/schedule/step.hpp"

namespace weft::plan {

namespace {

/// Makes the programs of a team, of as few ranks as stand for all.
class Team {
  public:
    Team(const Candidate& candidate, Rank size, Rank period, const VectorSize& vector)
        : candidate_(candidate), size_(size), period_(period), vector_(vector) {}

    [[nodiscard]] base::Result<Shown> show(bool used_once) const {
        for (const bool turned : {false, true}) {
            if (period_ == 0 || size_ <= kFoldedRanks) break;
            if (agree({0, 1, size_ / 3, size_ / 2 + 1, size_ - 1}, turned))
                return of_ranks(1, period_, turned);
            if (period_ > 1 && period_ < size_ && nodes_agree(turned))
                return of_ranks(period_, period_, turned);
        }
        if (used_once) return Shown{.ranks = size_, .team = size_};
        return of_ranks(size_, size_, false);
    }

  private:
    /// Smaller teams are simulated as they are.
    static constexpr Rank kFoldedRanks = 64;

    [[nodiscard]] base::Result<Program> program_of(Rank rank, bool turned) const {
        auto program = candidate_.program(size_, rank);
        if (program && turned)
            for (Step& step : program->steps) turn(step, *program);
        return program;
    }

    /// Numbers below that of the ranks become distances from the rank whose flag or cell it is.
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

    [[nodiscard]] base::Result<Shown> of_ranks(Rank programs, Rank ranks, bool turned) const {
        Shown shown{.ranks = ranks, .team = size_};
        shown.programs.reserve(static_cast<std::size_t>(programs));
        for (Rank rank = 0; rank < programs; ++rank) {
            auto program = program_of(rank, turned);
            if (!program) return program.failure();
            shown.programs.push_back(*std::move(program));
        }
        return shown;
    }

    /// The first, second and last rank of a node, compared on four nodes.
    [[nodiscard]] bool nodes_agree(bool turned) const {
        const Rank nodes = size_ / period_;
        for (const Rank local : {0, 1, period_ - 1})
            if (!agree({local, local + period_, local + nodes / 2 * period_,
                        local + (nodes - 1) * period_},
                       turned))
                return false;
        return true;
    }

    /// Whether these ranks do the same at the same distances.
    [[nodiscard]] bool agree(std::initializer_list<Rank> ranks, bool turned) const {
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

}  // namespace weft::plan
