// SPDX-License-Identifier: BSD-3-Clause
// profile.hpp - what libfabric does not say about a provider: questions and default answers.
//
// Idea     Most of what matters is granted attributes, read at run time. A profile holds the rest:
//          facts from a provider's sources or manual, or measured. Each field is one question and
//          its default is the careful answer, so an unknown provider works with the default profile.
// Holds    Pure data: readable without loading libfabric.
// Next     providers/README.md for how to add one; grant.hpp for what is read at run time.
#pragma once

#include <span>
#include <string_view>

namespace weft::link {

struct EnvironmentDefault {
    const char* name;
    const char* value;
};

struct Profile {
    /// Which provider is this, as libfabric names it? Empty: any.
    std::string_view provider;
    /// Should ordered writes be asked for? Costs nothing on some fabrics and the fast path on
    /// others.
    bool asks_write_order = false;
    /// Does data land only while the target polls?
    bool target_must_progress = true;
    /// May a put carry its immediate and no byte? If not, it writes a reserved word.
    bool writes_empty = false;
    /// May small puts go without a completion of their own? Only if one that fails because its peer
    /// died does no harm. It saves the sender work; one in a few reports all the same, so that what
    /// is in flight stays bounded.
    bool silent_small_puts = false;
    /// Is it better to copy sources outside the registered memory even where FI_MR_LOCAL does not
    /// force it?
    bool stages_sources = false;
    /// Which of the provider's variables should differ from its defaults? Set before libfabric
    /// starts and never over a value that is already there.
    std::span<const EnvironmentDefault> environment = {};
};

/// The profile of a provider; the default profile if none is written for it. In
/// providers/registry.cpp.
[[nodiscard]] const Profile& profile_of(std::string_view provider);

/// The profiles to try, best first, when no provider is asked for. In providers/registry.cpp.
[[nodiscard]] std::span<const Profile* const> preferred_profiles();

}  // namespace weft::link
