// SPDX-License-Identifier: BSD-3-Clause
// matrix_market.hpp - reads sparse matrices in the Matrix Market exchange format.
//
// Idea     The reader returns one entry at a time, so that a rank stores only entries of its rows.
// Holds    A file has coordinate format. Its entries are real, integer or pattern (each entry is
//          1). The matrix is general or symmetric (the file then has only the lower triangle). Any
//          other file, and any entry that contradicts the size line, gives a FormatError.
// Next     Boisvert, Pozo and Remington, The Matrix Market Exchange Formats: Initial Design (1996),
//          for the format; sparse_rows.hpp for the use of the entries.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace apps {

/// Error with file and line, such as "poisson.mtx:12: 3 words, expected 2".
class FormatError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// One entry; rows and columns count from 0.
struct Entry {
    std::int64_t row = 0;
    std::int64_t column = 0;
    double value = 0;
    std::int64_t line = 0;  ///< line of the file, from 1
};

class MatrixMarketReader {
  public:
    /// Reads up to the size line. `name` is the file's name in errors. `in` must
    /// outlive the reader.
    MatrixMarketReader(std::istream& in, std::string name);

    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t columns() const { return columns_; }
    /// Returns the number of entries in the file.
    [[nodiscard]] std::int64_t listed() const { return listed_; }
    /// Returns true if each entry off the diagonal also represents its mirror image.
    [[nodiscard]] bool symmetric() const { return symmetric_; }

    /// Returns the next entry of the file. After the last entry it checks that nothing follows,
    /// and returns nullopt.
    [[nodiscard]] std::optional<Entry> next();

    /// Returns an error about a line of this file, or about the whole file if line is 0.
    [[nodiscard]] FormatError error(std::int64_t line, std::string_view text) const;

  private:
    enum class Field { real, integer, pattern };

    bool next_line();  ///< skips empty lines and comments
    void read_banner();
    void read_size();
    [[nodiscard]] FormatError error_here(std::string_view text) const { return error(line_, text); }
    [[nodiscard]] std::int64_t read_index(std::string_view word, std::string_view kind,
                                          std::int64_t limit) const;
    [[nodiscard]] double read_value(std::string_view word) const;

    std::istream& in_;
    std::string name_;
    std::string text_;       ///< current line
    std::int64_t line_ = 0;  ///< number of the current line, from 1
    Field field_ = Field::real;
    bool symmetric_ = false;
    std::int64_t rows_ = 0;
    std::int64_t columns_ = 0;
    std::int64_t listed_ = 0;
    std::int64_t read_ = 0;  ///< number of entries that next() has returned
};

}  // namespace apps
