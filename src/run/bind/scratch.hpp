// SPDX-License-Identifier: BSD-3-Clause
// scratch.hpp - scratch buffers that need no memory of their own.
//
// Idea     A buffer that is copied to the output at the end can be placed there from the beginning.
//          An unchanged copy of the input can be replaced by the input. The copy step then has
//          equal source and target.
// Holds    Applies only if the caller's input and output differ, which each call tests. So programs
//          are correct without it.
#pragma once

#include "run/bind/bound_program.hpp"

namespace weft::run {

/// Sets scratch_in_output and scratch_in_input.
void place_scratch(BoundProgram& bound);

}  // namespace weft::run
