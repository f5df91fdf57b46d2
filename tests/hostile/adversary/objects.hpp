// SPDX-License-Identifier: BSD-3-Clause
// objects.hpp - the adversary's objects: each has libfabric's object as first member, so that a
// pointer to one is also a pointer to the other.
//
// Holds    Calls of the program and the threads of endpoints hold the domain's lock while they use
//          the domain or an object that was opened on it.
// Next     endpoint.hpp for operations in flight; calls.cpp for libfabric's calls.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "tests/hostile/adversary/mailbox.hpp"
#include "tests/hostile/adversary/profile.hpp"

namespace adversary {

class Endpoint;

struct Fabric {
    fid_fabric fabric;
};

struct Region;

struct Domain {
    fid_domain domain;
    Profile profile;
    std::string name;
    std::uint64_t seed;
    std::recursive_mutex lock;
    std::map<std::uint64_t, Region*> regions;  ///< by key
    std::vector<Endpoint*> endpoints;
    std::size_t registered_bytes;
    std::uint64_t next_key;  ///< used if the provider chooses the keys
    int open;                ///< number of objects that are open on the domain
};

/// Registered memory.
struct Region {
    fid_mr region;
    Domain* domain;
    std::byte* base;
    std::size_t bytes;
    std::uint64_t access;  ///< bits FI_REMOTE_WRITE and similar
    Endpoint* bound;       ///< with FI_MR_ENDPOINT: the only endpoint that may use the region
    bool enabled;
    int readers;  ///< operations in flight that read from the region
    [[nodiscard]] bool covers(const void* first, std::size_t size) const {
        const auto* at = static_cast<const std::byte*>(first);
        return at >= base && size <= bytes && at <= base + bytes - size;
    }
};

/// Entry of a completion queue: a completion or, if `error` is not 0, a failed operation.
struct Entry {
    fi_cq_tagged_entry entry;
    int error;
};

/// Completion queue.
struct Queue {
    fid_cq queue;
    Domain* domain;
    fi_cq_format format;
    std::size_t size;
    std::uint64_t overrun_after;  ///< completions until an overrun is reported
    std::deque<Entry> entries;
};

struct Counter {
    fid_cntr counter;
    Domain* domain;
    std::atomic<std::uint64_t> value;
    std::atomic<std::uint64_t> errors;
};

/// Address vector.
struct Addresses {
    fid_av addresses;
    Domain* domain;
    std::vector<Address> known;  ///< by fi_addr_t
};

/// Makes one step of progress on each endpoint of a domain.
void progress(Domain& domain);
/// Adds a completion. It is a violation if the queue is full.
void add_entry(Queue* queue, const Entry& entry);

/// Creates an object and counts it as open on the domain. close_object() is the counterpart.
template <class Object>
Object* open_object(Domain& domain) {
    auto* object = new Object{};
    object->domain = &domain;
    ++domain.open;
    return object;
}

int open_fabric(fi_fabric_attr* attributes, fid_fabric** out, void* context);
int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void* context);
int open_region(fid* domain, const void* buffer, std::size_t bytes, std::uint64_t access,
                std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** out,
                void* context);
int open_region_of(fid* domain, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** out);
int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** out, void* context);
/// Returns the value that FI_UNIVERSE_SIZE had at the first call, or the profile's value if it was
/// not set. Providers read their variables once.
std::size_t universe_size();
/// Returns the profile that ADVERSARY_PROFILE names; nullptr if it names none or prints an error.
[[nodiscard]] const Profile* chosen_profile();

}  // namespace adversary
