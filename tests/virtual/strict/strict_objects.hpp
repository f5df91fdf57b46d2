// SPDX-License-Identifier: BSD-3-Clause
// strict_objects.hpp - objects of the strict provider: libfabric's structures, each followed by its
// state.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <deque>
#include <set>

#include "tests/virtual/strict/strict_fabric.hpp"

namespace weft::test {

struct StrictFabric::Fid {
    fid_fabric fabric;
    StrictFabric* strict;
};

/// The provider fills contexts with this byte, and expects it unchanged at completion.
inline constexpr unsigned char kScribble = 0xC7;

struct StrictDomain {
    fid_domain domain;
    StrictFabric* strict;
};
struct StrictAddresses {
    fid_av av;
    StrictFabric* strict;
};
struct StrictQueue {
    fid_cq cq;
    StrictFabric* strict;
    std::size_t size;
    std::deque<fi_cq_data_entry> entries;
};

struct StrictRegion {
    fid_mr region;
    StrictFabric* strict;
    const std::byte* base;
    std::size_t bytes;
    std::uint64_t access;
    StrictEndpoint* bound;
    bool enabled;
    int users;  ///< number of operations in flight that read the region
    [[nodiscard]] bool covers(const void* first, std::size_t size) const {
        const auto* at = static_cast<const std::byte*>(first);
        return at >= base && at + size <= base + bytes;
    }
};

struct StrictEndpoint {
    fid_ep endpoint;
    StrictFabric* strict;
    StrictQueue* queue;
    bool addressed;
    bool enabled;
    std::uint64_t index;
    std::deque<void*> receives;
    std::set<void*> contexts;  ///< contexts of operations in flight
    std::size_t writes;        ///< posted
    std::size_t reads;         ///< posted
};

struct StrictOperation {
    StrictEndpoint* from;
    StrictEndpoint* to;
    std::vector<iovec> sources;
    std::vector<std::byte> copy;  ///< contents of the sources after read_sources()
    std::size_t bytes;
    std::vector<iovec> targets;
    std::vector<StrictRegion*> source_regions;
    bool with_immediate;
    bool wants_completion;
    bool reading;   ///< sources are the peer's, targets are local
    bool delivery;  ///< completes only after its data is delivered
    bool fenced;
    std::uint64_t number;  ///< writes posted before it
    std::uint64_t data;
    void* context;
    int delay;  ///< attempts of progress() before its data is delivered
};

/// Adds a completion. An overrun is a violation.
void add_entry(StrictQueue& queue, const fi_cq_data_entry& entry);
/// Copies the sources, unless an earlier call has copied them.
void read_sources(StrictOperation& operation);
/// Sets all functions of a fabric object.
void set_calls(fid_fabric& fabric);

}  // namespace weft::test
