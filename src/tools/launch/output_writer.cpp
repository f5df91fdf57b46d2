// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/output_writer.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "base/file_descriptor.hpp"

namespace weft::tools {
namespace {

constexpr std::size_t kPendingBytesMax = 256 * 1024;

/// Returns 0, or the error that prevents writing the rest of the text.
int write_all(int target, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(target, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno ==
                   EAGAIN) {  // another process has made the file non-blocking: wait for room
            pollfd room = {.fd = target, .events = POLLOUT, .revents = 0};
            ::poll(&room, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

}  // namespace

struct OutputWriter::State {
    State(int file, base::FileDescriptor event) : target(file), event_file(std::move(event)) {}

    void run();
    [[nodiscard]] bool start_thread(const std::shared_ptr<State>& self);

    const int target;
    const base::FileDescriptor event_file;
    std::mutex mutex;  ///< protects all members below
    std::condition_variable changed;
    std::string pending;
    bool running = false;  ///< the thread exists
    bool writing = false;  ///< the thread is in a write
    bool reader_gone = false;
    bool closing = false;
};

void OutputWriter::State::run() {
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, [&] { return !pending.empty() || closing; });
        if (pending.empty()) return;
        const std::string text = std::exchange(pending, {});
        writing = true;
        lock.unlock();
        const int error = write_all(target, text);
        lock.lock();
        writing = false;
        if (error == EPIPE) {
            reader_gone = true;
            pending.clear();
        }
        changed.notify_all();
        ::eventfd_write(event_file.number(), 1);
    }
}

/// Call with the mutex held. Returns false if no thread can start; the caller then writes itself.
bool OutputWriter::State::start_thread(const std::shared_ptr<State>& self) {
    if (running) return true;
    try {
        std::thread([self] { self->run(); }).detach();
    } catch (const std::system_error&) {
        return false;
    }
    running = true;
    return true;
}

base::Result<std::shared_ptr<OutputWriter>> OutputWriter::create(int target) {
    base::FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event.open())
        return base::fail(Status::environment, "cannot make an event: {}", std::strerror(errno));
    return std::shared_ptr<OutputWriter>(
        new OutputWriter(std::make_shared<State>(target, std::move(event))));
}

OutputWriter::~OutputWriter() {
    const std::lock_guard lock(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
}

void OutputWriter::write(std::string_view text) {
    const std::lock_guard lock(state_->mutex);
    if (state_->reader_gone || text.empty()) return;
    if (state_->start_thread(state_)) {
        state_->pending += text;
        state_->changed.notify_all();
        return;
    }
    // A pipe that is ready takes PIPE_BUF bytes at once; text that it does not take is lost.
    pollfd room = {.fd = state_->target, .events = POLLOUT, .revents = 0};
    while (!text.empty() && !state_->reader_gone && ::poll(&room, 1, 0) == 1) {
        const std::string_view part = text.substr(0, PIPE_BUF);
        state_->reader_gone = write_all(state_->target, part) == EPIPE;
        text.remove_prefix(part.size());
    }
}

bool OutputWriter::has_room() const {
    const std::lock_guard lock(state_->mutex);
    return state_->pending.size() < kPendingBytesMax;
}

bool OutputWriter::is_idle() const {
    const std::lock_guard lock(state_->mutex);
    return state_->pending.empty() && !state_->writing;
}

bool OutputWriter::has_lost_its_reader() const {
    const std::lock_guard lock(state_->mutex);
    return state_->reader_gone;
}

void OutputWriter::wait_until_idle(std::chrono::milliseconds at_most) const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, at_most,
                             [&] { return state_->pending.empty() && !state_->writing; });
}

int OutputWriter::event_file() const {
    return state_->event_file.number();
}

bool same_file(int left, int right) {
    struct stat one = {};
    struct stat other = {};
    return ::fstat(left, &one) == 0 && ::fstat(right, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

}  // namespace weft::tools
