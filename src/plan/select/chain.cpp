// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/chain.hpp"

#include <algorithm>

#include "plan/schedule/step.hpp"

namespace weft::plan {

namespace {

class Chain {
  public:
    Chain(const Candidate& candidate, Rank size, const VectorSize& vector, const PutModels& models)
        : candidate_(candidate), size_(size), vector_(vector), models_(models) {}

    [[nodiscard]] base::Result<LeastTime> time(const ChainEnd& end) const {
        auto program = candidate_.program(size_, end.rank);
        if (!program) return program.failure();
        Time after = 0;
        LeastTime least;
        Sought sought;
        for (int hops = 0; hops < end.hops_max && least.time <= end.enough; ++hops) {
            const Past past = look_back(*program, sought);
            least.time = std::max(least.time, after + past.all);
            least.whole = past.steps > kStepsMax || past.from == kNoRank;
            if (least.whole) break;
            after += past.after_wait + latency(past.from, program->rank);
            sought = {program->rank, past.key, past.published};
            auto sender = candidate_.program(size_, past.from);
            if (!sender) return sender.failure();
            program = std::move(sender);
        }
        return least;
    }

  private:
    static constexpr int kStepsMax = 2000;

    /// The message that is looked for; to no rank: the end of the program.
    struct Sought {
        Rank to = kNoRank;
        std::uint64_t key = 0;
        bool published = false;
    };
    /// What a program does up to there, in that lane.
    struct Past {
        Time all = 0;
        Time after_wait = 0;  ///< from the last wait on,
        Rank from = kNoRank;  ///< which is for a message of this rank
        std::uint64_t key = 0;
        bool published = false;
        int steps = 0;
    };

    /// Up to the message, or the longest lane up to its end; then `all` is what all lanes take, as
    /// they share the rank's processor.
    [[nodiscard]] Past look_back(const Program& program, const Sought& sought) const {
        Past longest;
        Time together = 0;
        for (const Lane& lane : program.lanes) {
            Past past;
            bool found = false;
            for_each_happening(program, lane, vector_, [&](const Happening& happening) {
                add(program, happening, past);
                found = is(happening, sought);
                return !found;
            });
            if (found) return past;
            together += past.all;
            if (past.all > longest.all) longest = past;
        }
        if (sought.to != kNoRank) return {};
        longest.all = together;
        return longest;
    }

    static bool is(const Happening& happening, const Sought& sought) {
        if (sought.to == kNoRank || !happening.message || happening.key != sought.key) return false;
        return sought.published ? happening.kind == StepKind::publish : happening.peer == sought.to;
    }

    void add(const Program& program, const Happening& happening, Past& past) const {
        ++past.steps;
        Time time = 0;
        if (happening.kind == StepKind::wait) {
            past.from = happening.peer;
            past.key = happening.key;
            past.published = happening.published;
            past.after_wait = 0;
            time = models_.model.receive;
        } else if (happening.message) {
            const bool far = happening.peer != kNoRank && is_far(program.rank, happening.peer);
            time = (far ? models_.far->model : models_.model).busy(happening.bytes);
        } else {
            if (happening.kind == StepKind::reduce)
                time = models_.model.combine(happening.bytes, happening.operands);
            time += models_.model.touch(happening.mapped_bytes);
        }
        past.all += time;
        past.after_wait += time;
    }

    [[nodiscard]] bool is_far(Rank a, Rank b) const {
        if (!models_.far) return false;
        const std::vector<Rank>& node_of = *models_.far->node_of;
        return node_of[static_cast<std::size_t>(a)] != node_of[static_cast<std::size_t>(b)];
    }
    [[nodiscard]] Time latency(Rank from, Rank to) const {
        return is_far(from, to) ? models_.far->model.latency : models_.model.latency;
    }

    const Candidate& candidate_;
    Rank size_;
    const VectorSize& vector_;
    const PutModels& models_;
};

}  // namespace

base::Result<LeastTime> chain_time(const Candidate& candidate, Rank size, const VectorSize& vector,
                                   const PutModels& models, const ChainEnd& end) {
    return Chain(candidate, size, vector, models).time(end);
}

}  // namespace weft::plan
