// SPDX-License-Identifier: BSD-3-Clause
// Goal: collectives move each necessary byte between buffers of local peers once, by each method of
// access. If buffers are unreachable, put targets are used. Method: run direct_moves.cpp. The log
// of each rank has the numbers of bytes that it has read and written; the tests sum them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kCount = 24'001;  // doubles; no multiple of a page or of the ranks
constexpr std::uint64_t kCalls = 7;

/// Bytes accessed in memory of local peers, summed over all ranks.
struct Moved {
    std::uint64_t read_in_place = 0;
    std::uint64_t read_by_kernel = 0;
    std::uint64_t written_in_place = 0;
    std::uint64_t written_by_kernel = 0;
};

/// A temporary folder with the log of each rank.
class Logs {
  public:
    Logs() { std::filesystem::create_directories(folder_); }
    ~Logs() { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string setting() const {
        return "WEFT_LOG_FILE=" + (folder_ / "log.%r").string();
    }
    [[nodiscard]] Moved sum() const {
        const std::regex line(
            "read (\\d+) bytes in place and (\\d+) by the kernel, "
            "wrote (\\d+) bytes in place and (\\d+) by the kernel");
        Moved moved;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            std::ifstream file(entry.path());
            std::smatch found;
            for (std::string text; std::getline(file, text);) {
                if (!std::regex_search(text, found, line)) continue;
                moved.read_in_place += std::stoull(found[1]);
                moved.read_by_kernel += std::stoull(found[2]);
                moved.written_in_place += std::stoull(found[3]);
                moved.written_by_kernel += std::stoull(found[4]);
            }
        }
        return moved;
    }

  private:
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("weft_direct_" + std::to_string(getpid()));
};

/// Runs a job with its log in files. Returns the bytes that it moved. `memory` is `heap` or `own`,
/// `method` the value of WEFT_DIRECT.
Moved moved_by(const std::string& collective, const std::vector<std::string>& ranks,
               const std::string& algorithm, std::uint64_t calls, const char* memory,
               const char* method) {
    const Logs logs;
    std::string variable = "WEFT_";
    for (const char letter : collective)
        variable += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    const Outcome outcome = run_ranks(ranks,
                                      {rank_program("direct_moves"), collective,
                                       std::to_string(kCount), std::to_string(calls), memory},
                                      {"WEFT_LOG=info", logs.setting(), variable + "=" + algorithm,
                                       std::string("WEFT_DIRECT=") + method});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return logs.sum();
}

/// Returns the bytes that kCalls calls moved, without the bytes of start-up.
Moved moved_by_calls(const std::string& collective, const std::vector<std::string>& ranks,
                     const std::string& algorithm, const char* memory, const char* method) {
    const Moved all = moved_by(collective, ranks, algorithm, kCalls, memory, method);
    const Moved start_up = moved_by(collective, ranks, algorithm, 0, memory, method);
    return {all.read_in_place - start_up.read_in_place,
            all.read_by_kernel - start_up.read_by_kernel,
            all.written_in_place - start_up.written_in_place,
            all.written_by_kernel - start_up.written_by_kernel};
}

