// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/own_stack.hpp"

#include <pthread.h>
#include <string.h>

#include <algorithm>

namespace weft::tools {
namespace {

/// Stack size that the C library gives threads when the stack has no limit.
constexpr std::size_t kStackBytes = std::size_t{2} << 20;

/// Raises the default of this process to kStackBytes; returns an error number.
int raise_default_size() {
    pthread_attr_t defaults;
    if (const int error = ::pthread_getattr_default_np(&defaults); error != 0) return error;
    std::size_t size = 0;
    ::pthread_attr_getstacksize(&defaults, &size);
    ::pthread_attr_setstacksize(&defaults, std::max(size, kStackBytes));
    const int error = ::pthread_setattr_default_np(&defaults);
    ::pthread_attr_destroy(&defaults);
    return error;
}

void* call(void* work) {
    (*static_cast<const std::function<void()>*>(work))();
    return nullptr;
}

}  // namespace

base::Result<void> run_on_own_stack(const std::function<void()>& work) {
    int error = raise_default_size();
    pthread_t thread;
    if (error == 0) {
        error = ::pthread_create(&thread, nullptr, call, const_cast<std::function<void()>*>(&work));
    }
    if (error != 0) {
        return base::fail(Status::environment, "cannot start a thread with a stack of {} bytes: {}",
                          kStackBytes, ::strerror(error));
    }
    ::pthread_join(thread, nullptr);
    return {};
}

}  // namespace weft::tools
