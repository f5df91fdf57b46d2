// SPDX-License-Identifier: BSD-3-Clause
// active_messages.hpp - active messages of a runtime, and start of the service of peers' requests.
//
// Holds    The service starts when a handler is set, a message is sent, or peers may send requests.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/result.hpp"
#include "run/job/engine_progress.hpp"
#include "run/job/job.hpp"
#include "run/onesided/area.hpp"
#include "weft/types.hpp"

namespace weft::run {

class RealEngine;
class RealMessages;
class RealOneSided;
class Team;
struct MessageHandler;

class ActiveMessages {
  public:
    ActiveMessages(const Job& job, const MessageArea& area, RealEngine& engine,
                   RealOneSided& onesided, EngineProgress& progress);
    ~ActiveMessages();

    /// Sets the handler of a number from 0 to 255. If `handler` has no function, messages for this
    /// number wait in the mailbox until another handler is set.
    [[nodiscard]] base::Result<void> set_handler(int number, const MessageHandler& handler);
    /// Sends a short message to a local rank whose mailbox has space, which is the usual case.
    /// Otherwise returns false. The caller must then use send(), which also reports errors.
    [[nodiscard]] bool send_at_once(Rank job_rank, int handler, const void* data,
                                    std::size_t bytes) noexcept;
    /// Sends a message to a rank of the job. Waits if many messages to the rank are queued, but
    /// never in a handler.
    [[nodiscard]] base::Result<void> send(Rank job_rank, int handler, const void* data,
                                          std::size_t bytes);
    /// Returns true if the calling thread is running a handler.
    [[nodiscard]] bool in_handler() const {
        // Acquire: pairs with the release in open(), so a thread in a handler sees its own id.
        const auto* const handling = handling_.load(std::memory_order_acquire);
        if (handling == nullptr) return false;
        const std::thread::id runs = handling->load(std::memory_order_relaxed);
        return runs != std::thread::id() && runs == std::this_thread::get_id();
    }
    /// Returns the largest size of a message in bytes.
    [[nodiscard]] std::size_t bytes_max() const { return area_.bytes_max(); }
    /// Waits until all messages of this rank have been sent.
    [[nodiscard]] base::Result<void> settle();
    /// Makes every later call fail, because the runtime is finalized. Messages without a handler are
    /// dropped from now on.
    void close();

    /// Starts to serve requests of local members for memory of this rank that they have not mapped.
    void serve_members(const Team& team);

  private:
    static bool serve(void* self) noexcept;
    static void on_immediate(void* self, std::uint64_t payload) noexcept;
    void start_service();
    void open();

    const Job& job_;
    const MessageArea& area_;
    RealEngine& engine_;
    RealOneSided& onesided_;
    EngineProgress& progress_;
    bool closed_ = false;
    /// nullptr until a message is sent or a handler is set.
    std::unique_ptr<RealMessages> messages_;
    /// Id of the thread that is running a handler, if any. nullptr until messages_ is set.
    std::atomic<const std::atomic<std::thread::id>*> handling_{nullptr};
};

}  // namespace weft::run
