// SPDX-License-Identifier: BSD-3-Clause
// profile.hpp - properties of a provider that libfabric does not report, and their defaults.
//
// Idea     Most relevant properties are attributes that libfabric grants at run time. A profile has
//          the rest: facts from a provider's sources, its manual, or measurements. Each default is
//          the safe value, so a provider without a profile works with the default profile.
// Holds    Plain data: can be read without libfabric.
// Next     providers/README.md for adding a provider; grant.cpp for attributes read at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "weft/types.hpp"

namespace weft::link {

/// Attributes of an accepted offer of libfabric (grant.cpp) that weft uses, as plain values.
struct Grant {
    bool virtual_addresses = false;      ///< FI_MR_VIRT_ADDR: peers use addresses, not offsets
    bool provider_keys = false;          ///< FI_MR_PROV_KEY: the provider chooses the key
    bool local_registration = false;     ///< FI_MR_LOCAL: sources must be registered
    bool endpoint_registration = false;  ///< FI_MR_ENDPOINT: regions are bound to the endpoint
    bool consumes_receives = false;      ///< FI_RX_CQ_DATA: an immediate consumes a posted receive
    bool internet_address = false;       ///< endpoint addresses are internet addresses
    std::size_t key_bytes = 0;           ///< size of a registration key that weft chooses
    std::size_t inject_bytes = 0;        ///< largest write whose source is copied at once
    std::size_t message_bytes_max = 0;   ///< largest write
    std::size_t source_parts_max = 1;    ///< largest number of sources of one write
    std::size_t target_parts_max = 1;    ///< largest number of targets of one write
    std::size_t immediate_bytes = 0;     ///< size of an immediate; less than 4: no immediates
    std::size_t ordered_bytes = 0;  ///< writes up to this size keep their order at one location
    bool fence = false;             ///< FI_FENCE is among the capabilities
    bool counters = false;          ///< FI_RMA_EVENT is among the capabilities
    bool delivery = false;          ///< operations accept FI_DELIVERY_COMPLETE

    bool operator==(const Grant&) const = default;
};

/// Facts of a job that determine the values of settings. Equal on all ranks.
struct JobFacts {
    Rank ranks = 1;
    std::uint64_t number = 0;  ///< random; 0: unknown, outside a job
};

/// Environment variable that libfabric or a provider reads when it starts, and that weft sets.
struct Setting {
    const char* name;
    const char* value;  ///< nullptr: computed
    std::string (*computed)(const JobFacts&) = nullptr;
    std::string_view why;  ///< reason, with its source

    /// Returns the value; empty: not known outside a job, and not to be set.
    [[nodiscard]] std::string value_in(const JobFacts& job) const {
        return computed != nullptr ? computed(job) : value;
    }
};

/// A guarantee that a provider may give, with evidence. Messages print `why` after "because".
struct Promise {
    bool holds = false;
    std::string_view why;
};

struct KnownBug {
    std::string_view versions;
    std::string_view what;  ///< description and source
};

/// Cost of a put, for predictions. The choice of algorithms uses it until measured values exist.
/// The defaults are for Aries (Ruefenacht, Bull, Booth 2017, table 1).
struct ProfiledCost {
    std::int64_t latency_ns = 1340;
    std::int64_t issue_ns = 340;     ///< the sender's time for each put
    std::int64_t receive_ns = 100;   ///< the receiver's time for each put
    std::int64_t byte_fs = 100'000;  ///< femtoseconds for each byte
    /// Femtoseconds of the receiver's processor for each byte, if the provider copies.
    std::int64_t receive_byte_fs = 0;
    std::int64_t turn_ns = 1000;  ///< time to switch a shared processor to the next rank
    std::string_view source = "published for Aries; none for this network";
};

/// An endpoint that is a file in shared memory. Empty: no file.
struct EndpointFile {
    std::string_view prefix = {};  ///< start of the endpoint's name; the file's name follows
    std::size_t bytes = 0;         ///< largest size of the file
};

struct Profile {
    std::string_view provider;  ///< name in libfabric; empty: any provider
    /// Software and hardware that the provider needs, for messages.
    std::string_view needs = "libfabric with that provider, and its hardware";
    std::string_view check = {};  ///< conditions to check first if a job does not start or is slow

    // --- Notify strategies. A promise also needs the granted attributes (grant.cpp): four bytes
    // --- for immediates, the capability for a fence, the operation flag for delivery.

