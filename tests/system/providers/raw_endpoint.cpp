// SPDX-License-Identifier: BSD-3-Clause
#include "tests/system/providers/raw_endpoint.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>

#include <array>
#include <stdexcept>

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kContexts = 256;
constexpr auto kWaitLimit = std::chrono::seconds(10);

}  // namespace

RawEndpoint::RawEndpoint(const link::FabricOptions& options, const link::Profile& profile,
                         std::span<std::byte> memory)
    : BareEndpoint(link::discover(options, profile), memory),
      contexts_(kContexts),
      desc_(fi_mr_desc(region_.get())) {
    for (fi_context2& context : contexts_) free_.push_back(&context);
}

bool RawEndpoint::try_write(const Write& write) {
    if (free_.empty()) return false;
    const iovec source{buffer_.data() + write.from, write.bytes};
    const fi_rma_iov target{base_ + write.to, write.bytes, key_};
    const fi_msg_rma message{.msg_iov = &source,
                             .desc = &desc_,
                             .iov_count = 1,
                             .addr = peer_,
                             .rma_iov = &target,
                             .rma_iov_count = 1,
                             .context = free_.back(),
                             .data = write.data};
    const ssize_t code = fi_writemsg(endpoint_.get(), &message, write.flags | FI_COMPLETION);
    if (code == -FI_EAGAIN) return false;
    micro::require(code, fmt::format("fi_writemsg of {} bytes", write.bytes));
    free_.pop_back();
    ++posted;
    return true;
}

void RawEndpoint::write(const Write& write) {
    until([&] { return try_write(write); }, "a write to be accepted");
}

void RawEndpoint::poll() {
    std::array<fi_cq_data_entry, 16> entries{};
    const ssize_t got = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (got == -FI_EAGAIN) {
        ::sched_yield();
        return;
    }
    if (got == -FI_EAVAIL) return read_error();
    if (got < 0) micro::require(got, "fi_cq_read");
    for (ssize_t i = 0; i < got; ++i) {
        const auto& entry = entries[static_cast<std::size_t>(i)];
        auto* context = static_cast<fi_context2*>(entry.op_context);
        const bool ours = context >= contexts_.data() && context < contexts_.data() + kContexts;
        if (ours && (entry.flags & FI_REMOTE_WRITE) == 0) {
            ++completed;
            free_.push_back(context);
        } else if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
            ++arrived;
            last_data = entry.data;
        } else {
            ++stray;
        }
    }
}

void RawEndpoint::read_error() {
    fi_cq_err_entry entry{};
    if (fi_cq_readerr(completions_.get(), &entry, 0) < 0) return;
    throw std::runtime_error(fmt::format("completion error: {}", fi_strerror(entry.err)));
}

void RawEndpoint::until(const std::function<bool()>& condition, std::string_view what) {
    const auto deadline = Clock::now() + kWaitLimit;
    while (!condition()) {
        poll();
        if (Clock::now() > deadline)
            throw std::runtime_error(fmt::format("waited too long for {}", what));
    }
}

bool RawEndpoint::within(std::chrono::milliseconds time, const std::function<bool()>& condition) {
    const auto deadline = Clock::now() + time;
    while (!condition()) {
        if (Clock::now() > deadline) return false;
        poll();
    }
    return true;
}

}  // namespace weft::test
