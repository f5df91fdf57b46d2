// SPDX-License-Identifier: BSD-3-Clause
// text.hpp - text form of programs, for files and for writing by hand.
//
// Idea     One file holds the programs of all ranks: a header of lines `word value`, then for each
//          rank `rank R` and its steps, one on each line. Indentation and blank lines are ignored.
//          A # at the start of a line or after a space starts a comment.
//
//           collective NAME                (optional, to the end of the line)
//           algorithm a2                   (optional, to the end of the line)
//           ranks 2                        (default: the number of `rank` lines)
//           units 1                        (default 1; `segments` and `depth` also default to 1)
//           synchronizing                  (default: not synchronizing)
//           root 0                         (default: no root)
//           rank 0
//             put to 1 slot 0 from input[0+1] shared
//             wait from 1 slot 0 shared
//             reduce output[0+1] = input[0+1], slot 0[0+1]
//
//          Header words (program.hpp explains the fields that they set): collective algorithm ranks
//          root units segments depth slots slot-units slot-capacity scratch synchronizing counts
//          unit-elements pairwise window. After a `rank` line, before its steps, they apply to that
//          rank alone. If slots, slot-units and scratch are missing, they are derived from the
//          steps.
//
//          Steps (step.hpp explains them):
//          - `put to P slot K from BLOCKS [into mapped ...]`, `signal to P slot K`.
//          - `expose to P slot K from BLOCK [for writing]`, `publish slot K [from BLOCKS]`.
//          - `wait from P slot K`, `flush`.
//          - `reduce BLOCKS, .. = BLOCKS, BLOCKS, ..` (targets = operands), `copy BLOCKS = BLOCKS`.
//          - `sleep 700 ns`, `compute 700 ns`: take this time (in the simulator only).
//          - `loop` or `loop 5` (iterations) .. `end`.
//          - `lane` starts another lane.
//          - Options after a step: `shared`, `published`, `lag L`.
//
//          BLOCKS is one block or `{block, block}`. A block is `input`, `output`, `scratch I`,
//          `slot K`, `published K of P` or `mapped K of P`, followed by `[first+count]` (`[first]`:
//          one unit; without brackets: all units). The brackets may also have `stride S`,
//          `origin O` (default: first), `advance A`.
// Holds    parse_programs(to_text(p)) gives canonical(p) (canonical.hpp). Programs from the builder
//          are canonical, so they are reproduced exactly. Fields without a meaning for a buffer or
//          step are omitted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

[[nodiscard]] std::string to_text(const Program& program);
/// Returns all programs as one file. Later ranks repeat only header lines that differ.
[[nodiscard]] std::string to_text(std::span<const Program> programs);
[[nodiscard]] std::string to_text(const Program& program, const Step& step);

/// Parses programs. An error has the line, the column and the expected text.
[[nodiscard]] base::Result<std::vector<Program>> parse_programs(std::string_view text);

}  // namespace weft::plan
