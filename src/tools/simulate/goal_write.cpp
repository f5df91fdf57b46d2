// SPDX-License-Identifier: BSD-3-Clause
// goal_write.cpp - writes programs as GOAL.
//
// Idea     A first pass over all programs collects the bytes of each message, which a recv
//          must name. Then the ranks are written in order. Only the labels that the next operation
//          requires are stored.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include "plan/schedule/step.hpp"
#include "tools/simulate/goal.hpp"

namespace weft::lab {

namespace {

/// Bytes of each message, by source, target and tag.
class MessageSizes {
  public:
    void add(Rank source, Rank target, std::uint64_t tag, std::uint64_t bytes) {
        entries_.push_back({source, target, tag, bytes});
    }
    void sort() { std::ranges::sort(entries_, {}, &Entry::key); }
    /// Returns the bytes of a message; 0 if it is never sent. The text is still written; its reader
    /// reports the error.
    [[nodiscard]] std::uint64_t bytes_of(Rank source, Rank target, std::uint64_t tag) const {
        const Entry sought{source, target, tag};
        const auto found = std::ranges::lower_bound(entries_, sought.key(), {}, &Entry::key);
        return found != entries_.end() && found->key() == sought.key() ? found->bytes : 0;
    }

  private:
    struct Entry {
        Rank source = 0;
        Rank target = 0;
        std::uint64_t tag = 0;
        std::uint64_t bytes = 0;

        [[nodiscard]] std::tuple<Rank, Rank, std::uint64_t> key() const {
            return {source, target, tag};
        }
    };
    std::vector<Entry> entries_;
};

/// Writes one rank's operations.
class RankWriter {
  public:
    RankWriter(std::string& text, const Program& program, const BufferSize& size,
               const MessageModel& model, const MessageSizes& sizes)
        : text_(text), program_(program), size_(size), model_(model), sizes_(sizes) {}

    base::Result<void> write() {
        fmt::format_to(std::back_inserter(text_), "rank {} {{\n", program_.rank);
        const plan::ExecutedSteps steps(program_, size_);
        for (const plan::Lane& lane : program_.lanes) {
            required_.clear();
            written_.clear();
            steps.for_each(lane, [&](const plan::ExecutedStep& step) {
                if (step.kind == plan::StepKind::publish || step.published)
                    failure_ = base::fail(Status::unsupported,
                                          "rank {}: GOAL has no published cells", program_.rank);
                else
                    add(step);
            });
        }
        write_requirements_of_own_waits();
        text_ += "}\n";
        if (failure_) return *failure_;
        return {};
    }

  private:
    void add(const plan::ExecutedStep& step) {
        // Adjacent receptions have equal requirements, so only the first one changes them.
        const bool receives = step.kind == plan::StepKind::wait;
        if (!receives || !receiving_) require_written();
        receiving_ = receives;
        if (step.peer == program_.rank)
            write_signal_to_itself(step);
        else if (receives)
            write_message("recv", "from", step, bytes_for(step));
        else if (step.message)
            write_message("send", "to", step, step.bytes);
        else if (step.kind == plan::StepKind::reduce)
            write_calc(model_.combine(step.bytes, step.operands));
        else
            write_calc(step.pause);
    }

    void write_message(std::string_view verb, std::string_view word, const plan::ExecutedStep& step,
                       std::uint64_t bytes) {
        begin(bytes == 0 ? kSignalLabel : 'l');
        fmt::format_to(std::back_inserter(text_), "{} {}b {} {} tag {}\n", verb,
                       std::max<std::uint64_t>(1, bytes), word, step.peer, step.key);
        end();
    }
    /// Writes a signal of the rank to itself, or the wait for it, as a calc without time.
    void write_signal_to_itself(const plan::ExecutedStep& step) {
        begin('l');
        text_ += "calc 0\n";
        end();
        (step.message ? signals_ : waits_).emplace_back(step.key, own_);
    }
    /// Lets each wait for a signal of the rank to itself require the signal.
    void write_requirements_of_own_waits() {
        const auto by_key = [](const KeyedLabel& label) { return label.first; };
        std::ranges::sort(signals_, {}, by_key);
        for (const auto& [key, wait] : waits_) {
            const auto signal = std::ranges::lower_bound(signals_, key, {}, by_key);
            if (signal == signals_.end() || signal->first != key) continue;
            write_label(wait);
            text_ += " requires ";
            write_label(signal->second);
            text_ += '\n';
        }
    }
    void write_calc(Time time) {
        if (time == 0) return;
        const bool whole = time % plan::kPicosecondsPerNanosecond == 0;
        begin(whole ? 'l' : kPicosecondLabel, time);
        fmt::format_to(std::back_inserter(text_), "calc {}\n", nearest_nanoseconds(time));
        end();
    }
    void begin(char letter, Time time = 0) {
        own_ = {letter, ++label_, time};
        write_label(own_);
        text_ += ": ";
    }
    void end() {
        for (const Label& label : required_) {
            write_label(own_);
            text_ += " requires ";
            write_label(label);
            text_ += '\n';
        }
        written_.push_back(own_);
    }

    struct Label {
        char letter = 'l';
        std::uint64_t number = 0;
        Time time = 0;
    };
    void write_label(const Label& label) {
        fmt::format_to(std::back_inserter(text_), "{}{}", label.letter, label.number);
        if (label.letter == kPicosecondLabel)
            fmt::format_to(std::back_inserter(text_), "_{}", label.time);
    }

    [[nodiscard]] std::uint64_t bytes_for(const plan::ExecutedStep& wait) const {
        return sizes_.bytes_of(wait.peer, program_.rank, wait.key);
    }

    /// Makes later operations require the operations written since the last call.
    void require_written() {
        if (written_.empty()) return;
        required_ = std::move(written_);
        written_.clear();
    }

    std::string& text_;
    const Program& program_;
    const BufferSize& size_;
    const MessageModel& model_;
    const MessageSizes& sizes_;
    using KeyedLabel = std::pair<std::uint64_t, Label>;
    std::vector<KeyedLabel> signals_;  ///< to the rank itself
    std::vector<KeyedLabel> waits_;    ///< for these signals
    Label own_;                        ///< label of the current operation
    std::vector<Label> required_;      ///< operations that the following ones require
    std::vector<Label> written_;       ///< operations since the last require_written()
    std::uint64_t label_ = 0;
    bool receiving_ = false;
    std::optional<base::Failure> failure_;
};

}  // namespace

base::Result<std::string> to_goal(std::span<const Program> programs, const BufferSize& size,
                                  const MessageModel& model) {
    MessageSizes sizes;
    for (const Program& program : programs) {
        plan::ExecutedSteps(program, size).for_each([&](const plan::ExecutedStep& step) {
            if (step.message) sizes.add(program.rank, step.peer, step.key, step.bytes);
        });
    }
    sizes.sort();
    std::string text = fmt::format("num_ranks {}\n", programs.size());
    for (const Program& program : programs) {
        text += '\n';
        WEFT_TRY(RankWriter(text, program, size, model, sizes).write());
    }
    return text;
}

}  // namespace weft::lab
