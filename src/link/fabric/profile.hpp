// SPDX-License-Identifier: BSD-3-Clause
// profile.hpp - what libfabric does not say about a provider: questions and default answers.
//
// Idea     Most of what matters is granted attributes, read at run time. A profile holds the rest:
//          facts from a provider's sources or manual, or measured. Each field is one question and
//          its default is the careful answer, so an unknown provider works with the default
//          profile.
// Holds    Pure data: readable without loading libfabric.
// Next     providers/README.md for how to add one; grant.hpp for what is read at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/environment.hpp"
#include "link/fabric/granted.hpp"

namespace weft::link {

struct EnvironmentDefault {
    const char* name;
    const char* value;
};

/// Does a notify strategy work on this provider, and how do we know? The reason is printed where
/// the strategy is refused, so it continues a sentence after "because".
struct Promise {
    bool holds = false;
    std::string_view why;
};

/// What is known to be wrong in some releases of libfabric.
struct KnownBug {
    std::string_view versions;
    std::string_view what;  ///< with the place where it is told
};

/// What a put costs, for predictions: the choice of algorithms follows it until a job is measured
/// itself. The default is a network of its own, as published for one (no measurement of ours).
struct ProfiledCost {
    std::int64_t latency_ns = 1340;
    std::int64_t issue_ns = 340;     ///< of the sender, for each put
    std::int64_t receive_ns = 100;   ///< of the receiver, for each put
    std::int64_t byte_fs = 100'000;  ///< femtoseconds for each byte
    /// For each byte of the receiver's processor, if the provider copies.
    std::int64_t receive_byte_fs = 0;
    std::int64_t turn_ns = 1000;  ///< of a rank that polls, where ranks share a processor
    std::string_view source = "as published for a network of its kind, not measured";
};

/// An endpoint that is a file in shared memory. Empty: it is none.
struct EndpointFile {
    std::string_view prefix = {};  ///< of the endpoint's name, before that of the file
    std::size_t bytes = 0;         ///< of the file, at most
};

struct Profile {
    /// Which provider is this, as libfabric names it? Empty: any.
    std::string_view provider;
    /// What a machine needs for libfabric to offer it.
    std::string_view needs = "libfabric with that provider, and its hardware";

    // --- Notify strategies. A promise counts only together with what is granted (grant.hpp):
    // --- immediates need four bytes, a fence its capability, delivery its operation flag.

    /// If the target sees the upper half of an aligned 8-byte word, does it see the lower half,
    /// too? Words that are stored whole do, and streams whose bytes are stored in ascending order.
    Promise cells{false, "it is not known whether its writes store aligned 8-byte words whole"};
    /// Remote completion data?
    Promise immediate{true,
                      "libfabric reports remote completion data after the data of its own transfer "
                      "(fi_cq(3))"};
    /// Does a write with FI_DELIVERY_COMPLETE complete only when its data is in the target's
    /// memory?
    Promise delivery{false,
                     "it is not known whether its completions wait for the delivery of writes: "
                     "providers exist that accept FI_DELIVERY_COMPLETE and do not"};
    /// Does a write with FI_FENCE start only when earlier ones to that peer are in memory there?
    Promise fence{false, "it is not known whether a fence of its holds back writes"};
    /// Do writes to different places become visible in the order in which they were posted? A
    /// granted write order does not say so: it is a promise for each location alone
    /// (fi_endpoint(3)).
    Promise ordered{false, "a granted write order is a promise for each location alone"};
    /// Do counters of remote writes (FI_RMA_EVENT) count a write only when its data is in memory?
    Promise counter{false,
                    "it is not known whether it counts remote writes, and when: its counters are "
                    "not used"};
    /// Do triggered operations run while their rank does not call?
    Promise offload{false, "no triggered operations of it are known that run without its rank"};
    /// Which of these are better for payloads that do not fit a cell, best first? What is promised
    /// and not in here comes after, immediates first.
    std::span<const base::Notify> preference = {};
    /// Are cells better than an immediate for small payloads?
    bool prefers_cells = false;

    // --- One-sided calls

    /// Is an aligned word of up to 8 bytes that is put by itself never seen in part? If not, words
    /// go in requests, and the target stores them.
    bool whole_words = false;
    /// Do remote reads work? If not, the target puts what is asked for.
    bool reads = true;

    // --- Registration keys

    /// Do small keys have a fast path, on a network that keeps strangers out by itself? Elsewhere
    /// the key is what a stranger has to guess.
    bool small_keys = false;

    // --- What to ask for

    /// Should ordered writes be asked for? Free on some fabrics; on others the fast path is lost.
    bool asks_write_order = false;
    /// Should the capability to fence be asked for? It, too, may lose the fast path.
    bool asks_fence = false;

    // --- How it behaves

    /// Does data land only while the target polls?
    bool target_must_progress = true;
    /// May a put carry its immediate and no byte? If not, it writes a reserved word.
    bool writes_empty = false;
    /// May one write go to two places, if as many are granted? Then a put whose payload fits no
    /// cell takes its flag along.
    bool writes_two_places = false;
    /// Up to how many bytes should a put with a flag have its sources copied, so that its call need
    /// not look for a completion? Where a look is a system call it takes longer than a short copy.
    std::size_t copied_bytes = 0;
    /// After how many bytes of a put should its rank look at what has come, before it sends more?
    /// Where both ends share caches, what is on its way should stay in these. 0: it goes at once.
    std::size_t paced_bytes = 0;
    /// May small puts go without a completion of their own? Only if one that fails because its peer
    /// died does no harm. It saves the sender work; one in a few reports all the same, so that what
    /// is in flight stays bounded.
    bool unsignaled_small_puts = false;
    /// Does it reach ranks of the same host only?
    bool one_host = false;
    /// How many ranks can it address? 0: no known limit.
    std::size_t ranks_max = 0;
    /// Is its endpoint a file in shared memory? Then we name, reserve and remove it.
    EndpointFile endpoint_file = {};

    /// What does it grant, and of which libfabric is that known? For people who ask before they
    /// have the network (weft info --provider): a job goes by what it is granted. Empty: not
    /// written down.
    Grant declared = {};
    std::string_view declared_by = {};
    /// What is known to be wrong in it, and what follows for a job?
    std::span<const KnownBug> bugs = {};

    /// How long does a put take? By half a round trip of 8 bytes, the rate of puts and their
    /// bandwidth.
    ProfiledCost cost = {};

    // --- Sources outside the segment

    /// Is it better to copy them even where FI_MR_LOCAL does not force it?
    bool stages_sources = false;
    /// Where they must be registered: is that free (a table entry, nothing is pinned)? If not,
    /// small ones are copied.
    bool free_registration = false;

    /// Which of the provider's variables should differ from its defaults? Set before libfabric
    /// starts and never over a value that is already there.
    std::span<const EnvironmentDefault> environment = {};
};

/// The profile of a provider; the default profile if none is written for it. In
/// providers/registry.cpp.
[[nodiscard]] const Profile& profile_of(std::string_view provider);

/// The profiles to try, best first, when no provider is asked for. In providers/registry.cpp.
[[nodiscard]] std::span<const Profile* const> preferred_profiles();

/// The profile of what runs wherever there is a network at all, for predictions without a job. In
/// providers/registry.cpp.
[[nodiscard]] const Profile& usual_profile();

}  // namespace weft::link
