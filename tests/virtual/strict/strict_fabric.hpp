// SPDX-License-Identifier: BSD-3-Clause
// strict_fabric.hpp - a strict libfabric provider in one process, which checks every demand.
//
// Idea     Hardware demands registered sources, its own keys, contexts that it may write to,
//          and receives that writes with immediates consume. Portable providers have no
//          such demands. This provider demands whatever a test requests, delivers
//          late and in any order, and records each violation. It reads sources at delivery
//          and contexts until completion.
// Holds    Has only the calls that ports use. It is reached through fi_fabric(), which this test
//          program replaces: the offer contains the fabric in fabric_attr->fabric.
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

/// Demands and grants of the provider.
struct Demands {
    int mr_mode = 0;
    std::uint64_t mode = 0;
    std::uint64_t caps = FI_RMA;
    std::size_t immediate_bytes = 8;
    std::size_t key_bytes = 8;
    std::size_t inject_bytes = 64;
    std::size_t message_bytes_max = std::size_t{1} << 30;
    std::size_t registered_bytes_max = ~std::size_t{0};
    std::size_t places = 1;  ///< maximum targets and sources of one write
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

    /// Returns the only offer.
    [[nodiscard]] link::Info offer();
    /// Returns the violations, one sentence each.
    [[nodiscard]] std::string violations() const;
    /// Advances some of the operations in flight.
    void progress();

    // Used by the calls of libfabric.
    void violation(const std::string& text);
    [[nodiscard]] StrictRegion* region_at(StrictEndpoint& endpoint, std::uint64_t key);
    void deliver(StrictOperation& operation);
    /// Return the number of writes and reads that an endpoint has posted. Endpoints are counted in
    /// opening order, and have no other operations that move data.
    [[nodiscard]] std::size_t writes_of(std::size_t endpoint) const;
    [[nodiscard]] std::size_t reads_of(std::size_t endpoint) const;
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t registered_bytes() const;

    Demands demands;
    std::vector<StrictEndpoint*> endpoints;
    std::vector<StrictRegion*> regions;
    std::vector<std::unique_ptr<StrictOperation>> under_way;
    std::uint64_t next_key = 1000;  ///< for keys that the provider chooses
    int open = 0;                   ///< open objects
    int registrations = 0;          ///< in total
    int writes = 0;                 ///< in total

    struct Fid;  ///< the fabric in libfabric's form

  private:
    [[nodiscard]] bool held_back(const StrictOperation& operation) const;
    void leave(StrictOperation& operation);

    std::unique_ptr<Fid> fid_;
    std::mt19937_64 random_;
    std::vector<std::string> violations_;
};

}  // namespace weft::test
