// SPDX-License-Identifier: BSD-3-Clause
// command.hpp - declarations of lab/program for commands of `weft`: options and JSON.
#pragma once

#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"

namespace weft::front {

using lab::add_command;
using lab::add_example;
using lab::add_flag;
using lab::add_option;
using lab::first_word_of_program;
using lab::help_text;
using lab::Json;
using lab::json_text;
using lab::keep_unknown_words;
using lab::on_run;
using lab::Option;
using lab::print_json;
using lab::reason_of;
using lab::set_footer;
using lab::unknown_option;
using lab::unknown_words;

}  // namespace weft::front
