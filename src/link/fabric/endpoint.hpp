// SPDX-License-Identifier: BSD-3-Clause
// endpoint.hpp - one libfabric endpoint with its domain, address vector and completion queue.
//
// Holds    Members are declared in opening order, so they close in reverse order. Some providers
//          bind registered memory to the endpoint, so registrations must be closed before it.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/shared_files.hpp"

namespace weft::link {

/// Closes any libfabric object. Prints an error to stderr: a destructor cannot return it.
template <class F>
struct FidCloser {
    void operator()(F* handle) const noexcept {
        const int code = fi_close(&handle->fid);
        if (code != 0)
            std::fprintf(stderr, "weft: libfabric fi_close of object class %zu: %s\n",
                         handle->fid.fclass, fi_strerror(-code));
    }
};
template <class F>
using Fid = std::unique_ptr<F, FidCloser<F>>;

struct InfoCloser {
    void operator()(fi_info* list) const noexcept { fi_freeinfo(list); }
};
using Info = std::unique_ptr<fi_info, InfoCloser>;

/// A counter of delivered remote writes, and the registration whose key these writes use.
struct WriteCounter {
    Fid<fid_cntr> count;
    Fid<fid_mr> region;  ///< declared after the counter, so that it is closed first
};

[[nodiscard]] std::string libfabric_version();  ///< such as "1.17"

/// An operation that the completion queue reports as failed.
struct FailedOperation {
    void* context = nullptr;
    std::uint64_t flags = 0;
    std::string text;  ///< the error; empty: no operation has failed
};

struct Endpoint {
    /// Opens all objects. Does not enable the endpoint.
    base::Result<void> open(const fi_info& offer, std::size_t ranks, std::size_t completions_max);
    base::Result<void> enable();
    /// Returns the endpoint's address, which peers insert into their address vectors.
    base::Result<std::vector<std::byte>> name() const;
    /// Registers memory. If `counter` is given, it counts remote writes under this key.
    base::Result<Fid<fid_mr>> register_memory(std::span<std::byte> memory, std::uint64_t access,
                                              std::uint64_t key, fid_cntr* counter = nullptr);
    /// Opens a counter, and registers the memory for remote writes that it counts.
    base::Result<WriteCounter> open_counter(std::span<std::byte> memory, std::uint64_t key);
    /// Returns the next failed operation of the completion queue.
    base::Result<FailedOperation> read_error() const;
    /// Returns the failure of a libfabric call with a negative error code.
    [[nodiscard]] base::Failure failure(std::string_view call, ssize_t code) const;
    /// Returns failure() unless the code is 0.
    base::Result<void> check(std::string_view call, int code) const {
        return code == 0 ? base::Result<void>() : failure(call, code);
    }

    std::string provider_and_domain;  ///< their names, for texts of failures
    bool binds_memory = false;        ///< FI_MR_ENDPOINT: regions are bound to the endpoint
    Fid<fid_fabric> fabric;
    Fid<fid_domain> domain;
    Fid<fid_av> addresses;
    Fid<fid_cq> completions;
    base::SharedFile file;  ///< file of the endpoint, if it has one
    Fid<fid_ep> handle;
};

}  // namespace weft::link
