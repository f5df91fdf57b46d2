// SPDX-License-Identifier: BSD-3-Clause
// Goal: the reader accepts symmetric matrices in all forms of the Matrix Market format. It refuses
// other input, and the message names the line.
// Method: tests read small files as text, and a generated matrix.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "perf/apps/cg/sparse_rows.hpp"

namespace apps {
namespace {

SparseRows rows_of(const std::string& text, std::int64_t begin = 0, std::int64_t end = -1) {
    std::istringstream in(text);
    MatrixMarketReader reader(in, "file");
    return read_symmetric_rows(reader, begin, end < 0 ? reader.rows() : end);
}

std::string refusal_of(const std::string& text) {
    try {
        (void)rows_of(text);
    } catch (const FormatError& error) {
        return error.what();
    }
    return "accepted";
}

constexpr const char* kBanner = "%%MatrixMarket matrix coordinate real symmetric\n";

TEST(MatrixMarket, ASymmetricFileFillsBothTriangles) {
    const SparseRows rows = rows_of(std::string(kBanner) +
                                    "% a comment\n\n3 3 4\n1 1 2\n2 1 -1.5e0\n  3\t3 +4\r\n"
                                    "% another\n2 2 3\n\n");
    EXPECT_EQ(rows.starts, (std::vector<std::size_t>{0, 2, 4, 5}));
    EXPECT_EQ(rows.columns, (std::vector<std::int64_t>{0, 1, 0, 1, 2}));
    EXPECT_EQ(rows.values, (std::vector<double>{2, -1.5, -1.5, 3, 4}));
}

TEST(MatrixMarket, GeneralIntegerAndPatternFilesAreRead) {
    const SparseRows general = rows_of(
        "%%matrixmarket MATRIX Coordinate Integer General\n2 2 4\n2 1 7\n1 1 5\n1 2 7\n2 2 9\n");
    EXPECT_EQ(general.values, (std::vector<double>{5, 7, 7, 9}));
    const SparseRows pattern =
        rows_of("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n");
    EXPECT_EQ(pattern.values, (std::vector<double>{1, 1, 1}));
}

TEST(MatrixMarket, ARankKeepsOnlyItsRows) {
    const std::string text = std::string(kBanner) + "4 4 5\n1 1 1\n2 2 2\n3 3 3\n4 4 4\n4 2 9\n";
    const SparseRows middle = rows_of(text, 1, 3);
    EXPECT_EQ(middle.starts, (std::vector<std::size_t>{0, 2, 3}));
    EXPECT_EQ(middle.values, (std::vector<double>{2, 9, 3}));
    EXPECT_EQ(rows_of(text, 2, 2).count(), 0U);
}

TEST(MatrixMarket, ErrorsNameTheLineAndTheExpectedText) {
    const std::string size = std::string(kBanner) + "2 2 1\n";
    const std::pair<std::string, std::string> cases[] = {
        {"", "file:1: invalid banner, expected"},
        {"2 2 1\n", "file:1: invalid banner"},
        {"%%MatrixMarket matrix array real general\n", "file:1: \"array\" is unknown"},
        {"%%MatrixMarket matrix coordinate complex general\n", "\"complex\" is unknown"},
        {"%%MatrixMarket matrix coordinate real hermitian\n", "\"hermitian\" is unknown"},
        {kBanner, "file: ends before the line \"rows columns entries\""},
        {std::string(kBanner) + "2 2\n", "file:2: 2 words, expected \"rows columns entries\""},
        {std::string(kBanner) + "2 -2 1\n", "file:2: \"-2\" is not a size, expected 0.."},
        {std::string(kBanner) + "2 2 5\n", "file:2: \"5\" is not a size, expected 0..4"},
        {std::string(kBanner) + "2 3 1\n", "file:2: 2 rows and 3 columns"},
        {"%%MatrixMarket matrix coordinate real general\n2 3 0\n", "file: 2 rows and 3 columns"},
        {size, "file: ends after 0 entries, expected 1"},
        {size + "1 1\n", "file:3: 2 words, expected \"row column value\""},
        {size + "1 1 1 1\n", "file:3: 4 words"},
        {size + "0 1 1\n", "file:3: \"0\" is not a row, expected 1..2"},
        {size + "1 3 1\n", "file:3: \"3\" is not a column, expected 1..2"},
        {size + "% comment\n1 1 x\n", "file:4: \"x\" is not a finite number"},
        {size + "1 1 inf\n", "file:3: \"inf\" is not a finite number"},
        {size + "1 2 1\n", "file:3: an entry above the diagonal"},
        {size + "1 1 1\n2 2 1\n", "file:4: more than 1 entries"},
        {std::string(kBanner) + "2 2 2\n2 1 1\n2 1 3\n", "file:4: this entry is also in line 3"},
        {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n",
         "file:3: \"1.5\" is not an integer"},
        {"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n",
         "file:3: 3 words, expected \"row column\""},
        {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 2\n",
         "file: the matrix is not symmetric"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n",
         "file: the matrix is not symmetric"},
    };
    for (const auto& [text, expected] : cases)
        EXPECT_NE(refusal_of(text).find(expected), std::string::npos)
            << refusal_of(text) << " instead of " << expected;
}

TEST(MatrixMarket, TheGeneratedMeshIsRead) {
    std::ifstream in(MESH);
    MatrixMarketReader reader(in, "mesh_300.mtx");
    const SparseRows rows = read_symmetric_rows(reader, 0, reader.rows());
    EXPECT_EQ(rows.count(), 300U);
    // The file lists the diagonal and the entries below it.
    EXPECT_EQ(rows.values.size(), 2 * static_cast<std::size_t>(reader.listed()) - rows.count());
}

}  // namespace
}  // namespace apps
