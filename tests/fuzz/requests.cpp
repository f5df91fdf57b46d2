// SPDX-License-Identifier: BSD-3-Clause
// What far ranks ask for: requests in this rank's cells and payloads of immediates, as the service
// of one-sided calls reads and does them. Nothing outside the segment may be touched, here or
// there.
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "run/onesided/service.hpp"
#include "tests/fuzz/targets.hpp"

namespace weft::fuzz {

namespace {

constexpr std::uint64_t kSegmentBytes = std::uint64_t{1} << 18;

/// Rank 0 of two, the other far: takes everything, and looks at where it comes from and goes to.
class Wire {
  public:
    std::byte* near(Rank rank) noexcept { return rank == 0 ? memory() : nullptr; }
    std::uint64_t segment_bytes() noexcept { return kSegmentBytes; }
    base::Post try_put(const base::Put& put, std::uint64_t&) noexcept {
        for (const base::PutPart& part : put.parts) read(part.data, part.bytes);
        return base::Post::posted;
    }
    base::Post try_write(const base::Write& write, std::uint64_t&) noexcept {
        const std::uint64_t from = static_cast<std::uint64_t>(write.data - memory());
        check(from, write.bytes);
        check(write.target, write.bytes);
        return base::Post::posted;
    }
    base::Post try_read(const base::Read&, std::uint64_t&) noexcept { return base::Post::posted; }
    void settle(std::uint64_t) noexcept {}
    base::RemoteCompletion completion() noexcept { return base::RemoteCompletion::ordered; }
    std::uint64_t written_to(Rank) noexcept { return 0; }
    std::uint32_t close_batch(Rank) noexcept { return 0; }
    bool take_batch(Rank, std::uint32_t) noexcept { return true; }
    bool whole_words() noexcept { return true; }
    bool reads() noexcept { return false; }
    bool signals() noexcept { return true; }
    void distrust(Rank, const char*) noexcept { distrusted = true; }

    std::byte* memory() noexcept { return reinterpret_cast<std::byte*>(cells_.data()); }
    bool distrusted = false;

  private:
    static void check(std::uint64_t offset, std::uint64_t bytes) {
        WEFT_CHECK(offset <= kSegmentBytes && bytes <= kSegmentBytes - offset, offset, bytes);
    }
    /// The address sanitizer says whether it may be.
    static void read(const std::byte* data, std::size_t bytes) {
        std::vector<std::byte> copy(data, data + bytes);
        WEFT_CHECK(copy.size() == bytes, bytes);
    }
    std::vector<base::Cell> cells_ = std::vector<base::Cell>(kSegmentBytes / sizeof(base::Cell));
};

}  // namespace

void requests(std::string_view input) {
    Wire wire;
    const run::OneSidedArea area{.offset = 4096, .ranks = 2};
    WEFT_CHECK(area.offset + area.bytes() <= kSegmentBytes, area.bytes());
    run::Service<Wire> service(wire, area, 0);
    for (std::uint64_t number = 1; !input.empty() && number < 100 && !wire.distrusted; ++number) {
        run::RemoteRequest request;
        const std::size_t bytes = std::min(input.size(), sizeof request);
        std::memcpy(&request, input.data(), bytes);
        input.remove_prefix(bytes);
        service.on_immediate(request.operand);
        auto* cell = reinterpret_cast<base::Cell*>(wire.memory() + area.request(1, number));
        std::memcpy(cell->payload, &request, sizeof request);
        cell->flag.store(base::flag_word(number, 0), std::memory_order_release);
        service.serve();
    }
}

}  // namespace weft::fuzz
