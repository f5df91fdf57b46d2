// SPDX-License-Identifier: BSD-3-Clause
// notify.hpp - six strategies by which a rank detects data from another node, and their choice.
//
// Idea     Each strategy relies on one guarantee of the fabric beyond eventual delivery. The
//          profile tells whether a provider gives it. The attributes granted at run time tell
//          whether this endpoint may use it. A strategy is promised if both agree, and only
//          promised ones are used.
// Why      The receiver must know in advance how it will detect a put. So all payloads that fit a
//          cell use one strategy, and all others use one, equal on all ranks.
// Holds    Pure: no call into libfabric, so tests judge recorded attributes.
// Next     link/wire for the implementation; docs/one-sided.md for the proofs.
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

/// Tells whether a strategy may be used, and the reason.
struct Verdict {
    bool promised = false;
    std::string why;
};
[[nodiscard]] Verdict judge_notify(Notify notify, const Profile& profile, const Grant& grant);

/// Returns the forced strategy, or the best promised one in the order of the profile. Fails if the
/// forced strategy, or every strategy, is not promised.
[[nodiscard]] base::Result<NotifyPlan> choose_notify(const Profile& profile, const Grant& grant,
                                                     std::optional<Notify> forced);

/// Returns how one-sided calls detect the delivery of their writes: as the forced strategy does,
/// else by order, which costs nothing per write, then by immediates, then by delivery.
[[nodiscard]] base::RemoteCompletion choose_completion(const Profile& profile, const Grant& grant,
                                                       std::optional<Notify> forced);

}  // namespace weft::link
