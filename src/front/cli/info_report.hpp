// SPDX-License-Identifier: BSD-3-Clause
// info_report.hpp - what `weft info` knows, as one JSON object and as a text for people.
//
// Idea     The object is made first and the text is written from it, so both say the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/environment.hpp"
#include "run/runtime/describe.hpp"
#include "topology/model.hpp"

namespace weft::front {

struct InfoFacts {
    run::Description job;
    topology::Machine machine;
    base::Settings settings;
    run::SegmentLayout layout;
};

[[nodiscard]] nlohmann::ordered_json info_json(const InfoFacts& facts);
[[nodiscard]] std::string info_text(const nlohmann::ordered_json& info);

/// The table of settings, with what is in force.
[[nodiscard]] nlohmann::ordered_json environment_json(const base::Settings& settings);
[[nodiscard]] std::string environment_text(const nlohmann::ordered_json& settings);

}  // namespace weft::front
