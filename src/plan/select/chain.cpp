// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/chain.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "plan/schedule/step.hpp"
#include "plan/simulate/touched.hpp"

namespace weft::plan {

namespace {

/// A message that a program waits for.
struct Message {
    Rank from = kNoRank;
    Rank to = kNoRank;  ///< kNoRank: the end of the program instead of a message
    std::uint64_t key = 0;
    bool published = false;
};

struct Awaited {
    Message message;
    std::size_t reception = 0;  ///< index of its reception
    Time after = 0;             ///< work after its arrival
};

/// Work of a program before a message, or before its end.
struct Past {
    Time all = 0;
    /// Last message of each awaited rank; if `many`, only the last one of all.
    std::vector<Awaited> awaited;
    std::vector<Time> receptions;  ///< time at which each reception has ended
    bool receiving = false;        ///< the next wait belongs to the last reception
    bool many = false;             ///< too many ranks are awaited to compare
    int steps = 0;
};

class Chain {
  public:
    Chain(const Candidate& candidate, Rank size, const VectorSize& vector, const PutModels& models,
          bool compares)
        : candidate_(candidate),
          size_(size),
          vector_(vector),
          models_(models),
          compares_(compares) {}

    [[nodiscard]] base::Result<LeastTime> time(const ChainEnd& end) const {
        const auto program = candidate_.program(size_, end.rank);
        if (!program) return program.failure();
        Past past = look_back(*program, {});
        Time after = 0;
        LeastTime least;
        for (int hops = 0; hops < end.hops_max && least.time <= end.enough; ++hops) {
            least.time = std::max(least.time, after + past.all);
            least.whole = past.steps > kStepsMax || past.awaited.empty();
            if (least.whole) break;
            Awaited next;
            auto before = before_one(past.awaited, next);
            if (!before) return before.failure();
            after += next.after + latency(next.message);
            past = *std::move(before);
        }
        return least;
    }

  private:
    static constexpr int kStepsMax = 2000;
    static constexpr std::size_t kComparedMax = 32;

    /// Sets `next` to the message that is delayed most by its sender's earlier work, and
    /// returns that work.
    [[nodiscard]] base::Result<Past> before_one(const std::vector<Awaited>& awaited,
                                                Awaited& next) const {
        Past most;
        Time longest = -1;
        for (const Awaited& one : awaited) {
            const auto sender = candidate_.program(size_, one.message.from);
            if (!sender) return sender.failure();
            Past past = look_back(*sender, one.message);
            const Time time = one.after + latency(one.message) + past.all;
            if (time <= longest) continue;
            longest = time;
            most = std::move(past);
            next = one;
        }
        return most;
    }

    /// Returns the work before `sought` in its lane, or up to the end of the longest lane. In the
    /// latter case `all` is the work of all lanes, since they share the rank's processor.
    [[nodiscard]] Past look_back(const Program& program, const Message& sought) const {
        Past longest;
        Time together = 0;
        std::vector<bool> unpacked;
        if (far_model().unpacks(vector_.elements * vector_.element_bytes))
            unpacked = slots_filled_by(program, [&](Rank peer) {
                return !models_.far || (peer != kNoRank && is_far(program.rank, peer));
            });
        for (const Lane& lane : program.lanes) {
            Past past;
            bool found = false;
            const auto visit = [&](const Happening& happening) {
                add(program.rank, happening, past);
                found = is(happening, sought);
                return !found;
            };
            for_each_happening(program, lane, vector_, visit, false, unpacked);
            for (Awaited& one : past.awaited)
                one.after = models_.model.receive + past.all - past.receptions[one.reception];
            if (found) return past;
            together += past.all;
            if (past.all > longest.all) longest = std::move(past);
        }
        if (sought.to != kNoRank) return {};
        longest.all = together;
        return longest;
    }

    static bool is(const Happening& happening, const Message& sought) {
        if (sought.to == kNoRank || !happening.message || happening.key != sought.key) return false;
        return sought.published ? happening.kind == StepKind::publish : happening.peer == sought.to;
    }

    void add(Rank rank, const Happening& happening, Past& past) const {
        ++past.steps;
        const bool waits = happening.kind == StepKind::wait;
        if (waits) {
            past.all += models_.model.receive;
            await(rank, happening, past);
        } else if (happening.message) {
            const bool far = happening.peer != kNoRank && is_far(rank, happening.peer);
            past.all += (far ? models_.far->model : models_.model).busy(happening.bytes);
        } else {
            if (happening.kind == StepKind::reduce)
                past.all += models_.model.combine(happening.bytes, happening.operands,
                                                  happening.mapped_vectors > 0);
            past.all += models_.model.touch(happening.mapped_vectors, happening.mapped_bytes) +
                        far_model().unpack(happening.unpacked_bytes);
        }
        past.receiving = waits;
    }

