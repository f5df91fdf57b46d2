// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/declared.hpp"

#include <algorithm>

namespace weft::link {
namespace {

const NotifyFinding& finding_of(const FabricSurvey& survey, Notify way) {
    return *std::ranges::find(survey.ways, way, &NotifyFinding::way);
}

}  // namespace

void explain_notify(FabricSurvey& survey, const Profile& profile, std::optional<Notify> forced) {
    for (const Notify way : kNotifies) {
        Verdict verdict = judge_notify(way, profile, survey.grant);
        survey.ways.push_back({way, verdict.promised, std::move(verdict.why)});
    }
    const auto plan = choose_notify(profile, survey.grant, forced);
    if (!plan) {
        survey.problem = plan.failure().text;
        return;
    }
    survey.notify = *plan;
    const auto explain = [&](Notify way) {
        const std::string_view asked = forced == way ? "WEFT_NOTIFY asks for it, and " : "";
        return fmt::format("{}{}", asked, finding_of(survey, way).why);
    };
    survey.small_reason = explain(plan->small);
    survey.large_reason = explain(plan->large);
    survey.completion = choose_completion(profile, survey.grant, forced);
    switch (survey.completion) {
        case base::RemoteCompletion::ordered:
            survey.completion_reason = explain(Notify::ordered);
            break;
        case base::RemoteCompletion::counted:
            survey.completion_reason = explain(Notify::immediate);
            break;
        case base::RemoteCompletion::delivered:
            survey.completion_reason = explain(Notify::delivery);
            break;
    }
}

FabricSurvey survey_declared(const Profile& profile, std::optional<Notify> forced) {
    FabricSurvey survey;
    survey.version = profile.declared_by;
    survey.provider = profile.provider;
    survey.reason = "it is asked about; whether it is here was not looked at";
    survey.grant = profile.declared;
    explain_notify(survey, profile, forced);
    return survey;
}

}  // namespace weft::link
