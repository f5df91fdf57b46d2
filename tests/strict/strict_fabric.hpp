// SPDX-License-Identifier: BSD-3-Clause
// strict_fabric.hpp - a libfabric provider in one process that demands everything and forgives
// nothing.
//
// Idea     What hardware demands (registered sources, keys of its own, contexts that it writes
//          into, receives that writes with immediates consume) is demanded by no provider that runs
//          everywhere. This one demands what a test asks for, delivers late and in any order, reads
//          sources at delivery and contexts until completion, and writes down each violation.
// Holds    Only what ports use. It is reached through fi_fabric(), which this test program
//          replaces: the offer carries the fabric in fabric_attr->fabric.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "link/fabric/handles.hpp"

namespace weft::test {

/// What the provider demands and grants.
struct Demands {
    int mr_mode = 0;
    std::uint64_t mode = 0;
    std::uint64_t caps = FI_RMA;
    std::size_t immediate_bytes = 8;
    std::size_t key_bytes = 8;
    std::size_t inject_bytes = 64;
    std::size_t message_bytes_max = std::size_t{1} << 30;
    std::size_t registered_bytes_max = ~std::size_t{0};
    std::size_t places = 1;  ///< that one write may go to, and sources that it may have
    std::uint64_t seed = 1;
};

struct StrictEndpoint;
struct StrictRegion;
struct StrictOperation;

class StrictFabric {
  public:
    explicit StrictFabric(const Demands& demands);
    ~StrictFabric();
    StrictFabric(const StrictFabric&) = delete;
    StrictFabric& operator=(const StrictFabric&) = delete;

    /// The one offer.
    [[nodiscard]] link::Info offer();
    /// What was done wrong, a sentence each.
    [[nodiscard]] std::string violations() const;
    /// Moves some of what is under way.
    void progress();

    // For the calls of libfabric.
    void violation(const std::string& text);
    [[nodiscard]] StrictRegion* region_at(StrictEndpoint& endpoint, std::uint64_t key);
    void deliver(StrictOperation& operation);
    /// Writes and reads that an endpoint has posted, in order of opening. There are no other calls
    /// that move data: an endpoint has no other operations.
    [[nodiscard]] std::size_t writes_of(std::size_t endpoint) const;
    [[nodiscard]] std::size_t reads_of(std::size_t endpoint) const;
    /// Of all that is registered.
    [[nodiscard]] std::size_t registered_bytes() const;

    Demands demands;
    std::vector<StrictEndpoint*> endpoints;
    std::vector<StrictRegion*> regions;
    std::vector<std::unique_ptr<StrictOperation>> under_way;
    std::uint64_t next_key = 1000;  ///< where the provider chooses
    int open = 0;                   ///< objects
    int registrations = 0;          ///< so far
    int writes = 0;                 ///< so far

    struct Fid;  ///< the fabric as libfabric sees it

  private:
    [[nodiscard]] bool held_back(const StrictOperation& operation) const;
    void leave(StrictOperation& operation);

    std::unique_ptr<Fid> fid_;
    std::mt19937_64 random_;
    std::vector<std::string> violations_;
};

}  // namespace weft::test
