// SPDX-License-Identifier: BSD-3-Clause
// active_messages.hpp - sends and handles the active messages of a runtime, and starts the service
// of peers' requests.
//
// Holds    The wire calls serve() only from the time when a handler is set, a message is sent, or
//          peers may send requests. Other programs do not pay for it.
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
    /// number wait in the ring until another handler is set.
    [[nodiscard]] base::Result<void> set_handler(int number, const MessageHandler& handler);
    /// Sends a short message if the rank is local and the ring there has space: the usual case. In
    /// all other cases, sends nothing and returns false; send() then sends or reports the error.
    [[nodiscard]] bool send_at_once(Rank job_rank, int handler, const void* data,
                                    std::size_t bytes) noexcept;
    /// Sends a message to a rank of the job. If 64 messages to the rank are queued, waits for space
    /// in the queue, but never in a handler.
    [[nodiscard]] base::Result<void> send(Rank job_rank, int handler, const void* data,
                                          std::size_t bytes);
    /// Returns true if the calling thread is running a handler.
    [[nodiscard]] bool in_handler() const {
        // Acquire: pairs with the release in open(). A thread in a handler sees its own id.
        const auto* const handler_thread = handler_thread_.load(std::memory_order_acquire);
        return handler_thread != nullptr &&
               handler_thread->load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    /// Fails if a handler calls, which may only send messages.
    [[nodiscard]] base::Result<void> refuse_handlers() const {
        if (!in_handler()) [[likely]]
            return {};
        return base::fail(Status::argument,
                          "called from a handler of active messages, which may only send messages");
    }
    /// Returns the largest number of bytes of a message.
    [[nodiscard]] std::size_t bytes_max() const { return area_.bytes_max(); }
    /// Waits until all queued messages have been sent. Drops messages to dead ranks.
    [[nodiscard]] base::Result<void> settle();
    /// Makes every later call fail, because the runtime is finalized. Drops present and later
    /// messages without a handler.
    void close();

    /// Starts to serve requests of the team's local members for memory that they cannot map.
    void serve_members(const Team& team);

  private:
    static bool serve(void* argument) noexcept;
    static void on_immediate(void* argument, std::uint64_t payload) noexcept;
    void start_service();
    void open();

    const Job& job_;
    const MessageArea& area_;
    RealEngine& engine_;
    RealOneSided& onesided_;
    EngineProgress& progress_;
    bool closed_ = false;
    std::unique_ptr<RealMessages> messages_;  ///< nullptr until open()
    /// Address of the id of the thread that is running a handler (Messages::handler_thread()).
    /// nullptr until open().
    std::atomic<const std::atomic<std::thread::id>*> handler_thread_{nullptr};
};

}  // namespace weft::run
