// SPDX-License-Identifier: BSD-3-Clause
// notify.hpp - how a far rank learns that data for it has landed: six strategies, and which to
// use.
//
// Idea     Each way rests on one promise of the fabric beyond "a put lands some day". Whether a
//          provider keeps it is a fact of its profile; whether this endpoint may use it is granted
//          at run time. A strategy is promised where both say yes, and only promised ones are ever
//          taken.
// Why      The receiver has to know, without looking at a put, how it will learn of it. So there is
//          one strategy for all payloads that fit a cell and one for all others, the same on all
//          ranks.
// Holds    Pure: no call into libfabric, so tests judge recorded attributes.
// Next     link/wire for the strategies at work; docs/one-sided.md for why each is right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "base/transfer.hpp"

namespace weft::link {

using base::Notify;
inline constexpr std::array kNotifies{Notify::immediate, Notify::cells,   Notify::delivery,
                                      Notify::fence,     Notify::ordered, Notify::counter};
[[nodiscard]] inline std::string_view name_of(Notify notify) {
    return base::kNotifyNames.at(static_cast<std::size_t>(notify));
}

struct NotifyPlan {
    Notify small = Notify::immediate;  ///< payloads that fit a cell: cells, or the same as large
    Notify large = Notify::immediate;  ///< all others; never cells
    bool operator==(const NotifyPlan&) const = default;
};
/// "immediate", or "cells up to 48 bytes, immediate above".
[[nodiscard]] std::string to_text(NotifyPlan plan);

struct Profile;
struct Grant;

/// Whether a strategy may be taken, and why (not) in words.
struct Verdict {
    bool promised = false;
    std::string why;
};
[[nodiscard]] Verdict judge_notify(Notify notify, const Profile& profile, const Grant& grant);

/// What the profile prefers among what is promised, or what is forced; a forced one that is not
/// promised is refused, and so is a provider that promises nothing.
[[nodiscard]] base::Result<NotifyPlan> choose_notify(const Profile& profile, const Grant& grant,
                                                     std::optional<Notify> forced);

/// How one-sided calls learn that their writes have landed: as the forced strategy would, else by
/// order, which costs a write nothing, then by immediates, then by delivery.
[[nodiscard]] base::RemoteCompletion choose_completion(const Profile& profile, const Grant& grant,
                                                       std::optional<Notify> forced);

}  // namespace weft::link
