// SPDX-License-Identifier: BSD-3-Clause
// objects.hpp - structs of the adversary's state, each with libfabric's object as first member.
//
// Holds    Calls of the program and the threads of endpoints hold the domain's lock while they use
//          the domain or an object opened on it.
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
#include <memory>
#include <mutex>
#include <random>
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
    std::uint64_t next_key;
    int open;  ///< number of objects that are open on the domain
};

struct Region {
    fid_mr region;
    Domain* domain;
    std::byte* base;
    std::size_t bytes;
    std::uint64_t access;
    Endpoint* bound;
    bool enabled;
    int readers;  ///< operations in flight that read from the region
    [[nodiscard]] bool covers(const void* first, std::size_t size) const {
        const auto* at = static_cast<const std::byte*>(first);
        return at >= base && size <= bytes && at <= base + bytes - size;
    }
};

/// A completion, or the report of an error.
struct Entry {
    fi_cq_tagged_entry entry;
    int error;
};

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

struct Addresses {
    fid_av addresses;
    Domain* domain;
    std::vector<Address> known;
};

/// Makes progress on all endpoints of a domain: one step of each.
void progress(Domain& domain);
/// Adds a completion. It is a violation if the queue is full.
void add_entry(Queue* queue, const Entry& entry);

/// Creates an object of a domain.
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
/// Returns FI_UNIVERSE_SIZE at the first call, or the profile's value without it. Providers read
/// their variables once.
std::size_t universe_size();
/// Returns the profile that ADVERSARY_PROFILE names; nullptr if it names none or prints an error.
[[nodiscard]] const Profile* chosen_profile();

}  // namespace adversary
