// SPDX-License-Identifier: BSD-3-Clause
// scratch.hpp - scratch vectors that need no memory of their own.
//
// Idea     One that is copied to the output at the end may lie there from the beginning, and one
//          that only is a copy of the input is the input: the copy is one onto itself then.
// Holds    Only where the caller's input and output are not the same memory, which a call says; so
//          programs are right without it.
#pragma once

#include "run/bind/bound_program.hpp"

namespace weft::run {

/// Fills in scratch_in_output and scratch_in_input.
void place_scratch(BoundProgram& bound);

}  // namespace weft::run
