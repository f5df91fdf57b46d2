// SPDX-License-Identifier: BSD-3-Clause
// text.hpp - programs as text: to read, to write by hand, to keep in files.
//
// Idea     One file holds the programs of all ranks: a header of lines `word value`, then for each
//          rank `rank R` and its steps, one a line. Indentation and blank lines mean nothing; what
//          follows a # that starts a line or follows a space is a comment.
//
//            collective NAME                (optional, to the end of the line)
//            algorithm a2                   (optional, to the end of the line)
//            ranks 2                        (default: as many as there are `rank` lines)
//            units 1                        (default 1; so are `segments 4` and `depth 2`)
//            synchronizing                  (default: not; no `root 0` means that there is no root)
//            rank 0
//              put to 1 slot 0 from input[0+1] shared
//              wait from 1 slot 0 shared
//              reduce output[0+1] = input[0+1], slot 0[0+1]
//
//          Header words: collective algorithm ranks root units segments depth slots slot-units
//          slot-capacity scratch synchronizing counts unit-elements pairwise. After a `rank` line,
//          before its steps, they hold for that rank alone. slots, slot-units and scratch are
//          counted from the steps if not given.
//          Steps: `put to P slot K from BLOCKS [into mapped ...]`, `signal to P slot K`, `expose to
//          P slot K from BLOCK [for writing]`, `publish slot K [from BLOCKS]`, `wait from P slot
//          K`, `flush`, `reduce BLOCKS, .. = BLOCKS, BLOCKS, ..` (targets = operands), `copy BLOCKS
//          = BLOCKS`, `loop` (`loop 5`: so often) .. `end`, and `lane`, which starts a further
//          lane. After a step: `shared`, `published`, `lag L`.
//          BLOCKS is one block or `{block, block}`. A block is `input`, `output`, `scratch I`,
//          `slot K`, `published K of P` or `mapped K of P`, followed by `[first+count]`
//          (`[first]`: one unit; nothing: all units) and inside the brackets `stride S`, `origin O`
//          (default: first), `advance A`.
// Holds    parse_programs(to_text(p)) gives canonical(p) (canonical.hpp); programs from the builder
//          are canonical already, so they come back equal. Fields that have no meaning for a buffer
//          or a step are not carried.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

[[nodiscard]] std::string to_text(const Program& program);
/// All programs in one file; header lines that all share are written once.
[[nodiscard]] std::string to_text(std::span<const Program> programs);
/// One step in the words of the text form, for messages.
[[nodiscard]] std::string to_text(const Program& program, const Step& step);

/// Errors name line, column and what was expected there.
[[nodiscard]] base::Result<std::vector<Program>> parse_programs(std::string_view text);

}  // namespace weft::plan