    /// A target that sees the upper half of an aligned 8-byte word also sees the lower half. True
    /// if words are stored whole, or bytes are stored in ascending order.
    Promise cells{false, "it is not known whether its writes store aligned 8-byte words whole"};
    Promise immediate{true,
                      "libfabric reports remote completion data after the data of its own transfer "
                      "(fi_cq(3))"};
    /// A write with FI_DELIVERY_COMPLETE completes only when its data is in the target's memory.
    Promise delivery{false,
                     "it is not known whether its completions wait for the delivery of writes: "
                     "providers exist that accept FI_DELIVERY_COMPLETE and do not"};
    /// A write with FI_FENCE starts only when earlier writes to that peer are in its memory.
    Promise fence{false, "it is not known whether its fence delays writes"};
    /// Writes to different places become visible in the order of posting. A granted write order
    /// does not imply this, because it holds for each location alone (fi_endpoint(3)).
    Promise ordered{false, "a granted write order is a promise for each location alone"};
    /// Counters of remote writes (FI_RMA_EVENT) count a write only when its data is in memory.
    Promise counter{false,
                    "it is not known whether it counts remote writes, and when: its counters are "
                    "not used"};
    /// Preferred strategies for payloads that do not fit a cell, best first. Others follow.
    std::span<const base::Notify> preference = {};
    bool prefers_cells = false;  ///< small payloads use the strategy `cells`, if it is promised

    // --- One-sided calls

    /// A put of an aligned word of up to 8 bytes is never seen in part; else the target stores it.
    bool whole_words = false;
    bool reads = true;  ///< remote reads work; if false, the target puts the requested data

    // --- Registration keys

    /// Small keys have a fast path, and foreign processes cannot use the network of a job. On other
    /// networks, only secret keys protect the memory.
    bool small_keys = false;

    // --- Requested capabilities

    /// Ordered writes should be requested: free on some fabrics, off the fast path on others.
    bool asks_write_order = false;
    /// The fence capability should be requested. This may also disable the fast path.
    bool asks_fence = false;

    // --- Behaviour

    bool target_must_progress = true;  ///< data is delivered only while the target polls
    bool writes_empty = false;  ///< puts may have an immediate without data, not a reserved word
    /// One write may have two targets, if granted: a large payload, and the flag.
    bool writes_two_places = false;
    /// Largest size of sources that a put with a flag copies at once, so that the sender need not
    /// wait for its completion. A completion that needs a system call takes longer than a copy.
    std::size_t copied_bytes = 0;
    /// Bytes of a put after which its sender polls before it sends more. If both ranks share
    /// caches, data in flight should stay in the caches. 0: no limit.
    std::size_t paced_bytes = 0;
    /// Small puts may be posted without a completion, which saves time at the sender. Allowed only
    /// if an error of such a put, after the peer's death, is harmless. After kUnsignaledPuts of
    /// them, a put has a completion anyway, which limits the puts in flight.
    bool unsignaled_small_puts = false;
    bool batches_posts = false;  ///< posts with FI_MORE are passed to the NIC in one access
    /// A rank may open an endpoint on each NIC; false: only on one, or the provider uses several.
    bool several_cards = false;
    bool one_host = false;      ///< the provider reaches only ranks of the same host
    std::size_t ranks_max = 0;  ///< most ranks that the provider can address; 0: no known limit
    /// File of the endpoint in shared memory, if it has one. weft names, reserves and removes it.
    EndpointFile endpoint_file = {};

    /// Expected attributes, and the libfabric release that grants them. For users who do not have
    /// the network yet (weft info --provider). Jobs use the actual attributes. Empty: unknown.
    Grant declared = {};
    std::string_view declared_by = {};
    std::span<const KnownBug> bugs = {};  ///< known errors, and their effects on a job
    /// Cost of a put, from half a round trip of 8 bytes, the rate of puts, and the bandwidth.
    ProfiledCost cost = {};

    /// Variables that weft sets before libfabric starts, unless the user has set them. All profiles
    /// that have a variable compute the same value for it.
    std::span<const Setting> settings = {};
};

/// Returns the profile of a provider, or the default profile. In providers/registry.cpp.
[[nodiscard]] const Profile& profile_of(std::string_view provider);

/// Returns the profiles to try, best first, if no provider is named. In providers/registry.cpp.
[[nodiscard]] std::span<const Profile* const> preferred_profiles();

/// Returns the profile of a provider for every network, for predictions. In providers/registry.cpp.
[[nodiscard]] const Profile& usual_profile();

}  // namespace weft::link
