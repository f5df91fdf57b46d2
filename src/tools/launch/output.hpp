// SPDX-License-Identifier: BSD-3-Clause
// output.hpp - writes the launcher's output without blocking it, and the output of ranks with the
// prefix "[rank] ".
//
// Idea     A separate thread makes the writes, which may block on a pipe without a reader or a
//          halted terminal. The file is not set to non-blocking, because other processes share it.
// Holds    Text is written in the order of the calls. Text that cannot be written (closed pipe,
//          full disk, terminal hung up) is dropped: lost output must not decide how a job ends.
//          Labelled lines of different ranks never mix. The launcher reads only while the writer
//          has room, so a slow reader slows down only the ranks that print.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "tools/launch/failure.hpp"

namespace weft::tools {

/// Held by a shared pointer, also by its thread, which may never return from a write.
class OutputWriter : public std::enable_shared_from_this<OutputWriter> {
  public:
    /// Makes a writer for the file `target`, which must stay open. The thread starts with
    /// the first text.
    explicit OutputWriter(int target);
    OutputWriter(const OutputWriter&) = delete;
    OutputWriter& operator=(const OutputWriter&) = delete;

    /// Queues the text; never waits.
    void write(std::string_view text);
    /// Ends the thread once all text is written. Does not wait: text may be lost.
    void close();
    /// Returns true if the writer accepts more text. event_file() reports a change to true.
    [[nodiscard]] bool has_room() const;
    /// Returns true if all text has been written or dropped.
    [[nodiscard]] bool is_idle() const;
    /// Returns true if the file is a pipe without a reader.
    [[nodiscard]] bool has_lost_its_reader() const;
    void wait_until_idle(std::chrono::milliseconds at_most) const;
    /// Returns an eventfd that counts up when room becomes available or all text is written.
    [[nodiscard]] int event_file() const { return event_file_.number(); }

  private:
    void run();
    [[nodiscard]] bool start_thread();

    const int target_;
    const base::FileDescriptor event_file_;
    mutable std::mutex mutex_;  ///< protects all members below
    mutable std::condition_variable changed_;
    std::string pending_;
    bool running_ = false;  ///< the thread exists
    bool writing_ = false;  ///< the thread is in a write
    bool reader_gone_ = false;
    bool closing_ = false;
};

/// Returns true if both descriptors refer to the same file, which then needs one writer.
[[nodiscard]] bool same_file(int left, int right);

/// Reads the output of a rank from a pipe. Text without a line end is passed on when the pipe
/// closes or when it reaches a limit.
class LabelPipe {
  public:
    /// Makes a pipe whose lines go to `target`, prefixed with the rank. `pipe_end` receives
    /// the write end.
    LabelPipe(Rank rank, std::shared_ptr<OutputWriter> target, base::FileDescriptor& pipe_end);

    /// Passes on the text that has arrived, if there is room. Returns false after the end of the
    /// text, and closes the pipe.
    bool pass_on();
    /// Returns true if pass_on() could write.
    [[nodiscard]] bool has_room() const { return target_->has_room(); }

    /// Returns the read end; negative after closing.
    [[nodiscard]] int reader() const { return reader_.number(); }

  private:
    void write_lines(bool closing);

    std::string label_;
    std::shared_ptr<OutputWriter> target_;
    base::FileDescriptor reader_;
    std::string pending_;  ///< text without a line end so far
};

}  // namespace weft::tools
