// SPDX-License-Identifier: BSD-3-Clause
// info_report.hpp - the report of `weft info`, as a JSON object and as a text for people.
//
// Idea     The text is written from the object, so both have the same contents.
#pragma once

#include <string>

#include "base/environment.hpp"
#include "run/job/describe.hpp"
#include "tools/cli/command.hpp"
#include "topology/model.hpp"

namespace weft::tools {

struct InfoFacts {
    run::Description job;
    topology::Machine machine;
    base::Settings settings;
    run::SegmentLayout layout;
};

[[nodiscard]] Json info_json(const InfoFacts& facts);
[[nodiscard]] std::string info_text(const Json& info);

/// Describes a provider, which need not be installed.
[[nodiscard]] Json provider_json(const run::ProviderDescription& provider);
[[nodiscard]] std::string provider_text(const Json& provider);

/// Returns the table of settings with their present values.
[[nodiscard]] Json environment_json(const base::Settings& settings);
[[nodiscard]] std::string environment_text(const Json& settings);

}  // namespace weft::tools
