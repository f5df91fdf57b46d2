// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/samplesort/record_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace apps {

namespace {

std::string problem_of(const std::string& path, const char* what) {
    return fmt::format("{}: {}: {}", path, what, std::strerror(errno));
}

}  // namespace

RecordCount count_records(const std::string& path, const RecordShape& shape) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    if (error) return {-1, fmt::format("{}: cannot be opened: {}", path, error.message())};
    if (bytes % shape.bytes != 0)
        return {-1, fmt::format("{}: {} bytes, expected a multiple of the {} bytes of a record",
                                path, bytes, shape.bytes)};
    return {static_cast<std::int64_t>(bytes / shape.bytes), ""};
}

std::string read_records(const std::string& path, std::int64_t first, Records& records) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return problem_of(path, "cannot be opened");
    const std::span<std::byte> bytes = records.bytes();
    file.seekg(first * static_cast<std::int64_t>(records.shape().bytes));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file ? ""
                : fmt::format("{}: ends before record {}", path,
                              first + static_cast<std::int64_t>(records.count()));
}

std::string make_record_file(const std::string& path, std::uint64_t bytes) {
    if (!std::ofstream(path, std::ios::binary)) return problem_of(path, "cannot be written");
    std::error_code error;
    std::filesystem::resize_file(path, bytes, error);
    return error ? fmt::format("{}: cannot be written: {}", path, error.message()) : "";
}

std::string write_records(const std::string& path, std::int64_t first, const Records& records) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    if (!file) return problem_of(path, "cannot be written");
    const std::span<const std::byte> bytes = records.bytes();
    file.seekp(first * static_cast<std::int64_t>(records.shape().bytes));
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    return file ? "" : problem_of(path, "cannot be written");
}

}  // namespace apps
