// SPDX-License-Identifier: BSD-3-Clause
// notify.hpp - the six strategies to detect data from another node, and the choice among them.
//
// Idea     Each strategy relies on one guarantee of the network beyond eventual delivery. The
//          profile states whether the provider has this guarantee. The attributes granted at run
//          time state whether this endpoint may use it. A strategy is *promised* if both do. Only
//          promised strategies are used.
// Why      The receiver must know before a put how it will detect the put. So all ranks use one
//          strategy for payloads that fit a cell, and one for all larger payloads.
// Holds    Does not call libfabric, so tests can use recorded attributes.
// Next     base/environment.hpp for the strategies; link/wire for the code; docs/one-sided.md.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/put.hpp"
#include "base/result.hpp"

namespace weft::link {

using base::Notify;
inline constexpr std::array kNotifies{Notify::immediate, Notify::cells,   Notify::delivery,
                                      Notify::fence,     Notify::ordered, Notify::counter};
[[nodiscard]] inline std::string_view name_of(Notify notify) {
    return base::kNotifyNames.at(static_cast<std::size_t>(notify));
}

struct NotifyPlan {
    Notify small = Notify::immediate;  ///< payloads that fit a cell: cells, or equal to `large`
    Notify large = Notify::immediate;  ///< all other payloads; never cells
    bool operator==(const NotifyPlan&) const = default;
};
/// Returns "immediate", or "cells up to 48 bytes, immediate above".
[[nodiscard]] std::string to_text(NotifyPlan plan);

struct Profile;
struct Grant;

/// Decision whether a strategy may be used, with the reason.
struct NotifyFinding {
    Notify strategy = Notify::immediate;
    bool promised = false;
    std::string why;  ///< clause after "because"
};
[[nodiscard]] NotifyFinding judge_notify(Notify notify, const Profile& profile, const Grant& grant);

/// Returns the forced strategy, or the first promised strategy in the profile's order. Fails if the
/// forced strategy, or every strategy, is not promised.
base::Result<NotifyPlan> choose_notify(const Profile& profile, const Grant& grant,
                                       std::optional<Notify> forced);

/// Returns the method by which one-sided calls detect the delivery of their writes. It uses the
/// guarantee of a forced strategy other than cells. Otherwise it uses the first promised guarantee
/// in this order: write order (no cost for a write), immediates, delivery.
[[nodiscard]] base::RemoteCompletion choose_completion(const Profile& profile, const Grant& grant,
                                                       std::optional<Notify> forced);

}  // namespace weft::link
