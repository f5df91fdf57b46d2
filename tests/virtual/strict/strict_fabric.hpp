// SPDX-License-Identifier: BSD-3-Clause
// strict_fabric.hpp - a libfabric provider in one process that checks whether its demands are met.
//
// Idea     Providers of hardware demand registered sources, keys that they choose, contexts that
//          they may write to, and receives that writes with immediates consume. Portable providers
//          have no such demands. A test chooses the demands of this provider, which delivers late
//          and in any order, and records each violation. It reads sources at delivery, and checks
//          at completion that contexts are unchanged.
// Holds    Has only the calls that ports use. This test program replaces fi_fabric(), which opens
//          the fabric that the offer contains in fabric_attr->fabric.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "link/fabric/endpoint.hpp"

namespace weft::test {

/// Demands and grants of the provider, in libfabric's terms.
struct Demands {
    int mr_mode = 0;
    std::uint64_t mode = 0;
    std::uint64_t caps = FI_RMA;
    std::size_t immediate_bytes = 8;
    std::size_t key_bytes = 8;
    std::size_t inject_bytes = 64;
    std::size_t message_bytes_max = std::size_t{1} << 30;
    std::size_t registered_bytes_max = ~std::size_t{0};
    std::size_t iov_limit = 1;  ///< maximum number of targets, and of sources, of a write
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

    /// Returns the provider's only offer, with its demands and grants.
    [[nodiscard]] link::Info offer();
    /// Returns the first 10 violations, one line each; empty: none.
    [[nodiscard]] std::string violations() const;
    /// Return the number of writes, and of reads, that an endpoint has posted. `endpoint` is its
    /// index in the order of opening. The provider has no other operations that move data.
    [[nodiscard]] std::size_t writes_of(std::size_t endpoint) const;
    [[nodiscard]] std::size_t reads_of(std::size_t endpoint) const;
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t registered_bytes() const;

    // The members below are for the calls of libfabric.
    /// Advances some of the operations in flight.
    void progress();
    void violation(const std::string& text);
    /// Returns the region of this key that peers can reach at the endpoint; nullptr: none.
    [[nodiscard]] StrictRegion* region_at(StrictEndpoint& endpoint, std::uint64_t key);

    Demands demands;
    std::vector<StrictEndpoint*> endpoints;
    std::vector<StrictRegion*> regions;
    std::vector<std::unique_ptr<StrictOperation>> in_flight;
    std::uint64_t next_key = 1000;  ///< next key that the provider chooses
    int open = 0;                   ///< number of open objects
    int writes = 0;                 ///< number of writes posted so far

    struct Fid;  ///< the fabric in libfabric's form

  private:
    [[nodiscard]] bool held_back(const StrictOperation& operation) const;
    void deliver(StrictOperation& operation);
    void complete_at_origin(StrictOperation& operation);

    std::unique_ptr<Fid> fid_;
    std::mt19937_64 random_{1};
    std::vector<std::string> violations_;
};

}  // namespace weft::test
