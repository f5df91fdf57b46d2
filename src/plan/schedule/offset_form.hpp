// SPDX-License-Identifier: BSD-3-Clause
// offset_form.hpp - one value for all ranks that do the same thing from where they stand.
//
// Idea     A program in which each rank is written as a distance from its own: modulo the number of
//          ranks (ring), or bit by bit (exclusive_or). Units of vectors may be written so too, for
//          algorithms whose rank r starts at unit r. Ranks with equal forms are a class.
// Why      A symmetric algorithm has one class, or a few, whatever the number of ranks: who costs or
//          simulates it needs one program per class.
// Holds    at(offset_form(p, ...), p.rank) is canonical(p). at(form, r) is rank r's program for each r
//          of the class, and for no other.
#pragma once

#include <cstdint>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// How distances are counted.
enum class Relative : std::uint8_t { ring, exclusive_or };

struct OffsetForm {
    Program program;  ///< rank is 0; ranks in steps and blocks are distances
    Relative relative = Relative::ring;
    bool units = false;  ///< first units of blocks are distances too

    friend bool operator==(const OffsetForm&, const OffsetForm&) = default;
};

[[nodiscard]] OffsetForm offset_form(const Program& program, Relative relative, bool units = false);
/// The program of `rank`, which is of the class of the form.
[[nodiscard]] Program at(const OffsetForm& form, Rank rank);
/// Equal for equal forms, and as good as never for others.
[[nodiscard]] std::uint64_t class_hash(const OffsetForm& form);

}  // namespace weft::plan
