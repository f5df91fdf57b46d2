// SPDX-License-Identifier: BSD-3-Clause
// triggered_port.cpp - triggered operations by libfabric's queue of deferred work.
//
// Idea     fi_control(FI_QUEUE_WORK) accepts an operation with a threshold of one counter, and a
//          counter for the completion. Hardware with a command queue can run such operations
//          (fi_trigger(3)). The alternative, FI_TRIGGER on each operation, could count completions
//          only for the whole endpoint.
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "base/element_types.hpp"
#include "link/fabric/card.hpp"
#include "link/fabric/discover.hpp"
#include "link/fabric/endpoint.hpp"
#include "link/fabric/keys.hpp"
#include "link/fabric/profile.hpp"
#include "link/fabric/triggered.hpp"

namespace weft::link {

namespace {

/// Keys of a rank's counters are consecutive. The last one is for the writes that connect ranks.
constexpr std::uint64_t kCountersMax = 4096;
constexpr std::uint64_t kFirstWrites = kCountersMax - 1;
constexpr std::size_t kKeyBytesMin = 4;
/// Longest wait for a connection, or for room in the provider's queue.
constexpr auto kConnectLimit = std::chrono::seconds(20);

constexpr std::pair<Type, fi_datatype> kDatatypes[] = {
    {Type::int8, FI_INT8},     {Type::int16, FI_INT16},   {Type::int32, FI_INT32},
    {Type::int64, FI_INT64},   {Type::uint8, FI_UINT8},   {Type::uint16, FI_UINT16},
    {Type::uint32, FI_UINT32}, {Type::uint64, FI_UINT64}, {Type::float32, FI_FLOAT},
    {Type::float64, FI_DOUBLE}};
constexpr std::pair<Op, fi_op> kOperations[] = {
    {Op::sum, FI_SUM},   {Op::prod, FI_PROD}, {Op::min, FI_MIN},  {Op::max, FI_MAX},
    {Op::band, FI_BAND}, {Op::bor, FI_BOR},   {Op::bxor, FI_BXOR}};

/// Returns libfabric's value for weft's value, or nullopt if libfabric has no equivalent.
template <class Ours, class Theirs, std::size_t N>
std::optional<Theirs> look_up(const std::pair<Ours, Theirs> (&table)[N], Ours wanted) {
    for (const auto& [ours, theirs] : table)
        if (ours == wanted) return theirs;
    return std::nullopt;
}

class FabricTriggeredPort final : public TriggeredPort {
  public:
    explicit FabricTriggeredPort(const TriggeredOptions& options)
        : options_(options), peers_(static_cast<std::size_t>(options.fabric.size)) {}

