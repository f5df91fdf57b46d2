// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/label_pipes.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::tools {
namespace {

constexpr std::size_t kLineBytesMax = 64 * 1024;

}  // namespace

base::Result<LabelPipe> LabelPipe::create(Rank rank, std::shared_ptr<OutputWriter> target,
                                          base::FileDescriptor& pipe_end) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return base::fail(Status::environment, "--label: cannot make a pipe for rank {}: {}", rank,
                          std::strerror(errno));
    }
    base::FileDescriptor reader(ends[0]);
    pipe_end = base::FileDescriptor(ends[1]);
    ::fcntl(reader.number(), F_SETFL, O_NONBLOCK);
    return LabelPipe(rank, std::move(target), std::move(reader));
}

LabelPipe::LabelPipe(Rank rank, std::shared_ptr<OutputWriter> target, base::FileDescriptor reader)
    : label_(fmt::format("[{}] ", rank)), target_(std::move(target)), reader_(std::move(reader)) {}

bool LabelPipe::pass_on() {
    std::array<char, 16 * 1024> buffer;
    while (reader_.open() && has_room()) {
        const ssize_t count = ::read(reader_.number(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return true;
        const bool closing = count <= 0;
        if (!closing) pending_.append(buffer.data(), static_cast<std::size_t>(count));
        write_lines(closing);
        // If the output has lost its reader, closing the pipe reports this to the rank by SIGPIPE.
        if (closing || target_->has_lost_its_reader()) reader_.close();
        // Yields to events of other ranks if this rank prints without end.
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
