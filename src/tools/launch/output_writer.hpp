// SPDX-License-Identifier: BSD-3-Clause
// output_writer.hpp - writes the launcher's output without blocking the launcher.
//
// Idea     A separate thread makes the writes, which may block on a pipe without a reader or a
//          halted terminal. The file is not set to non-blocking, because other processes share it.
// Holds    Text is written in the order of the calls. Text that cannot be written (closed pipe,
//          full disk, terminal hung up) is dropped: lost output must not decide how a job ends.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "base/result.hpp"

namespace weft::tools {

class OutputWriter {
  public:
    /// Makes a writer for the file `target`, which must stay open. The thread starts with
    /// the first text.
    [[nodiscard]] static base::Result<std::shared_ptr<OutputWriter>> create(int target);
    /// Does not wait: text that is not written yet may be lost.
    ~OutputWriter();
    OutputWriter(const OutputWriter&) = delete;
    OutputWriter& operator=(const OutputWriter&) = delete;

    /// Queues the text; never waits.
    void write(std::string_view text);
    /// Returns true if the writer accepts more text. event_file() reports a change to true.
    [[nodiscard]] bool has_room() const;
    /// Returns true if all text has been written or dropped.
    [[nodiscard]] bool is_idle() const;
    /// Returns true if the file is a pipe without a reader.
    [[nodiscard]] bool has_lost_its_reader() const;
    /// Waits until the writer is idle, for a limited time.
    void wait_until_idle(std::chrono::milliseconds at_most) const;

    /// Returns an eventfd that counts up when room becomes available or all text is written.
    [[nodiscard]] int event_file() const;

  private:
    struct State;
    explicit OutputWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;  ///< shared with the thread, which may never return from a write
};

/// Returns true if both descriptors refer to the same file, which then needs one writer.
[[nodiscard]] bool same_file(int left, int right);

}  // namespace weft::tools
