// SPDX-License-Identifier: BSD-3-Clause
// goal_write.cpp - programs as GOAL.
//
// Idea     One pass over all programs for the bytes of each message, since a recv names them, too;
//          then rank by rank, remembering only what the next operation requires.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "lab/simulate/goal.hpp"

namespace weft::lab {

namespace {

/// Bytes of each message, by source, target and tag: a recv names them, too.
using Sizes = std::map<std::tuple<Rank, Rank, std::uint64_t>, std::uint64_t>;

/// Writes one rank's operations.
class RankWriter {
  public:
    RankWriter(std::string& text, const Program& program, const VectorSize& size,
               const MessageModel& model, const Sizes& sizes)
        : text_(text), program_(program), size_(size), model_(model), sizes_(sizes) {}

    base::Result<void> write() {
        fmt::format_to(std::back_inserter(text_), "rank {} {{\n", program_.rank);
        for (const plan::Lane& lane : program_.lanes) {
            last_.clear();
            next_.clear();
            plan::for_each_happening(program_, lane, size_, [&](const plan::Happening& happening) {
                if (failure_) return;
                if (happening.kind == plan::StepKind::publish || happening.published)
                    failure_ = base::fail(Status::unsupported,
                                          "rank {}: GOAL has no published cells", program_.rank);
                else
                    add(happening);
            });
        }
        text_ += "}\n";
        if (failure_) return *failure_;
        return {};
    }

  private:
    void add(const plan::Happening& happening) {
        // Receptions that stand next to each other require the same, so the first one settles.
        const bool receives = happening.kind == plan::StepKind::wait;
        if (!receives || !receiving_) settle();
        receiving_ = receives;
        if (!receives && !happening.message && happening.kind != plan::StepKind::reduce) return;
        const auto out = std::back_inserter(text_);
        fmt::format_to(out, "  l{}: ", ++label_);
        if (receives)
            fmt::format_to(out, "recv {}b from {} tag {}\n", bytes_for(happening), happening.peer,
                           happening.key);
        else if (happening.kind == plan::StepKind::reduce)
            fmt::format_to(out, "calc {}\n", nanoseconds_of(happening));
        else
            fmt::format_to(out, "send {}b to {} tag {}\n", happening.bytes, happening.peer,
                           happening.key);
        for (const std::uint64_t label : last_)
            fmt::format_to(out, "  l{} requires l{}\n", label_, label);
        next_.push_back(label_);
    }

    /// 0 if it is never sent: the text is written all the same, and its reader reports it.
    [[nodiscard]] std::uint64_t bytes_for(const plan::Happening& wait) const {
        const auto sent = sizes_.find({wait.peer, program_.rank, wait.key});
        return sent == sizes_.end() ? 0 : sent->second;
    }
    [[nodiscard]] Time nanoseconds_of(const plan::Happening& reduction) const {
        const Time time = model_.combine(reduction.bytes, reduction.operands);
        return (time + plan::kPicosecondsPerNanosecond / 2) / plan::kPicosecondsPerNanosecond;
    }

    /// What comes now requires what was written since the last call.
    void settle() {
        if (next_.empty()) return;
        last_ = std::move(next_);
        next_.clear();
    }

    std::string& text_;
    const Program& program_;
    const VectorSize& size_;
    const MessageModel& model_;
    const Sizes& sizes_;
    std::vector<std::uint64_t> last_;
    std::vector<std::uint64_t> next_;
    std::uint64_t label_ = 0;
    bool receiving_ = false;
    std::optional<base::Failure> failure_;
};

}  // namespace

base::Result<std::string> to_goal(std::span<const Program> programs, const VectorSize& size,
                                  const MessageModel& model) {
    Sizes sizes;
    for (const Program& program : programs) {
        for (const plan::Lane& lane : program.lanes)
            plan::for_each_happening(program, lane, size, [&](const plan::Happening& happening) {
                if (happening.message)
                    sizes[{program.rank, happening.peer, happening.key}] = happening.bytes;
            });
    }
    std::string text = fmt::format("num_ranks {}\n", programs.size());
    for (const Program& program : programs) {
        text += '\n';
        if (auto written = RankWriter(text, program, size, model, sizes).write(); !written)
            return written.failure();
    }
    return text;
}

}  // namespace weft::lab
