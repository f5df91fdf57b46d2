// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/survey.hpp"

#include <rdma/fabric.h>

#include <algorithm>

#include "link/fabric/discover.hpp"

namespace weft::link {
namespace {

/// Returns the provider's finding, which is added if it does not exist.
ProviderFinding& finding_of(std::vector<ProviderFinding>& findings, std::string_view provider) {
    const auto known = std::ranges::find(findings, provider, &ProviderFinding::provider);
    if (known != findings.end()) return *known;
    findings.push_back({.provider = std::string(provider)});
    return findings.back();
}

/// Returns the reason why a provider was not chosen. `before_chosen`: it precedes the chosen
/// provider in the order of preference.
std::string why_not(const FabricOptions& options, const ProviderFinding& finding,
                    bool before_chosen) {
    const Profile& profile = profile_of(finding.provider);
    if (!finding.offered)
        return fmt::format("libfabric does not offer it on this machine; it needs {}",
                           profile.needs);
    if (profile.provider == finding.provider) {
        if (std::string against = objection(options, profile); !against.empty()) return against;
    }
    if (!options.provider.empty())
        return fmt::format("WEFT_PROVIDER asks for \"{}\"", options.provider);
    if (profile.provider.empty())
        return "usable if named: it has no profile, so it is not chosen otherwise";
    return before_chosen ? "libfabric offers it, but not under the hints of its profile"
                         : "usable; it comes after the chosen one in the order of preference";
}

std::vector<ProviderFinding> find_providers(const FabricOptions& options, const std::string& chosen,
                                            const std::string& reason) {
    std::vector<ProviderFinding> findings;
    for (const Profile* profile : preferred_profiles()) finding_of(findings, profile->provider);
    for (const Offered& offered : offered_providers()) {
        ProviderFinding& finding = finding_of(findings, offered.provider);
        finding.offered = true;
        // offered_providers() uses wide hints. Its objection may not apply to a job's hints.
        if (!is_usable_by_name(options, offered.provider)) finding.why = offered.refusal;
    }
    bool before_chosen = !chosen.empty();
    for (ProviderFinding& finding : findings) {
        finding.chosen = finding.provider == chosen;
        if (finding.chosen) {
            before_chosen = false;
            finding.offered = true;
            finding.why = reason;
        } else if (finding.why.empty()) {
            finding.why = why_not(options, finding, before_chosen);
        }
    }
    return findings;
}

std::string reason_of_choice(const FabricOptions& options, const Found& found) {
    const std::string_view provider = found.info->fabric_attr->prov_name;
    if (options.provider == provider) return "WEFT_PROVIDER asks for it";
    if (!options.provider.empty())
        return fmt::format("libfabric answers with it where WEFT_PROVIDER asks for \"{}\"",
                           options.provider);
    if (found.profile.provider.empty()) return "no provider with a profile is usable here";
    return "the first in the order of preference that is usable here";
}

}  // namespace

FabricSurvey survey_fabric(const FabricOptions& options) {
    FabricSurvey survey;
    survey.version = libfabric_version();
    const auto found = discover(options);
    if (found) {
        survey.provider = found->info->fabric_attr->prov_name;
        survey.domain = found->info->domain_attr->name;
        survey.grant = found->grant;
        survey.reason = reason_of_choice(options, *found);
        Profile named = found->profile;  // its provider may be empty: any
        named.provider = survey.provider;
        explain_notify(survey, named, options.notify);
    } else {
        survey.reason = found.failure().text;
    }
    survey.providers = find_providers(options, survey.provider, survey.reason);
    return survey;
}

}  // namespace weft::link
