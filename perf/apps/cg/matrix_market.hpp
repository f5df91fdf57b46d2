// SPDX-License-Identifier: BSD-3-Clause
// matrix_market.hpp - reads sparse matrices in the Matrix Market exchange format.
//
// Idea     One entry at a time, so that a rank that needs some rows does not hold them all.
// Holds    Coordinate format; real, integer or pattern (each entry is 1); general or symmetric
//          (entries of the lower triangle only, as the format wants them). Anything else, and
//          whatever does not fit the size line, is a FormatError that names file and line.
// Next     Boisvert, Pozo and Remington, The Matrix Market Exchange Formats: Initial Design (1996),
//          for the format; sparse_rows.hpp for what is made of the entries.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace apps {

/// "poisson.mtx:12: what is wrong".
class FormatError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// One entry; rows and columns from 0.
struct Entry {
    std::int64_t row = 0;
    std::int64_t column = 0;
    double value = 0;
    std::int64_t line = 0;  ///< of the file
};

class MatrixMarketReader {
  public:
    /// Reads up to the size line. name: of the file, for errors. `in` must outlive the reader.
    MatrixMarketReader(std::istream& in, std::string name);

    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t columns() const { return columns_; }
    /// Entries that the file lists.
    [[nodiscard]] std::int64_t listed() const { return listed_; }
    /// Whether an entry off the diagonal stands for its mirror image as well.
    [[nodiscard]] bool symmetric() const { return symmetric_; }

    /// The next one as the file lists it; none after the last, and then nothing may be left.
    [[nodiscard]] std::optional<Entry> next();

    /// A failure of this file; line 0: of the whole.
    [[nodiscard]] FormatError error(std::int64_t line, std::string_view text) const;

  private:
    enum class Field { real, integer, pattern };

    bool next_line();  ///< the next one that is neither empty nor a comment
    void read_banner();
    void read_size();
    [[nodiscard]] FormatError here(std::string_view text) const { return error(line_, text); }
    [[nodiscard]] std::int64_t read_index(std::string_view word, std::string_view what,
                                          std::int64_t most) const;
    [[nodiscard]] double read_value(std::string_view word) const;

    std::istream& in_;
    std::string name_;
    std::string text_;  ///< of the line
    std::int64_t line_ = 0;
    Field field_ = Field::real;
    bool symmetric_ = false;
    std::int64_t rows_ = 0;
    std::int64_t columns_ = 0;
    std::int64_t listed_ = 0;
    std::int64_t read_ = 0;
};

}  // namespace apps
