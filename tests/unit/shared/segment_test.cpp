// SPDX-License-Identifier: BSD-3-Clause
// Goal: a segment is sealed and sparse. A card that differs from the segment to which it leads is
// refused, and the difference is named.
// Method: each test changes one field of a card.
#include "link/shared/segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "link/shared/node_map.hpp"

namespace weft::link {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;

Segment create(std::uint64_t bytes = kBytes) {
    return Segment::create({.bytes = bytes, .node = 3}).value();
}

TEST(Segment, ASegmentIsSparseSealedAndHoldsItsNonce) {
    const Segment segment = create();
    struct stat status;
    ASSERT_EQ(::fstat(segment.descriptor(), &status), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), kBytes);
    EXPECT_LE(status.st_blocks * 512, 1 << 21);  // at most one page, possibly a large page
    EXPECT_NE(::ftruncate(segment.descriptor(), 4096), 0);
    EXPECT_NE(::ftruncate(segment.descriptor(), 2 * kBytes), 0);
    SegmentHeader header;
    ASSERT_EQ(::pread(segment.descriptor(), &header, sizeof header, 0),
              static_cast<ssize_t>(sizeof header));
    EXPECT_EQ(header.magic, SegmentHeader::kMagic);
    EXPECT_EQ(header.nonce, segment.card().nonce);
    EXPECT_EQ(header.bytes, kBytes);
    EXPECT_NE(::fcntl(segment.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(segment.card().node, 3U);
    EXPECT_EQ(segment.card().pid, ::getpid());
}

TEST(Segment, SizesAreWholePagesAndInvalidSizesAreRefused) {
    EXPECT_EQ(create(kSegmentHeaderBytes + 1).bytes(), 8192U);
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4096}, ~std::uint64_t{0}}) {
        const auto refused = Segment::create({.bytes = bytes, .node = 0});
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.failure().status, Status::argument);
    }
}

TEST(Segment, TwoSegmentsDifferInInodeAndNonceButNotInHost) {
    const Segment a = create();
    const Segment b = create();
    EXPECT_NE(a.card().inode, b.card().inode);
    EXPECT_NE(a.card().nonce, b.card().nonce);
    EXPECT_EQ(a.card().boot, b.card().boot);
    EXPECT_EQ(a.card().host, b.card().host);
}

TEST(SegmentCard, ACardIsReadBack) {
    const Segment segment = create();
    const auto bytes = std::as_bytes(std::span(&segment.card(), 1));
    EXPECT_EQ(SegmentCard::from_bytes(bytes).value(), segment.card());
    EXPECT_FALSE(SegmentCard::from_bytes(bytes.first(bytes.size() - 1)).ok());
    std::vector<std::byte> other_kind(bytes.begin(), bytes.end());
    other_kind[0] ^= std::byte{1};  // a card begins with its kind
    const auto refused = SegmentCard::from_bytes(other_kind);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.failure().text.find("kind"), std::string::npos);
}

/// Opens a map with a changed card of rank 1, whose segment must not be mapped. Returns the
/// reported problem.
std::string problem_with(const Segment& mine, const SegmentCard& forged) {
    const SegmentCard cards[] = {mine.card(), forged};
    const auto map = NodeMap::open(mine, cards, 0);
    EXPECT_TRUE(map.ok());
    EXPECT_EQ(map.value().base(1), nullptr);
    EXPECT_NE(map.value().base(0), nullptr);
    EXPECT_EQ(map.value().verdict().mapped, std::vector<Rank>{0});
    return map.value().problems();
}

#define EXPECT_CONTAINS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

class ForgedCard : public ::testing::Test {
  protected:
    Segment mine_ = create();
    Segment theirs_ = create();
    SegmentCard card_ = theirs_.card();
};

TEST_F(ForgedCard, TheUnchangedCardIsMapped) {
    const SegmentCard cards[] = {mine_.card(), card_};
    const NodeMap map = NodeMap::open(mine_, cards, 0).value();
    EXPECT_NE(map.base(1), nullptr) << map.problems();
}

TEST_F(ForgedCard, AWrongNonceIsRefused) {
    card_.nonce ^= 0x10;
    const std::string text = problem_with(mine_, card_);
    EXPECT_CONTAINS(text, "rank 0 does not share memory with rank 1: it is another segment");
    EXPECT_CONTAINS(text, "nonce");
}

TEST_F(ForgedCard, AWrongInodeIsRefused) {
    card_.inode += 1;
    EXPECT_CONTAINS(problem_with(mine_, card_), "inode " + std::to_string(theirs_.card().inode) +
                                                    ", expected " + std::to_string(card_.inode));
}

TEST_F(ForgedCard, TheDescriptorOfAnotherSegmentIsRefused) {
    card_.descriptor = mine_.descriptor();
    EXPECT_CONTAINS(problem_with(mine_, card_), "is another file: found inode");
}

TEST_F(ForgedCard, TheDescriptorOfAPipeIsNotOpened) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const base::FileDescriptor reading(ends[0]);
    const base::FileDescriptor writing(ends[1]);
    card_.descriptor = ends[0];
    struct stat status;
    ASSERT_EQ(::fstat(ends[0], &status), 0);
    card_.inode = status.st_ino;
    EXPECT_CONTAINS(problem_with(mine_, card_), "is not a file in memory");
}

TEST_F(ForgedCard, ThePidOfADeadProcessIsRefused) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
    card_.pid = pid;
    EXPECT_CONTAINS(problem_with(mine_, card_), "cannot stat /proc/" + std::to_string(pid));
}

TEST_F(ForgedCard, ThePidOfAnotherProcessIsRefused) {
    card_.pid = ::getppid();
    EXPECT_CONTAINS(problem_with(mine_, card_), "rank 0 does not share memory with rank 1");
}

TEST_F(ForgedCard, AFileThatCouldShrinkIsRefused) {
    const base::FileDescriptor file(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(file.number(), kBytes), 0);
    SegmentHeader header;
    header.nonce = card_.nonce;
    header.bytes = card_.bytes;
    ASSERT_EQ(::pwrite(file.number(), &header, sizeof header, 0),
              static_cast<ssize_t>(sizeof header));
    struct stat status;
    ASSERT_EQ(::fstat(file.number(), &status), 0);
    card_.descriptor = file.number();
    card_.inode = status.st_ino;
    EXPECT_CONTAINS(problem_with(mine_, card_), "not sealed");
}

TEST_F(ForgedCard, OtherSizesAreRefused) {
    const Segment smaller = create(kBytes / 2);
    EXPECT_CONTAINS(problem_with(mine_, smaller.card()),
                    "its segment has 536870912 bytes, this rank's has");
    card_ = smaller.card();
    card_.bytes = kBytes;
    EXPECT_CONTAINS(problem_with(mine_, card_), "its size is 536870912 bytes, expected 1073741824");
}

}  // namespace
}  // namespace weft::link
