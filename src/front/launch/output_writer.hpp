// SPDX-License-Identifier: BSD-3-Clause
// output_writer.hpp - writes the launcher's output without ever keeping the launcher waiting.
//
// Idea     A thread of its own makes the writes, which may block: on a pipe without a reader, on a
//          terminal that was halted. The file is not made non-blocking for that, because other
//          processes share it.
// Holds    Text is written in the order in which it was given. What can no longer be written (a
//          closed pipe, a full disk, a terminal that hung up) is dropped: output that is lost must
//          not decide how a job ends.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "base/result.hpp"

namespace weft::front {

class OutputWriter {
  public:
    /// For the file `target`, which must stay open. The thread starts with the first text.
    [[nodiscard]] static base::Result<std::shared_ptr<OutputWriter>> create(int target);
    /// Does not wait: what has not been written by then may be lost.
    ~OutputWriter();
    OutputWriter(const OutputWriter&) = delete;
    OutputWriter& operator=(const OutputWriter&) = delete;

    /// Takes the text; never waits.
    void write(std::string_view text);
    /// Whether more should be given now; once false, event_file() tells when it is true again.
    [[nodiscard]] bool has_room() const;
    /// Whether everything has been written or dropped.
    [[nodiscard]] bool is_idle() const;
    /// Whether the file is a pipe that has no reader any more.
    [[nodiscard]] bool has_lost_its_reader() const;
    /// Waits until it is idle, or that long.
    void wait_until_idle(std::chrono::milliseconds at_most) const;

    /// An eventfd that counts up when room was made or all is written.
    [[nodiscard]] int event_file() const;

  private:
    struct State;
    explicit OutputWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;  ///< shared with the thread, which may never return from a write
};

/// Whether two open files are the same: writes to both must then come from one writer.
[[nodiscard]] bool same_file(int left, int right);

}  // namespace weft::front
