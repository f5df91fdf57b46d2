// SPDX-License-Identifier: BSD-3-Clause
// command.hpp - declarations of tools/lab/program for commands of `weft`: options and JSON.
#pragma once

#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::tools {

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

}  // namespace weft::tools
