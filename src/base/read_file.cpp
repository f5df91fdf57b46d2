// SPDX-License-Identifier: BSD-3-Clause
#include "base/read_file.hpp"

#include <fstream>

namespace weft::base {

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    std::ifstream file(path, std::ios::binary);
    std::string text;
    while (file && text.size() <= bytes_max) {
        const std::size_t had = text.size();
        text.resize(had + kPiece);
        file.read(text.data() + had, kPiece);
        text.resize(had + static_cast<std::size_t>(file.gcount()));
    }
    if (!file.is_open() || file.bad()) return fail(Status::argument, "{} cannot be read", path);
    if (text.size() > bytes_max)
        return fail(Status::argument, "{} has more than {} bytes", path, bytes_max);
    return text;
}

}  // namespace weft::base
