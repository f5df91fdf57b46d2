// SPDX-License-Identifier: BSD-3-Clause
// text_parse.cpp - parser of the text form (text.hpp).
//
// Idea     A line is split into tokens with their columns. One function for each kind of line
//          consumes them from the left. The first mismatch ends the parse with its location.
// Holds    Any text gives programs or a failure. Only the grammar and the limits of text_need.hpp
//          are checked; the verifier checks the rest, so that unsound programs can be written and
//          examined. Former words are accepted: `slot-rooms` for `slot-capacity`, `local` for
//          `flush`.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/units.hpp"
#include "plan/schedule/canonical.hpp"
#include "plan/schedule/program.hpp"
#include "tools/text/text.hpp"
#include "tools/text/text_need.hpp"

namespace weft::plan {

namespace {

using base::is_digit;

struct Token {
    std::string_view text;
    std::size_t column = 1;
};

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

std::string_view without_comment(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '#' && (i == 0 || is_space(line[i - 1]))) return line.substr(0, i);
    }
    return line;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::vector<Token> tokens_of(std::string_view line) {
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < line.size();) {
        if (is_space(line[i])) {
            ++i;
            continue;
        }
        std::size_t end = i + 1;
        if (is_digit(line[i])) {
            while (end < line.size() && is_digit(line[end])) ++end;
        } else if (is_letter(line[i])) {
            while (end < line.size() && (is_letter(line[end]) || line[end] == '-')) ++end;
        }
        tokens.push_back({line.substr(i, end - i), i + 1});
        i = end;
    }
    return tokens;
}