    base::Result<void> open() {
        if (auto found = find_offer(); !found) return found;
        endpoint_.text = fmt::format("provider \"{}\", offload", facts_.provider);
        endpoint_.binds_memory = (info_->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;
        // Counters report queued operations. Only the writes of connect() have a completion in the
        // queue.
        if (auto opened = endpoint_.open(*info_, peers_.size(), 0,
                                         FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
            !opened)
            return opened;
        if (auto enabled = endpoint_.enable(); !enabled) return enabled;
        return find_limits();
    }

    [[nodiscard]] const TriggeredFacts& facts() const override { return facts_; }

    base::Result<void> expose(std::span<std::byte> memory, std::uint32_t counters) override {
        if (counters > kFirstWrites)
            return base::fail(Status::unsupported, "{} counters are needed, at most {} have keys",
                              counters, kFirstWrites);
        memory_ = memory;
        const auto drawn = draw_keys(1, info_->domain_attr->mr_key_size, false);
        if (!drawn) return drawn.failure();
        key_ = drawn->front() / kCountersMax * kCountersMax;
        for (std::uint64_t number = 0; number <= counters; ++number) {
            const std::uint64_t key = number < counters ? number : kFirstWrites;
            auto counter =
                endpoint_.open_counter(memory, FI_READ | FI_WRITE | FI_REMOTE_WRITE, key_ + key);
            if (!counter) return counter.failure();
            counters_.push_back(std::move(counter).value());
        }
        return make_card();
    }

    [[nodiscard]] std::span<const std::byte> address() const override { return card_; }

    base::Result<void> set_peer(Rank rank, std::span<const std::byte> address) override {
        const auto card = accept_card(rank, address, card_, facts_.provider);
        if (!card) return card.failure();
        if (card->memory.key > ~kFirstWrites)
            return base::fail(Status::peer, "rank {} has an offload address with key {:#x}", rank,
                              card->memory.key);
        TriggeredPeer& peer = peers_[rank];
        peer.memory = card->memory;
        if (fi_av_insert(endpoint_.addresses.get(), card->endpoint.data(), 1, &peer.address, 0,
                         nullptr) != 1)
            return endpoint_.refused(fmt::format("fi_av_insert of the address of rank {}", rank),
                                     -FI_EINVAL);
        return {};
    }

    /// Connects by a write to the start of the peer's memory, to which signals without data are
    /// written and which no rank reads. No rank waits for the counter of the write's key.
    base::Result<void> connect(Rank rank) override {
        const TriggeredPeer& peer = peers_[rank];
        const auto deadline = std::chrono::steady_clock::now() + kConnectLimit;
        fi_context2 context{};
        const std::uint64_t key = peer.memory.key + kFirstWrites;
        ssize_t code = -FI_EAGAIN;
        while (code == -FI_EAGAIN && std::chrono::steady_clock::now() < deadline) {
            const iovec source{memory_.data(), kConnectBytes};
            const fi_rma_iov target{peer.memory.base, kConnectBytes, key};
            void* desc = local_desc();
            const fi_msg_rma message{.msg_iov = &source,
                                     .desc = &desc,
                                     .iov_count = 1,
                                     .addr = peer.address,
                                     .rma_iov = &target,
                                     .rma_iov_count = 1,
                                     .context = &context,
                                     .data = 0};
            code =
                fi_writemsg(endpoint_.handle.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
        }
        if (code != 0)
            return endpoint_.refused(fmt::format("a first write to rank {}", rank),
                                     static_cast<int>(code));
        while (std::chrono::steady_clock::now() < deadline) {
            fi_cq_data_entry entry{};
            const ssize_t got = fi_cq_read(endpoint_.completions.get(), &entry, 1);
            if (got == 1) return {};
            if (got != -FI_EAGAIN)
                return endpoint_.refused(fmt::format("the first write to rank {}", rank),
                                         static_cast<int>(got));
            std::this_thread::yield();
        }
        return endpoint_.refused(fmt::format("the first write to rank {}", rank), -FI_ETIMEDOUT);
    }

    void begin() noexcept override {
        turn_ = 1 - turn_;
        works_[turn_].clear();
    }

    base::Result<void> queue(const TriggeredOperation& operation) override {
        QueuedWork& work = works_[turn_].emplace_back();
        const TriggeredPeer& peer = peers_[operation.peer];
        work.deferred.threshold = operation.threshold;
        work.deferred.triggering_cntr = counters_[operation.trigger].count.get();
        work.deferred.completion_cntr = counters_[operation.completes].count.get();
        work.desc = local_desc();
        if (operation.combine)
            fill_atomic(work, operation, peer);
        else
            fill_write(work, operation, peer);
        const auto deadline = std::chrono::steady_clock::now() + kConnectLimit;
        int code = -FI_EAGAIN;
        while (code == -FI_EAGAIN && std::chrono::steady_clock::now() < deadline)
            code = fi_control(&endpoint_.domain->fid, FI_QUEUE_WORK, &work.deferred);
        if (code != 0) return endpoint_.refused("fi_control(FI_QUEUE_WORK)", code);
        return {};
    }

    [[nodiscard]] std::uint64_t count(std::uint32_t counter) noexcept override {
        return fi_cntr_read(counters_[counter].count.get());
    }
    [[nodiscard]] std::uint64_t failures(std::uint32_t counter) noexcept override {
        return fi_cntr_readerr(counters_[counter].count.get());
    }

  private:
    static constexpr std::size_t kConnectBytes = 8;

    struct TriggeredPeer {
        fi_addr_t address = FI_ADDR_UNSPEC;
        RemoteRegion memory;
    };
    /// A queued operation, and the data that it refers to.
    struct QueuedWork {
        fi_deferred_work deferred{};
        fi_op_rma write{};
        fi_op_atomic atomic{};
        iovec from{};
        fi_rma_iov to{};
        fi_ioc elements{};
        fi_rma_ioc places{};
        void* desc = nullptr;
    };

    /// Returns the descriptor of this rank's memory as a source.
    [[nodiscard]] void* local_desc() const { return fi_mr_desc(counters_.back().region.get()); }

    void fill_write(QueuedWork& work, const TriggeredOperation& operation,
                    const TriggeredPeer& peer) {
        work.from = {memory_.data() + operation.source, operation.bytes};
        work.to = {peer.memory.base + operation.target, operation.bytes,
                   peer.memory.key + operation.counted};
        work.write.ep = endpoint_.handle.get();
        work.write.msg = {.msg_iov = &work.from,
                          .desc = &work.desc,
                          .iov_count = 1,
                          .addr = peer.address,
                          .rma_iov = &work.to,
                          .rma_iov_count = 1,
                          .context = &work.deferred.context,
                          .data = 0};
        work.deferred.op_type = FI_OP_WRITE;
        work.deferred.op.rma = &work.write;
    }

    void fill_atomic(QueuedWork& work, const TriggeredOperation& operation,
                     const TriggeredPeer& peer) {
        const std::size_t count = operation.bytes / base::size_of(options_.type);
        work.elements = {memory_.data() + operation.source, count};
        work.places = {peer.memory.base + operation.target, count,
                       peer.memory.key + operation.counted};
        work.atomic.ep = endpoint_.handle.get();
        work.atomic.msg = {.msg_iov = &work.elements,
                           .desc = &work.desc,
                           .iov_count = 1,
                           .addr = peer.address,
                           .rma_iov = &work.places,
                           .rma_iov_count = 1,
                           .datatype = *look_up(kDatatypes, options_.type),
                           .op = *look_up(kOperations, options_.op),
                           .context = &work.deferred.context,
                           .data = 0};
        work.deferred.op_type = FI_OP_ATOMIC;
        work.deferred.op.atomic = &work.atomic;
    }

    base::Result<void> find_offer() {
        const Info hints(fi_allocinfo());
        if (hints == nullptr)
            return base::fail(Status::memory, "libfabric fi_allocinfo: no memory");
        hints->caps = FI_RMA | FI_TRIGGER | FI_RMA_EVENT;
        if (options_.combines) hints->caps |= FI_ATOMIC;
        hints->ep_attr->type = FI_EP_RDM;
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
        hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
        hints->domain_attr->mr_mode =
            FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_ENDPOINT;
        hints->mode = FI_CONTEXT | FI_CONTEXT2;
        hints->fabric_attr->prov_name = ::strdup(options_.fabric.provider.c_str());
        const std::string source = source_address(options_.fabric).text;
        if (!source.empty()) query(*hints, source.c_str());
        // A provider whose endpoints have no internet addresses has no offer for `source`.
        if (info_ == nullptr) query(*hints, nullptr);
        if (info_ == nullptr)
            return base::fail(Status::unsupported,
                              "provider \"{}\" offers no endpoint with triggered operations, "
                              "counters of remote writes{} and automatic progress",
                              options_.fabric.provider,
                              options_.combines ? ", atomic operations" : "");
        if (info_->domain_attr->mr_key_size < kKeyBytesMin)
            return base::fail(Status::unsupported,
                              "provider \"{}\" has registration keys of {} bytes, expected {}",
                              options_.fabric.provider, info_->domain_attr->mr_key_size,
                              kKeyBytesMin);
        facts_.provider = info_->fabric_attr->prov_name;
        facts_.version = libfabric_version();
        facts_.write_bytes_max = info_->ep_attr->max_msg_size;
        return {};
    }
    /// Stores libfabric's best offer in info_. `source`: local address, or nullptr.
    void query(const fi_info& hints, const char* source) {
        fi_info* list = nullptr;
        const std::uint64_t flags = source != nullptr ? FI_SOURCE : 0;
        if (fi_getinfo(FI_VERSION(1, 17), source, source != nullptr ? "0" : nullptr, flags, &hints,
                       &list) == 0)
            info_.reset(list);
    }

    base::Result<void> find_limits() {
        if (!options_.combines) return {};
        const auto type = look_up(kDatatypes, options_.type);
        const auto op = look_up(kOperations, options_.op);
        std::size_t count = 0;
        if (!type || !op || fi_atomicvalid(endpoint_.handle.get(), *type, *op, &count) != 0 ||
            count == 0)
            return base::fail(
                Status::unsupported, "provider \"{}\" does not combine elements of type {} by {}",
                facts_.provider, base::name_of(options_.type), base::name_of(options_.op));
        facts_.combine_bytes_max = count * base::size_of(options_.type);
        return {};
    }

    base::Result<void> make_card() {
        const auto name = endpoint_.name();
        if (!name) return name.failure();
        const bool addresses = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
        const auto start = reinterpret_cast<std::uintptr_t>(memory_.data());
        card_ = encode_card({.provider = provider_hash(facts_.provider),
                             .memory = {addresses ? start : 0, memory_.size(), key_},
                             .endpoint = *name});
        return {};
    }

    TriggeredOptions options_;
    TriggeredFacts facts_;
    Info info_;
    std::span<std::byte> memory_;
    std::uint64_t key_ = 0;  ///< key of the first counter
    std::vector<std::byte> card_;
    std::vector<TriggeredPeer> peers_;
    std::array<std::deque<QueuedWork>, 2> works_;  ///< operations of the last two calls
    std::size_t turn_ = 0;                         ///< index in works_ of the current call

    Endpoint endpoint_;
    std::vector<WriteCounter> counters_;  ///< after the endpoint: closed before it
};

}  // namespace

base::Result<std::unique_ptr<TriggeredPort>> open_triggered(const TriggeredOptions& options) {
    const Promise& promise = profile_of(options.fabric.provider).offload;
    if (!promise.holds)
        return base::fail(Status::unsupported, "provider \"{}\" does not offload, because {}",
                          options.fabric.provider, promise.why);
    auto port = std::make_unique<FabricTriggeredPort>(options);
    if (auto done = port->open(); !done) return done.failure();
    return std::unique_ptr<TriggeredPort>(std::move(port));
}

}  // namespace weft::link
