// SPDX-License-Identifier: BSD-3-Clause
// targets.hpp - the fuzz targets: functions that accept any bytes and must return.
//
// Idea     A target passes its input to a parser of options, files or records of peers. If parsed
//          data can be printed, the output must parse to equal data. Findings are a crash, a failed
//          check, an allocation beyond the limit, and a run that does not end.
// Next     run for libFuzzer; replay.cpp for the corpus in an ordinary build; tests/unit/regress
//          for past findings.
#pragma once

#include <array>
#include <string_view>

namespace weft::fuzz {

void notation(std::string_view input);
void program(std::string_view input);
void goal(std::string_view input);
void parameters(std::string_view input);
void matrix(std::string_view input);
void layout(std::string_view input);
void environment(std::string_view input);
void card(std::string_view input);
void records(std::string_view input);
void requests(std::string_view input);
void messages(std::string_view input);
void port(std::string_view input);

/// A target and its name, which is also the name of its folder in corpus/.
struct Target {
    std::string_view name;
    void (*read)(std::string_view input);
};

inline constexpr std::array kTargets{
    Target{"notation", notation},       Target{"program", program},   Target{"goal", goal},
    Target{"parameters", parameters},   Target{"matrix", matrix},     Target{"layout", layout},
    Target{"environment", environment}, Target{"card", card},         Target{"records", records},
    Target{"requests", requests},       Target{"messages", messages}, Target{"port", port},
};

}  // namespace weft::fuzz