/// Header fields that the text sets; the other fields are derived from the steps.
struct Given {
    bool ranks = false;
    bool slots = false;
    bool slot_units = false;
    bool scratch = false;
};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text), need_(text.size()) {}

    base::Result<std::vector<Program>> run() {
        while (!text_.empty() || line_number_ == 0) {
            const std::size_t end = std::min(text_.find('\n'), text_.size());
            line_ = without_comment(text_.substr(0, end));
            text_.remove_prefix(std::min(end + 1, text_.size()));
            ++line_number_;
            tokens_ = tokens_of(line_);
            next_ = 0;
            if (!tokens_.empty() && !parse_line()) return *failure_;
        }
        ++line_number_;
        line_ = {};
        tokens_.clear();
        next_ = 0;
        if (!close_rank()) return *failure_;
        if (programs_.empty()) {
            expected("a line 'rank R'");
            return *failure_;
        }
        finish_programs();
        WEFT_TRY(need_.check(programs_, rank_lines_));
        return std::move(programs_);
    }

  private:
    // Tokens.
    [[nodiscard]] std::string_view peek() const {
        return next_ < tokens_.size() ? tokens_[next_].text : std::string_view{};
    }
    bool accept(std::string_view text) {
        if (peek() != text) return false;
        ++next_;
        return true;
    }
    bool expect(std::string_view text) {
        return accept(text) || expected(fmt::format("'{}'", text));
    }

    /// Records the failure at the next token; returns false.
    bool expected(std::string_view what) {
        if (failure_) return false;
        const std::size_t column =
            next_ < tokens_.size() ? tokens_[next_].column : trimmed_end() + 1;
        const std::string found = next_ < tokens_.size() ? fmt::format("'{}'", tokens_[next_].text)
                                                         : std::string("the end of the line");
        failure_ = base::fail(Status::argument, "line {}, column {}: expected {}, found {}",
                              line_number_, column, what, found);
        return false;
    }
    [[nodiscard]] std::size_t trimmed_end() const {
        return tokens_.empty() ? 0 : tokens_.back().column - 1 + tokens_.back().text.size();
    }

    template <class Number>
    bool number(Number& value, std::string_view what) {
        const std::string_view text = peek();
        if (text.empty() || !is_digit(text[0])) return expected(what);
        Number parsed{};
        const auto result = std::from_chars(text.data(), text.data() + text.size(), parsed);
        if (result.ec != std::errc()) return expected(fmt::format("{} that fits its field", what));
        value = parsed;
        ++next_;
        return true;
    }
    template <class Number>
    bool numbers(std::vector<Number>& values, std::string_view what) {
        values.clear();
        while (next_ < tokens_.size())
            if (!number(values.emplace_back(), what)) return false;
        return true;
    }
    /// Parses a header number that determines the verifier's memory, so it is limited.
    bool size_number(std::uint32_t& value, std::string_view what) {
        if (!number(value, what)) return false;
        if (value <= need_.units) return true;
        --next_;
        return expected(
            fmt::format("{}, at most {} in a text of {} bytes", what, need_.units, need_.bytes));
    }
    /// alternative: other permitted words with a final "or ", for the message.
    bool end_of_line(std::string_view alternative = {}) {
        return next_ == tokens_.size() ||
               expected(fmt::format("{}the end of the line", alternative));
    }

    // Lines.
    bool parse_line() {
        const std::string_view word = peek();
        if (word == "rank") return rank_line();
        if (is_header_word(word)) return header_line();
        if (!in_rank_) return expected("a header line or 'rank R'");
        if (word == "lane") return lane_line();
        if (word == "loop") return loop_line();
        if (word == "end") return end_line();
        return step_line();
    }

    static bool is_header_word(std::string_view word) {
        static constexpr std::string_view kWords[] = {
            "collective",    "algorithm",  "ranks",         "root",     "units",         "segments",
            "depth",         "slots",      "slot-units",    "scratch",  "synchronizing", "counts",
            "slot-capacity", "slot-rooms", "unit-elements", "pairwise", "window"};
        return std::ranges::find(kWords, word) != std::end(kWords);
    }

    bool header_line() {
        if (in_rank_ && (program_.steps.size() > 0 || lane_named_))
            return expected("a step (header lines must precede the steps of a rank)");
        Program& header = in_rank_ ? program_ : common_;
        Given& given = in_rank_ ? given_ : common_given_;
        const Token keyword = tokens_[next_++];
        const std::string_view word = keyword.text;
        if (word == "collective" || word == "algorithm") {
            std::string& label = word == "collective" ? header.collective : header.algorithm;
            label = trimmed(line_.substr(keyword.column - 1 + word.size()));
            return !label.starts_with('#') || expected("a name (text after # is a comment)");
        }
        if (word == "synchronizing" || word == "pairwise") {
            bool& value = word == "pairwise" ? header.pairwise : header.synchronizing;
            value = !accept("no");
            if (value) accept("yes");
            return end_of_line("'yes', 'no' or ");
        }
        if (word == "counts") return numbers(header.unit_counts, "a number of elements");
        if (word == "slot-capacity" || word == "slot-rooms")
            return numbers(header.slot_capacity, "a number of units");
        if (word == "root" && accept("none")) {
            header.root = kNoRank;
            return end_of_line();
        }
        return header_number(word, header, given) && end_of_line();
    }

    bool header_number(std::string_view word, Program& header, Given& given) {
        if (word == "ranks")
            return (given.ranks = true) && number(header.size, "a number of ranks");
        if (word == "root") return number(header.root, "a rank or 'none'");
        if (word == "units") return size_number(header.units, "a number of units");
        if (word == "segments") return size_number(header.segments, "a number of segments");
        if (word == "depth") return size_number(header.depth, "a number of copies");
        if (word == "window") return window_line(in_rank_ ? window_ : common_window_);
        if (word == "slots")
            return (given.slots = true) && size_number(header.slots, "a number of slots");
        if (word == "slot-units")
            return (given.slot_units = true) && number(header.slot_units, "a number of units");
        if (word == "unit-elements") return number(header.unit_elements, "a number of elements");
        return (given.scratch = true) && size_number(header.scratch, "a number of scratch buffers");
    }

    bool window_line(std::uint32_t& window) {
        // Limits the lanes that one line creates. Generated programs need at most kWindowMax.
        constexpr std::uint32_t kWindowLimit = 1024;
        const std::string what = fmt::format("a number of segments from 1 to {}", kWindowLimit);
        if (!number(window, what)) return false;
        if (window >= 1 && window <= kWindowLimit) return true;
        --next_;
        return expected(what);
    }

    bool rank_line() {
        if (!close_rank()) return false;
        ++next_;
        rank_lines_.push_back(line_number_);
        program_ = common_;
        window_ = common_window_;
        given_ = common_given_;
        in_rank_ = true;
        return number(program_.rank, "the number of a rank") && end_of_line();
    }

    bool lane_line() {
        if (!close_lane()) return false;
        ++next_;
        lane_named_ = true;
        return end_of_line();
    }

    bool loop_line() {
        if (loop_) return expected("a step or 'end' (loops do not nest)");
        ++next_;
        loop_ = program_.steps.size();
        Step& loop = program_.steps.emplace_back(Step{.kind = StepKind::loop});
        if (!peek().empty() && is_digit(peek()[0]) &&
            !number(loop.operands, "a number of iterations"))
            return false;
        return end_of_line();
    }

    bool end_line() {
        if (!loop_) return expected("a step ('end' closes a loop, and none is open)");
        ++next_;
        program_.steps[*loop_].signal = as_u32(program_.steps.size() - *loop_ - 1);
        loop_.reset();
        return end_of_line();
    }

    bool close_lane() {
        if (loop_) return expected("'end' of the open loop");
        const auto count = as_u32(program_.steps.size()) - lane_first_;
        if (lane_named_ || count > 0) program_.lanes.push_back({lane_first_, count});
        lane_first_ += count;
        lane_named_ = false;
        return true;
    }

    bool close_rank() {
        if (!in_rank_) return true;
        if (!close_lane()) return false;
        repeat_lanes(program_, window_);
        programs_.push_back(std::move(program_));
        givens_.push_back(given_);
        lane_first_ = 0;
        in_rank_ = false;
        return true;
    }

    // Steps.
    bool step_line() {
        Step step;
        const std::string_view word = peek();
        ++next_;
        if (word == "put" || word == "signal" || word == "expose") {
            step.kind = word == "put"      ? StepKind::put
                        : word == "signal" ? StepKind::signal
                                           : StepKind::expose;
            if (!expect("to") || !number(step.peer, "a rank") || !slot_number(step)) return false;
            if (word != "signal" && (!expect("from") || !list(step.source))) return false;
            if (word == "put" && accept("into") && !list(step.target)) return false;
        } else if (word == "publish") {
            step.kind = StepKind::publish;
            if (!slot_number(step)) return false;
            if (accept("from") && !list(step.source)) return false;
        } else if (word == "wait") {
            step.kind = StepKind::wait;
            if (!expect("from") || !number(step.peer, "a rank") || !slot_number(step)) return false;
        } else if (word == "flush" || word == "local") {
            step.kind = StepKind::flush;
        } else if (word == "reduce" || word == "copy") {
            step.kind = word == "reduce" ? StepKind::reduce : StepKind::copy;
            if (!targets(step) || !expect("=") || !operands(step)) return false;
        } else if (word == "sleep" || word == "compute") {
            step.kind = word == "sleep" ? StepKind::sleep : StepKind::compute;
            if (!number(step.signal, "a number of nanoseconds") || !expect("ns")) return false;
        } else {
            --next_;
            return expected(
                "put, signal, expose, publish, wait, flush, reduce, copy, sleep, compute, loop, "
                "end, lane or rank");
        }
        if (!step_options(step)) return false;
        program_.steps.push_back(step);
        return true;
    }

    bool slot_number(Step& step) { return expect("slot") && number(step.signal, "a slot number"); }

    bool step_options(Step& step) {
        while (next_ < tokens_.size()) {
            if (accept("for")) {
                if (!expect("writing")) return false;
                step.flags |= kWritten;
            } else if (accept("shared")) {
                step.flags |= kShared;
            } else if (accept("published")) {
                step.flags |= kFromPublished;
            } else if (accept("lag")) {
                if (!number(step.lag, "a number of segments")) return false;
            } else {
                return expected(
                    "'for writing', 'shared', 'published', 'lag' or the end of the line");
            }
        }
        return true;
    }

    /// Parses the targets: one list for a copy, one or more for a reduction.
    bool targets(Step& step) {
        std::vector<Block> all;
        do {
            if (!blocks(all)) return false;
        } while (step.kind == StepKind::reduce && accept(","));
        step.target = intern_blocks(program_.blocks, all);
        return true;
    }

    bool operands(Step& step) {
        if (step.kind == StepKind::copy) return list(step.source);
        std::vector<Block> all;
        std::size_t each = 0;
        do {
            std::vector<Block> operand;
            if (!blocks(operand)) return false;
            if (step.operands == 0) each = operand.size();
            if (operand.size() != each)
                return expected("the same number of blocks in each operand");
            all.insert(all.end(), operand.begin(), operand.end());
            ++step.operands;
        } while (accept(","));
        step.source = intern_blocks(program_.blocks, all);
        return true;
    }

    bool list(BlockList& list) {
        std::vector<Block> all;
        if (!blocks(all)) return false;
        list = intern_blocks(program_.blocks, all);
        return true;
    }

    bool blocks(std::vector<Block>& all) {
        if (!accept("{")) return block(all.emplace_back());
        if (accept("}")) return true;
        do {
            if (!block(all.emplace_back())) return false;
        } while (accept(","));
        return expect("}");
    }

    bool block(Block& block) {
        const auto name = std::ranges::find(kBufferNames, peek());
        if (name == kBufferNames.end())
            return expected("a block (input, output, scratch, slot, published or mapped)");
        ++next_;
        block.buffer = static_cast<Buffer>(name - kBufferNames.begin());
        if (block.buffer >= Buffer::scratch && !number(block.index, "the number of the buffer"))
            return false;
        if (block.buffer >= Buffer::published && (!expect("of") || !number(block.peer, "a rank")))
            return false;
        return units(block);
    }

    bool units(Block& block) {
        const bool payload = is_payload(block.buffer);
        if (!accept("[")) {
            block.count = program_.units;
            return true;
        }
        if (!number(block.first, "a unit")) return false;
        if (accept("+") && !number(block.count, "a number of units")) return false;
        if (payload) block.origin = block.first;
        while (!accept("]")) {
            if (accept("stride")) {
                if (!number(block.stride, "a stride")) return false;
            } else if (payload && accept("origin")) {
                if (!number(block.origin, "a unit")) return false;
            } else if (accept("advance")) {
                if (!number(block.advance, "a number of units")) return false;
            } else {
                return expected(payload ? "'+', 'stride', 'origin', 'advance' or ']'"
                                        : "'+', 'stride', 'advance' or ']'");
            }
        }
        return true;
    }

    /// Makes all programs canonical, and derives the header fields that the text omits.
    void finish_programs() {
        std::uint32_t slots = 0;
        std::uint32_t slot_units = 0;
        for (const Program& program : programs_) {
            for (const Step& step : program.steps) {
                if (step.kind == StepKind::flush || step.kind >= StepKind::reduce) continue;
                slots = std::max(slots, step.signal + 1);
                if (step.kind == StepKind::expose || step.target.count > 0) continue;
                const std::uint64_t carried = units_of(blocks_of(program, step.source));
                slot_units = std::max(slot_units, as_u32(carried));
            }
        }
        for (std::size_t i = 0; i < programs_.size(); ++i) {
            Program& program = programs_[i];
            program = canonical(program);
            if (!givens_[i].ranks) program.size = static_cast<Rank>(programs_.size());
            if (!givens_[i].slots) program.slots = slots;
            if (!givens_[i].slot_units) program.slot_units = slot_units;
            if (givens_[i].scratch) continue;
            for (const Block& block : program.blocks) {
                if (block.buffer == Buffer::scratch)
                    program.scratch = std::max(program.scratch, block.index + 1);
            }
        }
    }

    std::string_view text_;
    TextNeed need_;
    std::string_view line_;
    std::size_t line_number_ = 0;
    std::vector<Token> tokens_;
    std::size_t next_ = 0;  ///< index of the next token
    std::optional<base::Failure> failure_;

    Program common_;  ///< header lines before the first rank
    Given common_given_;
    Program program_;  ///< program of the current rank
    Given given_;
    bool in_rank_ = false;
    std::uint32_t window_ = 1;         ///< segments in flight of the current rank
    std::uint32_t common_window_ = 1;  ///< window of ranks without their own line `window`
    std::uint32_t lane_first_ = 0;     ///< first step of the current lane
    bool lane_named_ = false;          ///< the current lane began with a line `lane`
    std::optional<std::size_t> loop_;  ///< index of the open loop's step

    std::vector<Program> programs_;
    std::vector<Given> givens_;
    std::vector<std::size_t> rank_lines_;  ///< line number of each program
};

}  // namespace

base::Result<std::vector<Program>> parse_programs(std::string_view text) {
    return Parser(text).run();
}

}  // namespace weft::plan
