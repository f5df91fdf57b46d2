// SPDX-License-Identifier: BSD-3-Clause
// handles.hpp - libfabric objects as unique_ptr with one closer.
//
// Holds    Members are declared in opening order, so they close in reverse order.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdio>
#include <memory>

namespace weft::link {

/// Closes any libfabric object. Reports a refused close on stderr, because a destructor
/// cannot return it.
template <class F>
struct FidCloser {
    void operator()(F* handle) const noexcept {
        const int code = fi_close(&handle->fid);
        if (code != 0) {
            std::fprintf(stderr, "weft: libfabric fi_close of object class %zu: %s\n",
                         handle->fid.fclass, fi_strerror(-code));
        }
    }
};
template <class F>
using Fid = std::unique_ptr<F, FidCloser<F>>;

struct InfoCloser {
    void operator()(fi_info* list) const noexcept { fi_freeinfo(list); }
};
using Info = std::unique_ptr<fi_info, InfoCloser>;

}  // namespace weft::link
