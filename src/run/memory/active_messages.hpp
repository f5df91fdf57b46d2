// SPDX-License-Identifier: BSD-3-Clause
// active_messages.hpp - active messages of a runtime, and the service of peers' requests.
//
// Holds    Service starts when a handler is set, a message is sent, or peers may send requests. So
//          other programs pay nothing.
// Next     run/onesided/messages.hpp for messages; run/onesided/service.hpp for requests.
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
    ActiveMessages(const ActiveMessages&) = delete;
    ActiveMessages& operator=(const ActiveMessages&) = delete;

    /// Sets a handler of a number below 256. Without a function, its messages wait again.
    [[nodiscard]] base::Result<void> set_handler(int number, const MessageHandler& handler);
    /// Sends a short message to a local rank that has room, which is the usual case. Otherwise
    /// returns false; then use send(), which sends it or returns the error.
    [[nodiscard]] bool send_at_once(Rank job_rank, int handler, const void* data,
                                    std::size_t bytes) noexcept;
    /// Sends a message to a rank of the job. Never waits inside a handler.
    [[nodiscard]] base::Result<void> send(Rank job_rank, int handler, const void* data,
                                          std::size_t bytes);
    /// Returns true if this thread runs a handler.
    [[nodiscard]] bool in_handler() const {
        // Acquire: pairs with the release in open(). A thread in a handler sees the id.
        const auto* const handling = handling_.load(std::memory_order_acquire);
        if (handling == nullptr) return false;
        const std::thread::id runs = handling->load(std::memory_order_relaxed);
        return runs != std::thread::id() && runs == std::this_thread::get_id();
    }
    [[nodiscard]] std::size_t bytes_max() const { return area_.bytes_max(); }
    /// Returns when all messages of this rank have been sent.
    [[nodiscard]] base::Result<void> settle();
    /// Makes every later call fail, because the runtime is finalized.
    void close() { closed_ = true; }

    /// Starts to serve requests of local members for memory that they cannot reach.
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
    /// Nullptr until a message is sent or a handler is set.
    std::unique_ptr<RealMessages> messages_;
    /// Id of the thread that runs handlers, if any. nullptr until messages are opened.
    std::atomic<const std::atomic<std::thread::id>*> handling_{nullptr};
};

}  // namespace weft::run
