// SPDX-License-Identifier: BSD-3-Clause
// records.hpp - records of one size, one after the other, and what can be done with them in one
// process.
//
// Idea     A record is so many bytes, of which the first are its key; keys compare as bytes.
//          Sorting moves numbers of records and copies each record once, at the end.
// Holds    Sorting and merging are stable: records of one key keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apps {

struct RecordShape {
    std::size_t bytes = 100;
    std::size_t key_bytes = 10;  ///< 1..bytes
};

class Records {
  public:
    Records() = default;
    /// So many, all bytes 0.
    Records(RecordShape shape, std::size_t count) : shape_(shape), bytes_(count * shape.bytes) {}

    [[nodiscard]] const RecordShape& shape() const { return shape_; }
    [[nodiscard]] std::size_t count() const { return bytes_.size() / shape_.bytes; }
    [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] std::span<std::byte> record(std::size_t index) {
        return bytes().subspan(index * shape_.bytes, shape_.bytes);
    }
    [[nodiscard]] std::span<const std::byte> record(std::size_t index) const {
        return bytes().subspan(index * shape_.bytes, shape_.bytes);
    }
    [[nodiscard]] std::span<const std::byte> key(std::size_t index) const {
        return record(index).first(shape_.key_bytes);
    }

  private:
    RecordShape shape_;
    std::vector<std::byte> bytes_;
};

/// Negative, 0 or positive, as memcmp; of the same length.
[[nodiscard]] int compare_keys(std::span<const std::byte> left, std::span<const std::byte> right);

/// Records in the order of their keys, and where each one stood before.
struct Sorted {
    Records records;
    std::vector<std::size_t> places;
};
[[nodiscard]] Sorted sort_records(const Records& records);

/// Blocks that are sorted each become one. starts: of each block, and the end of the last.
[[nodiscard]] Records merge_blocks(const Records& records, std::span<const std::size_t> starts);

/// Records whose key is less than the one before.
[[nodiscard]] std::size_t count_descents(const Records& records);

/// A sum over records: it does not depend on their order, and those of parts add up to that of the
/// whole. Two different sets of records have the same one with a probability of 2^-128.
struct Digest {
    std::uint64_t words[2] = {0, 0};

    friend bool operator==(const Digest&, const Digest&) = default;
};
[[nodiscard]] Digest digest(const Records& records);

/// Records of a counter-based generator: `first` and those after it, so that any number of ranks
/// makes the same file. distinct: how many different keys there are; 0: as many as records.
struct MadeRecords {
    std::uint64_t seed = 1;
    std::uint64_t distinct = 0;
};
[[nodiscard]] Records make_records(RecordShape shape, const MadeRecords& made, std::uint64_t first,
                                   std::size_t count);

}  // namespace apps