TEST(DirectMovesTest, EachTransferMethodReadsAndWritesEachByteOnce) {
    for (const int ranks : {2, 3}) {
        const std::uint64_t peers = static_cast<std::uint64_t>(ranks) - 1;
        const std::uint64_t bytes = kCount * sizeof(double) * kCalls;
        for (const auto& [memory, method] :
             {std::pair("heap", "auto"), std::pair("own", "adopt"), std::pair("own", "copy")}) {
            SCOPED_TRACE(std::to_string(ranks) + " ranks, " + memory + " memory, " + method);
            const auto moved = [&, memory = memory, method = method](const char* collective) {
                return moved_by_calls(collective, {"-n", std::to_string(ranks)}, "mapped", memory,
                                      method);
            };
            const Moved broadcast = moved("broadcast");
            const Moved allreduce = moved("allreduce");
            const Moved allgather = moved("allgather");
            const bool copied = std::string(method) == "copy";
            // Returns the bytes of the method, after a check that the other method moved none.
            const auto moved_bytes = [&](std::uint64_t in_place, std::uint64_t by_kernel) {
                EXPECT_EQ(copied ? in_place : by_kernel, 0U);
                return in_place + by_kernel;
            };
            EXPECT_EQ(moved_bytes(broadcast.read_in_place, broadcast.read_by_kernel) +
                          moved_bytes(broadcast.written_in_place, broadcast.written_by_kernel),
                      peers * bytes)
                << "either the root writes or its peers read";
            EXPECT_EQ(moved_bytes(allreduce.read_in_place, allreduce.read_by_kernel),
                      peers * bytes);
            EXPECT_EQ(moved_bytes(allreduce.written_in_place, allreduce.written_by_kernel),
                      peers * bytes);
            EXPECT_EQ(moved_bytes(allgather.read_in_place, allgather.read_by_kernel),
                      peers * static_cast<std::uint64_t>(ranks) * bytes);
            EXPECT_EQ(moved_bytes(allgather.written_in_place, allgather.written_by_kernel), 0U);
        }
    }
}

/// On two virtual nodes of three ranks, each rank copies the blocks of its local peers once, from
/// their buffers. In an allgather, each of the 6 ranks copies 2 blocks of local peers and 2 blocks
/// that these have received: 24. In an allreduce, each rank reduces a third of the buffer from 2
/// inputs, and copies the other two thirds of the result: 8 buffers.
TEST(DirectMovesTest, RanksOnSeveralNodesReadEachLocalBlockOnce) {
    struct Expected {
        const char* collective;
        const char* algorithm;
        std::uint64_t blocks;  ///< blocks or buffers that all ranks together read in place
    };
    const std::vector<std::string> ranks{"-n", "6", "--layout", "3,3"};
    const Moved start_up = moved_by("scatter", ranks, "multi-object", 0, "own", "adopt");
    for (const Expected& call :
         {Expected{"scatter", "multi-object", 4}, Expected{"allgather", "multi-object-ring", 24},
          Expected{"allgather", "multi-object-bruck", 24},
          Expected{"allreduce", "multi-object-large", 8},
          Expected{"broadcast", "hierarchical", 4}}) {
        SCOPED_TRACE(std::string(call.collective) + " " + call.algorithm);
        const Moved moved =
            moved_by(call.collective, ranks, call.algorithm, kCalls, "own", "adopt");
        EXPECT_EQ(moved.read_in_place - start_up.read_in_place,
                  call.blocks * kCount * sizeof(double) * kCalls);
        EXPECT_EQ(moved.written_in_place - start_up.written_in_place, 0U);
        EXPECT_EQ(moved.read_by_kernel - start_up.read_by_kernel, 0U);
        EXPECT_EQ(moved.written_by_kernel - start_up.written_by_kernel, 0U);
    }
}

TEST(DirectMovesTest, PutTargetsAreUsedIfBuffersAreUnreachable) {
    const Logs logs;
    const Outcome outcome =
        run_ranks({"-n", "3"}, {rank_program("direct_moves"), "allreduce", "100000", "3", "own"},
                  {"WEFT_LOG=info", logs.setting(), "WEFT_DIRECT=stage"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(logs.sum().read_in_place + logs.sum().read_by_kernel, 0U);
}

/// All ranks refuse the algorithm, also ranks that expose no buffer, so that no rank waits.
TEST(DirectMovesTest, AnAlgorithmThatCannotReachBuffersIsRefused) {
    for (const std::string collective : {"ALLREDUCE", "BROADCAST"}) {
        std::string name = collective;
        for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
        const Outcome outcome =
            run_ranks({"-n", "3"}, {rank_program("direct_moves"), name, "1000", "1", "own"},
                      {"WEFT_DIRECT=stage", "WEFT_" + collective + "=mapped"});
        EXPECT_NE(outcome.status, 0);
        EXPECT_NE(outcome.errors.find("WEFT_DIRECT"), std::string::npos) << outcome.errors;
        EXPECT_EQ(outcome.errors.find(" epoch "), std::string::npos) << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
