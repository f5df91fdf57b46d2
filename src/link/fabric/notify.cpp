// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/notify.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/region.hpp"
#include "link/fabric/profile.hpp"
#include "link/fabric/survey.hpp"

namespace weft::link {
namespace {

const Promise& promise_of(Notify notify, const Profile& profile) {
    constexpr Promise Profile::*kPromises[] = {&Profile::immediate, &Profile::cells,
                                               &Profile::delivery,  &Profile::fence,
                                               &Profile::ordered,   &Profile::counter};
    static_assert(std::size(kPromises) == base::kNotifyNames.size());
    return profile.*kPromises[static_cast<std::size_t>(notify)];  // in the order of Notify
}

/// Names the attribute that the endpoint lacks for a strategy; empty: it lacks none.
std::string missing_grant(Notify notify, const Grant& grant) {
    const bool fence = notify == Notify::fence;
    const bool counter = notify == Notify::counter;
    if (notify == Notify::immediate && grant.immediate_bytes < sizeof(std::uint32_t))
        return fmt::format(
            "it grants {} bytes of remote completion data (cq_data_size), 4 are needed",
            grant.immediate_bytes);
    if (fence && !grant.fence) return "it does not grant FI_FENCE";
    if (counter && !grant.counters) return "it does not grant FI_RMA_EVENT";
    if ((fence || counter || notify == Notify::delivery) && !grant.delivery)
        return "it does not grant FI_DELIVERY_COMPLETE";
    if (counter && (grant.provider_keys || grant.key_bytes < sizeof(std::uint64_t)))
        return "weft must choose a key of 8 bytes for each peer";
    return {};
}

/// Returns strategies for large payloads, best first. Counters are used only if forced.
std::vector<Notify> candidates(const Profile& profile) {
    std::vector<Notify> order(profile.preference.begin(), profile.preference.end());
    for (const Notify rest : {Notify::immediate, Notify::ordered, Notify::fence, Notify::delivery})
        if (std::ranges::find(order, rest) == order.end()) order.push_back(rest);
    std::erase(order, Notify::cells);
    std::erase(order, Notify::counter);
    return order;
}

base::Failure refusal(Notify forced, const Profile& profile, const Grant& grant) {
    std::vector<std::string_view> promised;
    for (const Notify notify : kNotifies)
        if (judge_notify(notify, profile, grant).promised) promised.push_back(name_of(notify));
    if (promised.empty()) promised.push_back("none");
    return base::fail(
        Status::unsupported,
        "WEFT_NOTIFY={}: provider \"{}\" does not promise that, because {}; it promises: {}",
        name_of(forced), profile.provider, judge_notify(forced, profile, grant).why,
        fmt::join(promised, ", "));
}

}  // namespace

std::string to_text(NotifyPlan plan) {
    if (plan.small == plan.large) return std::string(name_of(plan.large));
    return fmt::format("{} up to {} bytes, {} above", name_of(plan.small), base::kCellPayload,
                       name_of(plan.large));
}

NotifyFinding judge_notify(Notify notify, const Profile& profile, const Grant& grant) {
    const Promise& promise = promise_of(notify, profile);
    if (!promise.holds) return {notify, false, std::string(promise.why)};
    // A fence delays the flag until earlier puts are complete, and a counter is reused after the
    // completion of its puts. So completion must imply delivery.
    if ((notify == Notify::fence || notify == Notify::counter) && !profile.delivery.holds)
        return {notify, false, std::string(profile.delivery.why)};
    if (std::string missing = missing_grant(notify, grant); !missing.empty())
        return {notify, false, std::move(missing)};
    return {notify, true, std::string(promise.why)};
}

base::Result<NotifyPlan> choose_notify(const Profile& profile, const Grant& grant,
                                       std::optional<Notify> forced) {
    const auto promised = [&](Notify notify) {
        return judge_notify(notify, profile, grant).promised;
    };
    if (forced && !promised(*forced)) return refusal(*forced, profile, grant);
    if (forced && *forced != Notify::cells) return NotifyPlan{*forced, *forced};
    const std::vector<Notify> order = candidates(profile);
    const auto best = std::ranges::find_if(order, promised);
    if (best == order.end())
        return base::fail(
            Status::unsupported,
            "provider \"{}\" promises no notify strategy, so ranks cannot detect data from other "
            "nodes: not immediate, because {}; not delivery, because {}",
            profile.provider, judge_notify(Notify::immediate, profile, grant).why,
            judge_notify(Notify::delivery, profile, grant).why);
    const bool cells = forced.has_value() || (profile.prefers_cells && promised(Notify::cells));
    return NotifyPlan{cells ? Notify::cells : *best, *best};
}

base::RemoteCompletion choose_completion(const Profile& profile, const Grant& grant,
                                         std::optional<Notify> forced) {
    using base::RemoteCompletion;
    if (forced == Notify::ordered) return RemoteCompletion::ordered;
    if (forced == Notify::immediate) return RemoteCompletion::counted;
    if (forced == Notify::delivery || forced == Notify::fence || forced == Notify::counter)
        return RemoteCompletion::delivered;
    if (judge_notify(Notify::ordered, profile, grant).promised) return RemoteCompletion::ordered;
    if (judge_notify(Notify::immediate, profile, grant).promised) return RemoteCompletion::counted;
    return RemoteCompletion::delivered;
}

void explain_notify(FabricSurvey& survey, const Profile& profile, std::optional<Notify> forced) {
    for (const Notify strategy : kNotifies)
        survey.strategies.push_back(judge_notify(strategy, profile, survey.grant));
    const auto plan = choose_notify(profile, survey.grant, forced);
    if (!plan) {
        survey.problem = plan.failure().text;
        return;
    }
    survey.notify = *plan;
    const auto explain = [&](Notify strategy) {
        const std::string_view asked = forced == strategy ? "WEFT_NOTIFY asks for it, and " : "";
        return fmt::format("{}{}", asked, judge_notify(strategy, profile, survey.grant).why);
    };
    survey.small_reason = explain(plan->small);
    survey.large_reason = explain(plan->large);
    survey.completion = choose_completion(profile, survey.grant, forced);
    // The strategies with the guarantees of RemoteCompletion, in the order of its values.
    constexpr Notify kStrategies[] = {Notify::ordered, Notify::immediate, Notify::delivery};
    survey.completion_reason = explain(kStrategies[static_cast<std::size_t>(survey.completion)]);
}

FabricSurvey survey_declared(const Profile& profile, std::optional<Notify> forced) {
    FabricSurvey survey;
    survey.version = profile.declared_by;
    survey.provider = profile.provider;
    survey.reason = "named by the user; libfabric on this machine was not queried";
    survey.grant = profile.declared;
    explain_notify(survey, profile, forced);
    return survey;
}

}  // namespace weft::link