    void await(Rank rank, const Happening& happening, Past& past) const {
        if (!past.receiving) past.receptions.emplace_back();
        past.receptions.back() = past.all;
        std::erase_if(past.awaited,
                      [&](const Awaited& one) { return one.message.from == happening.peer; });
        past.many = past.many || !compares_ || past.awaited.size() == kComparedMax;
        if (past.many) past.awaited.clear();
        if (happening.peer == kNoRank) return;
        past.awaited.push_back(
            {.message = {happening.peer, rank, happening.key, happening.published},
             .reception = past.receptions.size() - 1});
    }

    [[nodiscard]] const MessageModel& far_model() const {
        return models_.far ? models_.far->model : models_.model;
    }
    [[nodiscard]] bool is_far(Rank a, Rank b) const {
        if (!models_.far) return false;
        const std::vector<Rank>& node_of = *models_.far->node_of;
        return node_of[static_cast<std::size_t>(a)] != node_of[static_cast<std::size_t>(b)];
    }
    [[nodiscard]] Time latency(const Message& message) const {
        return is_far(message.from, message.to) ? models_.far->model.latency
                                                : models_.model.latency;
    }

    const Candidate& candidate_;
    Rank size_;
    const VectorSize& vector_;
    const PutModels& models_;
    bool compares_;
};

/// Last message with data that a lane sends after it has received `key`, or after its start.
struct Sent {
    Rank to = kNoRank;
    std::uint64_t key = 0;
};

Sent last_sent(const Program& program, const Lane& lane, const VectorSize& vector,
               std::optional<std::uint64_t> key) {
    Sent sent;
    bool begun = !key;
    for_each_happening(program, lane, vector, [&](const Happening& happening) {
        if (happening.kind == StepKind::put && begun) sent = {happening.peer, happening.key};
        begun = begun || (happening.kind == StepKind::wait && happening.key == *key);
        return true;
    });
    return sent;
}

/// Follows data that a lane of rank 0 has sent, and returns the rank that it reaches last.
Rank last_receiver(const Candidate& candidate, Rank size, const VectorSize& vector, Sent sent) {
    constexpr int kHopsMax = 24;
    Rank rank = sent.to;
    for (int hops = 0; hops < kHopsMax; ++hops) {
        const auto program = candidate.program(size, rank);
        if (!program) break;
        Sent next;
        for (const Lane& lane : program->lanes)
            if (next.to == kNoRank) next = last_sent(*program, lane, vector, sent.key);
        if (next.to == kNoRank) break;
        rank = next.to;
        sent = next;
    }
    return rank;
}

}  // namespace

base::Result<LeastTime> chain_time(const Candidate& candidate, Rank size, const VectorSize& vector,
                                   const PutModels& models, const ChainEnd& end) {
    return Chain(candidate, size, vector, models, end.compares).time(end);
}

std::vector<Rank> last_receivers(const Candidate& candidate, Rank size, const VectorSize& vector) {
    std::vector<Rank> ranks;
    const auto program = candidate.program(size, 0);
    if (!program) return ranks;
    for (const Lane& lane : program->lanes) {
        const Sent sent = last_sent(*program, lane, vector, {});
        if (sent.to != kNoRank) ranks.push_back(last_receiver(candidate, size, vector, sent));
    }
    return ranks;
}

Candidate with_kept_programs(const Candidate& candidate, Rank size) {
    struct Kept {
        std::unordered_map<Rank, Program> programs;
        std::size_t length = 0;  ///< steps and blocks of all programs
    };
    constexpr std::size_t kKept = 64;
    // Copying longer programs takes as long as generating them.
    constexpr std::size_t kLengthMax = 32'000;
    Candidate keeping = candidate;
    keeping.program = [made = candidate.program, size, kept = std::make_shared<Kept>()](
                          Rank of, Rank rank) -> base::Result<Program> {
        if (of != size) return made(of, rank);
        const auto known = kept->programs.find(rank);
        if (known != kept->programs.end()) return known->second;
        auto program = made(of, rank);
        if (program && kept->programs.size() < kKept && kept->length < kLengthMax) {
            kept->length += program->steps.size() + program->blocks.size();
            kept->programs.emplace(rank, *program);
        }
        return program;
    };
    return keeping;
}

}  // namespace weft::plan
