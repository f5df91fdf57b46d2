// SPDX-License-Identifier: BSD-3-Clause
#include "tests/providers/raw_endpoint.hpp"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
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

void check(int code, std::string_view call) {
    if (code != 0) throw std::runtime_error(fmt::format("{}: {}", call, fi_strerror(-code)));
}

link::Found discovered(const link::FabricOptions& options, const link::Profile& profile) {
    auto found = link::discover(options, profile);
    if (!found) throw std::runtime_error(found.failure().text);
    return std::move(found).value();
}

}  // namespace

RawEndpoint::RawEndpoint(const link::FabricOptions& options, const link::Profile& profile,
                         std::span<std::byte> memory)
    : found_(discovered(options, profile)), memory_(memory), contexts_(kContexts) {
    for (fi_context2& context : contexts_) free_.push_back(&context);
    fi_info& info = *found_.info;
    fid_fabric* fabric = nullptr;
    check(fi_fabric(info.fabric_attr, &fabric, nullptr), "fi_fabric");
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    check(fi_domain(fabric, &info, &domain, nullptr), "fi_domain");
    domain_.reset(domain);
    fi_av_attr address_attributes{};
    address_attributes.type = FI_AV_TABLE;
    address_attributes.count = 8;
    fid_av* addresses = nullptr;
    check(fi_av_open(domain, &address_attributes, &addresses, nullptr), "fi_av_open");
    addresses_.reset(addresses);
    fi_cq_attr queue_attributes{};
    queue_attributes.size = 4 * kContexts;
    queue_attributes.format = FI_CQ_FORMAT_DATA;
    fid_cq* queue = nullptr;
    check(fi_cq_open(domain, &queue_attributes, &queue, nullptr), "fi_cq_open");
    completions_.reset(queue);
    fid_ep* endpoint = nullptr;
    check(fi_endpoint(domain, &info, &endpoint, nullptr), "fi_endpoint");
    endpoint_.reset(endpoint);
    check(fi_ep_bind(endpoint, &addresses->fid, 0), "fi_ep_bind");
    check(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_enable(endpoint), "fi_enable");
    fid_mr* region = nullptr;
    check(fi_mr_reg(domain, memory.data(), memory.size(), FI_WRITE | FI_REMOTE_WRITE, 0, 7, 0,
                    &region, nullptr),
          "fi_mr_reg");
    region_.reset(region);
    if (found_.grant.endpoint_registration) {
        check(fi_mr_bind(region, &endpoint->fid, 0), "fi_mr_bind");
        check(fi_mr_enable(region), "fi_mr_enable");
    }
    desc_ = fi_mr_desc(region);
}

RawEndpoint::Address RawEndpoint::address() const {
    Address own{};
    own.name_bytes = sizeof own.name;
    check(fi_getname(&endpoint_->fid, own.name, &own.name_bytes), "fi_getname");
    own.base =
        found_.grant.virtual_addresses ? reinterpret_cast<std::uintptr_t>(memory_.data()) : 0;
    own.key = fi_mr_key(region_.get());
    return own;
}

void RawEndpoint::set_peer(const Address& address) {
    peer_base_ = address.base;
    peer_key_ = address.key;
    const int inserted = fi_av_insert(addresses_.get(), address.name, 1, &peer_, 0, nullptr);
    if (inserted != 1) throw std::runtime_error("fi_av_insert");
}

bool RawEndpoint::try_write(const Write& write) {
    if (free_.empty()) return false;
    const iovec source{memory_.data() + write.from, write.bytes};
    const fi_rma_iov target{peer_base_ + write.to, write.bytes, peer_key_};
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
    check(static_cast<int>(code), fmt::format("fi_writemsg of {} bytes", write.bytes));
    free_.pop_back();
    ++posted;
    return true;
}

void RawEndpoint::write(const Write& write) {
    until([&] { return try_write(write); }, "a write to be taken");
}

void RawEndpoint::poll() {
    std::array<fi_cq_data_entry, 16> entries{};
    const ssize_t got = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (got == -FI_EAGAIN) {
        ::sched_yield();
        return;
    }
    if (got == -FI_EAVAIL) return read_error();
    if (got < 0) check(static_cast<int>(got), "fi_cq_read");
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
