// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/notation/schedule.hpp"

#include <cstdint>

#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

namespace {

bool is_stage_letter(char c) {
    return c == 'a' || c == 'c' || c == 'e' || c == 'm' || c == 'n';
}

base::Result<Rank> parse_number(Cursor& cursor, char name) {
    const std::size_t position = cursor.position();
    const std::string_view digits = cursor.take_while(is_digit);
    if (digits.empty())
        return fail_at(position, "expected a number ({}), found {}", name, cursor.found());
    if (digits.size() > 1 && digits.front() == '0')
        return fail_at(position, "{}={} has a leading zero", name, digits);
    std::int64_t value = 0;
    for (const char digit : digits) {
        value = value * 10 + (digit - '0');
        if (value > std::numeric_limits<Rank>::max())
            return fail_at(position, "{}={} is more than {} ranks", name, digits,
                           std::numeric_limits<Rank>::max());
    }
    return static_cast<Rank>(value);
}

/// Parses a required letter and the number after it into `value`.
base::Result<void> parse_part(Cursor& cursor, char letter, char name, Rank& value) {
    if (!cursor.accept(letter))
        return fail_at(cursor.position(), "expected '{}' and then {}, found {}", letter, name,
                       cursor.found());
    value = WEFT_TRY(parse_number(cursor, name));
    return base::Done{};
}

base::Result<Stage> parse_stage(Cursor& cursor) {
    const char letter = cursor.peek();
    if (!is_stage_letter(letter))
        return fail_at(cursor.position(),
                       "expected a stage (aB, cTmB, eTmB, mRgGaB or nRgGaB), found {}",
                       cursor.found());
    Stage stage{.kind = static_cast<StageKind>(letter)};
    switch (stage.kind) {
        case StageKind::factor:
            WEFT_TRY(parse_part(cursor, letter, 'B', stage.base));
            break;
        case StageKind::gather:
        case StageKind::scatter:
            WEFT_TRY(parse_part(cursor, letter, 'T', stage.grouped));
            WEFT_TRY(parse_part(cursor, 'm', 'B', stage.base));
            break;
        case StageKind::merge:
        case StageKind::release:
            WEFT_TRY(parse_part(cursor, letter, 'R', stage.remainders));
            WEFT_TRY(parse_part(cursor, 'g', 'G', stage.groups));
            WEFT_TRY(parse_part(cursor, 'a', 'B', stage.base));
            break;
    }
    return stage;
}

}  // namespace

bool schedule_begins(const Cursor& cursor) {
    return is_stage_letter(cursor.peek()) && is_digit(cursor.peek(1));
}

base::Result<Schedule> parse_schedule(Cursor& cursor) {
    Schedule schedule;
    do {
        Stage stage = WEFT_TRY(parse_stage(cursor));
        schedule.push_back(stage);
    } while (cursor.accept(','));
    return schedule;
}

std::string print(const Stage& stage) {
    const char letter = static_cast<char>(stage.kind);
    switch (stage.kind) {
        case StageKind::factor:
            return fmt::format("{}{}", letter, stage.base);
        case StageKind::gather:
        case StageKind::scatter:
            return fmt::format("{}{}m{}", letter, stage.grouped, stage.base);
        case StageKind::merge:
        case StageKind::release:
            return fmt::format("{}{}g{}a{}", letter, stage.remainders, stage.groups, stage.base);
    }
    return {};
}

std::string print(const Schedule& schedule) {
    std::string text;
    for (const Stage& stage : schedule) {
        if (!text.empty()) text += ',';
        text += print(stage);
    }
    return text;
}

}  // namespace weft::collectives
