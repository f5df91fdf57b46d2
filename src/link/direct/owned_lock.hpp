// SPDX-License-Identifier: BSD-3-Clause
// owned_lock.hpp - a lock that tells the calling thread whether it holds it.
//
// Why      Handlers of signals and of fork run wherever a thread stands: who would take the lock a
//          second time has to know. Neither locking nor asking allocates, or uses what is local to
//          a thread, which a loaded library may have to allocate.
#pragma once

#include <pthread.h>

#include <atomic>

namespace weft::link {

class OwnedLock {
  public:
    void lock() noexcept {
        const pthread_t self = ::pthread_self();
        pthread_t owner = kNone;
        while (!owner_.compare_exchange_weak(owner, self, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
            if (owner != kNone) owner_.wait(owner, std::memory_order_relaxed);
            owner = kNone;
        }
    }
    void unlock() noexcept {
        owner_.store(kNone, std::memory_order_release);
        owner_.notify_one();
    }
    [[nodiscard]] bool held_here() const noexcept {
        return owner_.load(std::memory_order_relaxed) == ::pthread_self();
    }

  private:
    static constexpr pthread_t kNone = 0;  ///< no thread of the C library

    std::atomic<pthread_t> owner_{kNone};
};

}  // namespace weft::link
