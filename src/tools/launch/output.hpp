// SPDX-License-Identifier: BSD-3-Clause
// output.hpp - writes the launcher's output without blocking the launcher, and adds the prefix
// "[rank] " to each line of a rank.
//
// Idea     A separate thread makes the writes, which block while a pipe is full or a terminal is
//          halted. The file is not set to non-blocking, because other processes share it.
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

/// Ownership is shared with the writer's thread, which may never return from a write.
class OutputWriter : public std::enable_shared_from_this<OutputWriter> {
  public:
    /// target: a file that must stay open. The first write() starts the thread.
    explicit OutputWriter(int target);

    /// Queues the text. If no thread can start, writes what fits now and drops the rest.
    void write(std::string_view text);
    /// Lets the thread end after the queue. Does not wait: if the process exits, text is lost.
    void close();
    /// Returns false if the queue is full: the caller should stop reading from ranks.
    [[nodiscard]] bool has_room() const;
    /// Returns true if all text has been written or dropped.
    [[nodiscard]] bool is_idle() const;
    /// Returns true if the file is a pipe without a reader.
    [[nodiscard]] bool has_lost_its_reader() const;
    void wait_until_idle(std::chrono::milliseconds at_most) const;
    /// Returns an eventfd, incremented after each write: then test has_room() and is_idle() again.
    [[nodiscard]] int event_file() const { return event_file_.number(); }

  private:
    void run();  ///< body of the thread
    [[nodiscard]] bool start_thread();

    const int target_;
    const base::FileDescriptor event_file_;
    mutable std::mutex mutex_;  ///< protects all members below
    mutable std::condition_variable changed_;
    std::string pending_;       ///< queued text
    bool running_ = false;      ///< the thread exists
    bool writing_ = false;      ///< the thread is in a write
    bool reader_gone_ = false;  ///< the file is a pipe without a reader
    bool closing_ = false;      ///< close() was called
};

/// Returns true if both descriptors refer to the same file, which then needs one writer.
[[nodiscard]] bool same_file(int left, int right);

/// Reads the output of a rank from a pipe and writes each line with a label. A line longer than 64
/// KiB is divided; text after the last line end is written when the pipe closes.
class LabelPipe {
  public:
    /// Makes a pipe whose lines are written to `target`. Sets `pipe_end` to the write end.
    LabelPipe(Rank rank, std::shared_ptr<OutputWriter> target, base::FileDescriptor& pipe_end);

    /// Passes on text until the pipe is empty, the writer full, or 16 KiB have been read. Returns
    /// false after closing the pipe: at its end, or if the output has no reader.
    bool pass_on();
    /// Returns true if pass_on() could write.
    [[nodiscard]] bool has_room() const { return target_->has_room(); }

    /// Returns the read end; negative after closing.
    [[nodiscard]] int reader() const { return reader_.number(); }

  private:
    void write_lines(bool closing);  ///< closing: also writes text without a line end

    std::string label_;
    std::shared_ptr<OutputWriter> target_;
    base::FileDescriptor reader_;
    std::string pending_;  ///< text without a line end so far
};

}  // namespace weft::tools
