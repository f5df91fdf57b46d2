// SPDX-License-Identifier: BSD-3-Clause
// info_report.hpp - what `weft info` knows, as one JSON object and as a text for people.
//
// Idea     The object is made first and the text is written from it, so both say the same.
#pragma once

#include <string>

#include "base/environment.hpp"
#include "front/cli/command.hpp"
#include "run/runtime/describe.hpp"
#include "topology/model.hpp"

namespace weft::front {

struct InfoFacts {
    run::Description job;
    topology::Machine machine;
    base::Settings settings;
    run::SegmentLayout layout;
};

[[nodiscard]] Json info_json(const InfoFacts& facts);
[[nodiscard]] std::string info_text(const Json& info);

/// Of a provider that need not be here.
[[nodiscard]] Json provider_json(const run::ProviderDescription& provider);
[[nodiscard]] std::string provider_text(const Json& provider);

/// The table of settings, with what is in force.
[[nodiscard]] Json environment_json(const base::Settings& settings);
[[nodiscard]] std::string environment_text(const Json& settings);

}  // namespace weft::front
