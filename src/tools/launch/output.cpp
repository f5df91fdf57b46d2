// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace weft::tools {
namespace {

constexpr std::size_t kPendingBytesMax = 256 * 1024;  ///< a writer with more queued text is full
constexpr std::size_t kLineBytesMax = 64 * 1024;      ///< longer lines are divided

/// Returns 0, or the error that prevents writing the rest of the text.
int write_all(int target, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(target, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {  // another process has made the file non-blocking
            pollfd writable = {.fd = target, .events = POLLOUT, .revents = 0};
            ::poll(&writable, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

}  // namespace

OutputWriter::OutputWriter(int target)
    : target_(target), event_file_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!event_file_.open())
        fail(Status::environment, "cannot make an event: {}", std::strerror(errno));
}

void OutputWriter::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return !pending_.empty() || closing_; });
        if (pending_.empty()) return;
        const std::string text = std::exchange(pending_, {});
        writing_ = true;
        lock.unlock();
        const int error = write_all(target_, text);
        lock.lock();
        writing_ = false;
        if (error == EPIPE) {
            reader_gone_ = true;
            pending_.clear();
        }
        changed_.notify_all();
        ::eventfd_write(event_file_.number(), 1);
    }
}

/// Requires the mutex. Returns false if no thread can start; the caller then writes the text.
bool OutputWriter::start_thread() {
    if (running_) return true;
    try {
        std::thread([self = shared_from_this()] { self->run(); }).detach();
    } catch (const std::system_error&) {
        return false;
    }
    running_ = true;
    return true;
}

void OutputWriter::close() {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
}

void OutputWriter::write(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (reader_gone_ || text.empty()) return;
    if (start_thread()) {
        pending_ += text;
        changed_.notify_all();
        return;
    }
    // A pipe that is ready accepts PIPE_BUF bytes without blocking. Other text is lost.
    pollfd writable = {.fd = target_, .events = POLLOUT, .revents = 0};
    while (!text.empty() && !reader_gone_ && ::poll(&writable, 1, 0) == 1) {
        const std::string_view part = text.substr(0, PIPE_BUF);
        reader_gone_ = write_all(target_, part) == EPIPE;
        text.remove_prefix(part.size());
    }
}

bool OutputWriter::has_room() const {
    const std::lock_guard lock(mutex_);
    return pending_.size() < kPendingBytesMax;
}

bool OutputWriter::is_idle() const {
    const std::lock_guard lock(mutex_);
    return pending_.empty() && !writing_;
}

bool OutputWriter::has_lost_its_reader() const {
    const std::lock_guard lock(mutex_);
    return reader_gone_;
}

void OutputWriter::wait_until_idle(std::chrono::milliseconds at_most) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return pending_.empty() && !writing_; });
}

bool same_file(int left, int right) {
    struct stat one = {};
    struct stat other = {};
    return ::fstat(left, &one) == 0 && ::fstat(right, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

LabelPipe::LabelPipe(Rank rank, std::shared_ptr<OutputWriter> target,
                     base::FileDescriptor& pipe_end)
    : label_(fmt::format("[{}] ", rank)), target_(std::move(target)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        fail(Status::environment, "--label: cannot make a pipe for rank {}: {}", rank,
             std::strerror(errno));
    reader_ = base::FileDescriptor(ends[0]);
    pipe_end = base::FileDescriptor(ends[1]);
    ::fcntl(reader_.number(), F_SETFL, O_NONBLOCK);
}

bool LabelPipe::pass_on() {
    std::array<char, 16 * 1024> buffer;
    while (reader_.open() && has_room()) {
        const ssize_t count = ::read(reader_.number(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return true;
        const bool closing = count <= 0;
        if (!closing) pending_.append(buffer.data(), static_cast<std::size_t>(count));
        write_lines(closing);
        // If the output has no reader, closing the pipe makes the rank get SIGPIPE.
        if (closing || target_->has_lost_its_reader()) reader_.close();
        // Returns to the event loop, for other ranks, even if this rank prints without end.
        if (count == static_cast<ssize_t>(buffer.size())) return reader_.open();
    }
    return reader_.open();
}

void LabelPipe::write_lines(bool closing) {
    std::string lines;
    std::size_t start = 0;
    for (std::size_t end; (end = pending_.find('\n', start)) != std::string::npos;
         start = end + 1) {
        lines += label_;
        lines.append(pending_, start, end + 1 - start);
    }
    pending_.erase(0, start);
    if (!pending_.empty() && (closing || pending_.size() > kLineBytesMax)) {
        lines += label_ + pending_ + '\n';
        pending_.clear();
    }
    target_->write(lines);
}

}  // namespace weft::tools
