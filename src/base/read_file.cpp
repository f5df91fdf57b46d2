// SPDX-License-Identifier: BSD-3-Clause
#include "base/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file_descriptor.hpp"

namespace weft::base {

Result<std::string> read_file(const std::string& path, std::size_t bytes_max, Pipes pipes) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    const int extra_flags = pipes == Pipes::refused ? O_NONBLOCK : 0;
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | extra_flags));
    struct stat status = {};
    if (!file.open() || ::fstat(file.number(), &status) != 0)
        return fail(Status::argument, "{} cannot be read: {}", path, std::strerror(errno));
    if (pipes == Pipes::refused && S_ISFIFO(status.st_mode))
        return fail(Status::argument, "{} is a pipe, expected a file", path);
    std::string text;
    while (text.size() <= bytes_max) {
        const std::size_t had = text.size();
        text.resize(had + kPiece);
        const ssize_t got = ::read(file.number(), text.data() + had, kPiece);
        text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fail(Status::argument, "{} cannot be read: {}", path, std::strerror(errno));
        if (got == 0) break;
    }
    if (text.size() > bytes_max)
        return fail(Status::argument, "{} has more than {} bytes", path, bytes_max);
    return text;
}

}  // namespace weft::base
