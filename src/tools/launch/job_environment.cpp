// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/job_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/environment.hpp"
#include "base/pmix_needs.hpp"

namespace weft::tools {
namespace {

bool describes_a_job(std::string_view variable) {
    if (variable.starts_with(std::string(base::kNodeIdVariable) + '=')) return true;
    return variable.starts_with("PMIX_") && !variable.starts_with("PMIX_MCA_");
}

}  // namespace

void forget_outer_job() {
    std::vector<std::string> names;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        if (describes_a_job(text)) names.emplace_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : names) ::unsetenv(name.c_str());
}

void provide_home() {
    if (!base::has_home_folder()) ::setenv("HOME", "/", 0);
}

void restrain_hwloc() {
    ::setenv("HWLOC_COMPONENTS", "-gl", 0);
    ::setenv("HWLOC_HIDE_ERRORS", "2", 0);
}

std::vector<std::string> environment_of_job(const std::vector<EnvironmentVariable>& settings) {
    std::vector<std::string> environment;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        environment.emplace_back(*variable);
    }
    for (const EnvironmentVariable& setting : settings) set_variable(environment, setting);
    return environment;
}

void set_variable(std::vector<std::string>& environment, const EnvironmentVariable& variable) {
    const std::string start = variable.name + '=';
    const auto known =
        std::find_if(environment.begin(), environment.end(),
                     [&](const std::string& entry) { return entry.starts_with(start); });
    if (known != environment.end()) {
        *known = start + variable.value;
    } else {
        environment.push_back(start + variable.value);
    }
}

}  // namespace weft::tools
