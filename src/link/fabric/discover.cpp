// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/discover.hpp"

#include <fmt/ranges.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/suggestion.hpp"
#include "link/fabric/host_addresses.hpp"
#include "link/fabric/survey.hpp"

namespace weft::link {
namespace {

constexpr std::uint32_t kInterface = FI_VERSION(1, 17);  ///< version of libfabric's interface

/// Adds a text to a list unless the list contains it.
void add_once(std::vector<std::string>& list, std::string text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

Info make_hints(std::string_view provider, const Modes& accepted) {
    Info hints(fi_allocinfo());
    if (hints == nullptr) return hints;
    hints->caps = FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    // Manual: the provider needs no helper threads, because this thread polls anyway.
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->mode = accepted.modes;
    hints->domain_attr->mr_mode = accepted.mr_modes;
    if (!provider.empty())
        hints->fabric_attr->prov_name = ::strndup(provider.data(), provider.size());
    return hints;
}

/// Returns libfabric's offers, or nullptr, bound to the local address `source` unless it is empty.
Info offers_for(const Info& hints, const std::string& source = {}) {
    fi_info* list = nullptr;
    const char* node = source.empty() ? nullptr : source.c_str();
    const char* service = source.empty() ? nullptr : "0";
    const std::uint64_t flags = source.empty() ? 0 : FI_SOURCE;
    if (hints == nullptr || fi_getinfo(kInterface, node, service, flags, hints.get(), &list) != 0)
        return nullptr;
    return Info(list);
}

/// Returns the first acceptable offer. If `names` is not empty, only NICs with these names are
/// acceptable. Adds the objections to other offers to `refusals`.
AcceptedOffer first_accepted(const fi_info* list, std::vector<std::string>& refusals,
                             std::span<const std::string> names = {}) {
    for (; list != nullptr; list = list->next) {
        if (!is_among(names, *list)) continue;
        auto grant = accept_offer(*list);
        if (grant) return {list, *grant};
        add_once(refusals, grant.failure().text);
    }
    return {};
}

/// Returns the reason why a provider has no offer for the usual hints. Empty name: any provider.
base::Failure explain_absence(std::string_view provider) {
    const std::string version = libfabric_version();
    std::vector<std::string> refusals;
    first_accepted(offers_for(make_hints(provider, all_modes())).get(), refusals);
    if (!refusals.empty())
        return base::fail(Status::environment, "libfabric {}: {}", version,
                          fmt::join(refusals, "; "));
    std::vector<std::string> names;
    const Info offers = offers_for(make_hints({}, handled_modes()));
    for (const fi_info* offer = offers.get(); offer != nullptr; offer = offer->next)
        if (accept_offer(*offer)) add_once(names, offer->fabric_attr->prov_name);
    const std::string others =
        names.empty() ? "no provider at all that weft can use (reliable datagram endpoints with "
                        "remote writes)"
                      : fmt::format("\"{}\"", fmt::join(names, "\", \""));
    if (provider.empty())
        return base::fail(Status::environment, "libfabric {} offers {}", version, others);
    return base::fail(
        Status::environment,
        "libfabric {} offers no provider \"{}\" with remote writes on this machine; it "
        "offers {}: set WEFT_PROVIDER to one of these or leave it unset{}",
        version, provider, others, base::did_you_mean(provider, names));
}

/// Returns true if operations of the offer may use FI_DELIVERY_COMPLETE. libfabric reports the flag
/// only if the hints request it. An endpoint of this answer would use it for every operation.
bool accepts_delivery(const fi_info& offer) {
    const Info hints(fi_dupinfo(&offer));
    if (hints == nullptr) return false;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    const Info list = offers_for(hints);
    for (const fi_info* answer = list.get(); answer != nullptr; answer = answer->next)
        if (std::strcmp(answer->domain_attr->name, offer.domain_attr->name) == 0 &&
            (answer->tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0)
            return true;
    return false;
}

/// Returns the address that the user named; else a loopback address if all ranks are on this host;
/// else options.source; else the best address of this host.
SourceAddress source_address(const FabricOptions& options) {
    if (!options.address.empty()) return {options.address, true};
    if (options.one_host) return {"127.0.0.1", false};
    if (!options.source.empty()) return {options.source, false};
    const auto addresses = host_addresses();
    return {addresses.empty() ? std::string{} : to_text(addresses.front()), false};
}

/// Binds an accepted offer to a local address, by a query with the address as source. Without a
/// device of this address, returns the original offer, or fails if the user set the address.
base::Result<Found> bind_source(const Info& hints, const AcceptedOffer& choice,
                                const Profile& profile, const FabricOptions& options,
                                std::span<const std::string> names) {
    if (choice.grant.internet_address) {
        const SourceAddress source = source_address(options);
        std::vector<std::string> refusals;
        if (!source.text.empty()) {
            const Info bound = offers_for(hints, source.text);
            const AcceptedOffer better = first_accepted(bound.get(), refusals, names);
            if (better.offer != nullptr)
                return Found{Info(fi_dupinfo(better.offer)), better.grant, profile, source};
        }
        if (source.forced)
            return base::fail(
                Status::environment,
                "WEFT_FABRIC_ADDRESS is \"{}\", and provider \"{}\" has no device with this "
                "address; an address or host name of this host is expected",
                source.text, choice.offer->fabric_attr->prov_name);
    }
    return Found{Info(fi_dupinfo(choice.offer)), choice.grant, profile, {}};
}

/// Sets the profile's variables. libfabric reads many of them once per process, at its first call.
void set_variables(const Profile& profile, const FabricOptions& options,
                   ScopedEnvironment& environment) {
    for (const Setting& setting : profile.settings) {
        const std::string value = setting.value_in(facts_of(options));
        if (!value.empty()) environment.set(setting.name, value.c_str());
    }
}

/// Returns true if the best offer requires a posted receive for each immediate but has no receives,
/// so that the hints must request them (FI_MSG).
bool lacks_receives(const fi_info* offer) {
    return offer != nullptr && (offer->mode & FI_RX_CQ_DATA) != 0 && (offer->caps & FI_MSG) == 0;
}

/// Returns the reason why a provider cannot reach all ranks of the job, or an empty text.
std::string size_problem(const FabricOptions& options, const Profile& profile) {
    if (profile.one_host && !options.one_host)
        return fmt::format(
            "provider \"{}\" reaches ranks of the same host only, and this job has several hosts",
            profile.provider);
    if (profile.ranks_max != 0 && static_cast<std::size_t>(options.size) > profile.ranks_max)
        return fmt::format("provider \"{}\" reaches at most {} ranks, and this job has {}",
                           profile.provider, profile.ranks_max, options.size);
    return {};
}

/// Returns the best offer for a profile's hints. Without any offer, the failure has no text.
base::Result<Found> find(const FabricOptions& options, const Profile& profile) {
    const Info hints = make_hints(profile.provider, handled_modes());
    if (hints == nullptr) return base::fail(Status::memory, "libfabric fi_allocinfo: no memory");
    if (profile.asks_write_order) hints->tx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_RMA_WAW;
    const bool asks_fence = profile.asks_fence || options.notify == Notify::fence;
    if (asks_fence) hints->caps |= FI_FENCE;
    // Only if the user requests counters, because counting may disable the fast path of writes.
    if (options.notify == Notify::counter) hints->caps |= FI_RMA_EVENT;
    Info list = offers_for(hints);
    if (list == nullptr && hints->caps != FI_RMA) {
        hints->caps = FI_RMA;  // later, choose_notify() rejects a strategy without its capability
        list = offers_for(hints);
    }
    if (lacks_receives(list.get())) {
        hints->caps |= FI_MSG;
        list = offers_for(hints);
    }
    const std::vector<std::string> names = names_in(options.nics);
    std::vector<std::string> refusals;
    if (first_accepted(list.get(), refusals).offer == nullptr)
        return base::fail(Status::environment, "{}", fmt::join(refusals, "; "));
    WEFT_TRY(check_nics(list.get(), names, profile.provider));
    const AcceptedOffer choice = first_accepted(list.get(), refusals, names);
    Found found = WEFT_TRY(bind_source(hints, choice, profile, options, names));
    if (found.info != nullptr) choose_nic(found, list.get(), options, names);
    if (found.info == nullptr) return base::fail(Status::memory, "libfabric fi_dupinfo: no memory");
    if (accepts_delivery(*found.info)) found.grant.delivery = true;
    return found;
}

/// Returns the provider's profile with its name, which the default profile lacks.
Profile named_profile(std::string_view provider) {
    Profile profile = profile_of(provider);
    profile.provider = provider;
    return profile;
}

/// Returns the offer of the first available profile, in order of preference.
std::optional<Found> find_preferred(const FabricOptions& options) {
    ScopedEnvironment environment;
    for (const Profile* profile : preferred_profiles())
        set_variables(*profile, options, environment);
    for (const Profile* profile : preferred_profiles()) {
        if (!size_problem(options, *profile).empty()) continue;
        auto found = find(options, *profile);
        // libfabric may answer with another provider, for which this profile is wrong.
        if (found && found->info->fabric_attr->prov_name == profile->provider) {
            found->environment = std::move(environment);
            return std::move(found).value();
        }
    }
    return std::nullopt;
}

}  // namespace

base::Result<Found> discover(const FabricOptions& options, const Profile& profile) {
    if (const std::string why = size_problem(options, profile); !why.empty())
        return base::fail(Status::environment, "{}", why);
    ScopedEnvironment environment;
    set_variables(profile, options, environment);
    auto found = find(options, profile);
    if (!found && found.failure().text.empty()) return explain_absence(profile.provider);
    if (found) found->environment = std::move(environment);
    return found;
}

base::Result<Found> discover(const FabricOptions& options) {
    if (options.provider.empty()) {
        if (auto found = find_preferred(options)) return *std::move(found);
    }
    auto found = discover(options, named_profile(options.provider));
    if (!found) return found;
    // libfabric may offer a provider of another name, such as a layer over the named provider. If
    // the offered provider has a profile, that profile must be used.
    const std::string_view granted = found->info->fabric_attr->prov_name;
    const Profile& exact = profile_of(granted);
    if (exact.provider != granted || granted == options.provider) return found;
    return discover(options, exact);
}

// --- survey ---

namespace {

/// Returns the reason why a job cannot use the provider of `profile`, or an empty text.
std::string objection(const FabricOptions& options, const Profile& profile) {
    if (std::string why = size_problem(options, profile); !why.empty()) return why;
    const auto found = find(options, profile);
    if (!found) return found.failure().text;
    const std::string_view answer = found->info->fabric_attr->prov_name;
    if (answer == profile.provider) return {};
    return fmt::format("libfabric offers \"{}\" instead", answer);
}

/// Returns the provider's finding, which is added if it does not exist.
ProviderFinding& finding_of(std::vector<ProviderFinding>& findings, std::string_view provider) {
    const auto known = std::ranges::find(findings, provider, &ProviderFinding::provider);
    if (known != findings.end()) return *known;
    findings.push_back({.provider = std::string(provider)});
    return findings.back();
}

/// Adds the providers with reliable datagram endpoints and remote writes on this machine. `why` is
/// then the objection to the first offer; empty if an offer is acceptable.
void add_offered(std::vector<ProviderFinding>& findings) {
    const Info list = offers_for(make_hints({}, all_modes()));
    std::vector<std::string> usable;
    for (const fi_info* offer = list.get(); offer != nullptr; offer = offer->next) {
        ProviderFinding& finding = finding_of(findings, offer->fabric_attr->prov_name);
        const auto grant = accept_offer(*offer);
        if (grant) add_once(usable, finding.provider);
        if (!grant && !finding.offered) finding.why = grant.failure().text;
        finding.offered = true;
    }
    for (ProviderFinding& finding : findings)
        if (std::ranges::find(usable, finding.provider) != usable.end()) finding.why.clear();
}

/// Returns the reason why a provider was not chosen. `before_chosen`: it is preferred to that one.
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
    add_offered(findings);
    FabricOptions any_nic = options;
    any_nic.nics.clear();
    // add_offered() queries with all modes, so its objection may not apply to a job.
    for (ProviderFinding& finding : findings)
        if (!finding.why.empty() && objection(any_nic, named_profile(finding.provider)).empty())
            finding.why.clear();
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
        survey.nics = found->nics;
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
