// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/virtual_fabric.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace weft::test {

namespace {

constexpr std::size_t kWord = 8;  ///< bytes that fabrics may promise to write whole

class VirtualPort final : public link::FabricPort {
  public:
    VirtualPort(VirtualFabric& fabric, Rank rank, link::FabricFacts facts)
        : fabric_(fabric), rank_(rank), facts_(std::move(facts)) {}

    const link::FabricFacts& facts() const override { return facts_; }
    std::span<const std::byte> address() const override { return {}; }
    void set_peer(Rank, std::span<const std::byte>) override {}
    bool warm(Rank) noexcept override { return fabric_.chance(50); }
    base::Result<base::RemoteRegion> expose(std::span<std::byte> memory) override {
        return fabric_.expose(memory);
    }
    void unexpose(const base::RemoteRegion& region) noexcept override {
        fabric_.unexpose(region.key);
    }
    base::Post try_put(const base::Put& put) noexcept override {
        return fabric_.try_put(rank_, put);
    }
    base::Post try_read(const base::Read& read) noexcept override {
        return fabric_.try_read(rank_, read);
    }
    std::size_t poll(std::span<std::uint64_t> immediates) noexcept override {
        return fabric_.progress(rank_, immediates);
    }
    std::uint64_t landed(Rank peer, std::uint32_t counter) noexcept override {
        return fabric_.landed(rank_, peer, counter);
    }
    void lose(Rank peer) noexcept override { fabric_.lose(rank_, peer); }
    void cancel() noexcept override { fabric_.cancel(rank_); }
    std::size_t in_flight() const noexcept override { return fabric_.in_flight_of(rank_); }
    const base::Failure* failure() const noexcept override { return nullptr; }

  private:
    VirtualFabric& fabric_;
    Rank rank_;
    link::FabricFacts facts_;
};

bool completes_when_delivered(link::PutKind kind) {
    return kind == link::PutKind::delivered || kind == link::PutKind::fenced;
}

}  // namespace

FabricConduct harden(FabricConduct conduct, base::Random& random) {
    constexpr std::size_t kInject[] = {0, 8, 64, 256};
    constexpr std::size_t kMessage[] = {128, 256, 4096};
    conduct.inject_bytes = kInject[random.below(4)];
    conduct.message_bytes_max = kMessage[random.below(3)];
    conduct.puts_in_flight = 2 + random.below(40);
    conduct.refuse_percent = static_cast<std::uint32_t>(random.below(40));
    conduct.delay_max = static_cast<std::uint32_t>(random.below(100));
    conduct.straggler_percent = static_cast<std::uint32_t>(random.below(8));
    conduct.events_max = 4 + static_cast<std::uint32_t>(random.below(40));
    return conduct;
}

FabricSetting counted_setting() {
    FabricSetting setting{.conduct = kNoPromises, .notify = both(link::Notify::immediate)};
    setting.conduct.keeps_immediates = true;
    setting.conduct.keeps_words = true;
    return setting;
}
FabricSetting delivered_setting() {
    FabricSetting setting{.conduct = kNoPromises,
                          .notify = both(link::Notify::delivery),
                          .completion = base::RemoteCompletion::delivered};
    setting.conduct.keeps_delivery = true;
    setting.conduct.keeps_words = true;
    return setting;
}
FabricSetting ordered_setting() {
    FabricSetting setting{.conduct = kNoPromises,
                          .notify = both(link::Notify::ordered),
                          .completion = base::RemoteCompletion::ordered,
                          .whole_words = false};
    setting.conduct.keeps_order = true;
    return setting;
}
FabricSetting ordered_cells_setting() {
    FabricSetting setting = ordered_setting();
    setting.notify.small = link::Notify::cells;
    setting.conduct.keeps_words = true;
    return setting;
}
FabricSetting signals_setting() {
    FabricSetting setting = ordered_setting();
    setting.conduct.keeps_immediates = true;
    setting.signals = true;
    return setting;
}
FabricSetting counted_torn_setting() {
    FabricSetting setting = counted_setting();
    setting.conduct.keeps_words = false;
    setting.whole_words = false;
    setting.reads = false;
    return setting;
}

VirtualFabric::VirtualFabric(VirtualFabricOptions options)
    : options_(std::move(options)),
      random_(base::Random(options_.seed).stream(11)),
      writes_(options_.segments.size()),
      immediates_(options_.segments.size()) {}

std::unique_ptr<link::FabricPort> VirtualFabric::open_port(Rank rank) {
    link::FabricFacts facts;
    facts.provider = "virtual";
    facts.inject_bytes = options_.setting.conduct.inject_bytes;
    facts.message_bytes_max = options_.setting.conduct.message_bytes_max;
    facts.get_bytes_max = options_.setting.conduct.message_bytes_max;
    facts.flagged_parts_max = options_.setting.conduct.flagged_parts_max;
    facts.copied_bytes = facts.flagged_parts_max != 0 ? options_.setting.conduct.copied_bytes : 0;
    facts.paced_bytes = options_.setting.conduct.paced_bytes;
    constexpr std::uint32_t kCounters = 2;  // for each origin
    facts.counters = options_.setting.notify.large == link::Notify::counter ? kCounters : 0;
    facts.notify = options_.setting.notify;
    facts.remote = {options_.setting.completion, options_.setting.whole_words,
                    options_.setting.reads, options_.setting.signals};
    return std::make_unique<VirtualPort>(*this, rank, std::move(facts));
}

std::size_t VirtualFabric::in_flight() const {
    std::size_t count = 0;
    for (const auto& writes : writes_) count += writes.size();
    for (const auto& immediates : immediates_) count += immediates.size();
    return count + reads_.size();
}

std::size_t VirtualFabric::in_flight_of(Rank origin) const {
    std::size_t count = 0;
    for (const auto& writes : writes_) {
        count += static_cast<std::size_t>(std::ranges::count_if(writes, [&](const auto& write) {
            return write->origin == origin && !write->complete;
        }));
    }
    count += static_cast<std::size_t>(std::ranges::count(reads_, origin, &Fetch::origin));
    return count;
}

bool VirtualFabric::take_moved() {
    return std::exchange(moved_, false);
}

std::uint64_t VirtualFabric::due() {
    const FabricConduct& conduct = options_.setting.conduct;
    const bool straggles = chance(conduct.straggler_percent);
    return clock_ +
           random_.below((straggles ? conduct.straggler_delay_max : conduct.delay_max) + 1);
}

/// Cuts a write into chunks: anywhere if bytes are delivered in order, else at aligned words of the
/// target, or at half words if the fabric does not keep words whole.
std::vector<VirtualFabric::Chunk> VirtualFabric::cut(const base::Put& put) {
    const FabricConduct& conduct = options_.setting.conduct;
    std::vector<Chunk> chunks;
    std::size_t at = 0;
    if (put.bytes == 0) chunks.push_back({0, 0, due()});
    while (at < put.bytes) {
        std::size_t end = at + kWord - (put.target + at) % kWord;
        if (conduct.keeps_order) {
            end = at + 1 + random_.below(3 * kWord);
        } else if (conduct.keeps_words) {
            end += kWord * random_.below(4);
        } else {
            end = at + kWord / 2 - (put.target + at) % (kWord / 2);
        }
        end = std::min(end, put.bytes);
        chunks.push_back({at, end - at, due()});
        at = end;
    }
    if (!conduct.keeps_words && !conduct.keeps_order)
        std::ranges::stable_partition(chunks, [&](const Chunk& chunk) {
            return (put.target + chunk.offset) % kWord >= kWord / 2;
        });
    if (put.cell != base::Put::kNoCell) cut_flag(chunks, put);
    return chunks;
}

/// Adds the chunks of the flag: last if the fabric keeps the order, else anywhere.
void VirtualFabric::cut_flag(std::vector<Chunk>& chunks, const base::Put& put) {
    const std::size_t bytes = options_.setting.conduct.keeps_words ? kWord : kWord / 2;
    for (std::size_t at = 0; at < kWord; at += bytes) {
        const auto place =
            options_.setting.conduct.keeps_order ? chunks.size() : random_.below(chunks.size() + 1);
        chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(place),
                      {put.bytes + at, bytes, due()});
    }
}

base::RemoteRegion VirtualFabric::expose(std::span<std::byte> memory) {
    registered_.insert(++last_key_);
    return {reinterpret_cast<std::uintptr_t>(memory.data()), memory.size(), last_key_};
}

base::Post VirtualFabric::try_put(Rank origin, const base::Put& put) {
    if (lost_.contains({origin, put.peer})) return base::Post::posted;
    const FabricConduct& conduct = options_.setting.conduct;
    WEFT_CHECK(put.bytes <= conduct.message_bytes_max, put.bytes, options_.seed);
    WEFT_CHECK(put.bytes > 0 || put.kind == link::PutKind::with_immediate, options_.seed);
    const std::uint64_t limit = put.region != nullptr ? put.region->bytes : options_.segment_bytes;
    WEFT_CHECK(put.target + put.bytes <= limit, put.target, options_.seed);
    if (chance(conduct.refuse_percent) || in_flight_of(origin) >= conduct.puts_in_flight)
        return base::Post::again;
    const bool flagged = put.cell != base::Put::kNoCell;
    const bool copied = flagged && put.bytes <= conduct.copied_bytes;
    const bool few_parts = put.parts.size() <= conduct.flagged_parts_max || copied;
    WEFT_CHECK(flagged ? few_parts : put.bytes == 0 || put.parts.size() == 1, put.parts.size(),
               options_.seed);
    auto write = std::make_unique<Write>();
    write->put = put;
    if (put.region != nullptr) write->region = *put.region;
    write->parts.assign(put.parts.begin(), put.parts.end());
    write->origin = origin;
    write->chunks = cut(put);
    if (copied || (!completes_when_delivered(put.kind) && put.bytes <= conduct.inject_bytes)) {
        read_source(*write);
        write->put.pending = nullptr;
    }
    if (put.copied) read_source(*write);
    if (write->put.pending != nullptr) ++*write->put.pending;
    if (put.kind == link::PutKind::with_immediate && !conduct.keeps_immediates)
        immediates_[static_cast<std::size_t>(put.peer)].push_back(put.immediate);
    if (put.counter != base::Put::kNoCounter && !conduct.keeps_counters)
        ++counts_[{put.peer, origin, put.counter}];
    writes_[static_cast<std::size_t>(put.peer)].push_back(std::move(write));
    moved_ = true;
    return base::Post::posted;
}

base::Post VirtualFabric::try_read(Rank origin, const base::Read& get) {
    if (lost_.contains({origin, get.peer})) return base::Post::posted;
    const FabricConduct& conduct = options_.setting.conduct;
    WEFT_CHECK(get.bytes <= conduct.message_bytes_max && get.bytes > 0, get.bytes, options_.seed);
    const std::uint64_t limit = get.region != nullptr ? get.region->bytes : options_.segment_bytes;
    WEFT_CHECK(get.source + get.bytes <= limit, get.source, options_.seed);
    if (chance(conduct.refuse_percent) || in_flight_of(origin) >= conduct.puts_in_flight)
        return base::Post::again;
    if (get.pending != nullptr) ++*get.pending;
    const base::RemoteRegion region = get.region != nullptr ? *get.region : base::RemoteRegion{};
    reads_.push_back({.get = get, .region = region, .origin = origin, .due = due(), .copy = {}});
    moved_ = true;
    return base::Post::posted;
}

void VirtualFabric::kill(Rank origin) {
    for (auto& writes : writes_) {
        const std::uint64_t kept = random_.below(writes.size() + 1);
        std::uint64_t visited = 0;  // writes of `origin`
        std::erase_if(writes, [&](const auto& write) {
            return write->origin == origin && visited++ >= kept;
        });
    }
}

void VirtualFabric::lose(Rank origin, Rank peer) {
    lost_.insert({origin, peer});
    std::erase_if(writes_[peer], [&](const auto& write) {
        if (write->origin != origin) return false;
        if (!write->complete && write->put.pending != nullptr) --*write->put.pending;
        return true;
    });
    std::erase_if(reads_, [&](const Fetch& read) {
        if (read.origin != origin || read.get.peer != peer) return false;
        --*read.get.pending;
        return true;
    });
}

void VirtualFabric::cancel(Rank origin) {
    for (auto& writes : writes_) {
        for (const auto& write : writes) {
            if (write->origin != origin) continue;
            read_source(*write);
            write->put.pending = nullptr;
        }
    }
    std::erase_if(reads_, [&](const Fetch& read) { return read.origin == origin; });
}

/// Advances reads. A progress call of the target copies the data; a later progress call of the
/// origin writes it into the origin's memory.
void VirtualFabric::advance_reads(Rank rank) {
    std::erase_if(reads_, [&](Fetch& read) {
        if (read.due > clock_ || !chance(40)) return false;
        if (read.copy.empty()) {
            if (read.get.peer != rank) return false;
            const std::byte* from = start_of(read.region, rank) + read.get.source;
            read.copy.assign(from, from + read.get.bytes);
            read.due = due();
            moved_ = true;
            return false;
        }
        if (read.origin != rank) return false;
        std::memcpy(read.get.into, read.copy.data(), read.copy.size());
        if (read.get.pending != nullptr) --*read.get.pending;
        moved_ = true;
        return true;
    });
}

void VirtualFabric::read_source(Write& write) {
    if (write.read) return;
    write.copy = source_of(write);
    write.read = true;
}

std::vector<std::byte> VirtualFabric::source_of(const Write& write) {
    std::vector<std::byte> bytes;
    for (const base::PutPart& part : write.parts)
        bytes.insert(bytes.end(), part.data, part.data + part.bytes);
    const auto* flag = reinterpret_cast<const std::byte*>(&write.put.flag);
    bytes.insert(bytes.end(), flag, flag + sizeof write.put.flag);
    return bytes;
}

std::size_t VirtualFabric::progress(Rank rank, std::span<std::uint64_t> immediates) {
    ++clock_;
    if (chance(options_.setting.conduct.idle_percent)) return 0;
    deliver_some(rank);
    complete_writes(rank);
    advance_reads(rank);
    auto& waiting = immediates_[static_cast<std::size_t>(rank)];
    std::size_t count = 0;
    for (; options_.setting.signals && !waiting.empty() && count < immediates.size(); ++count) {
        immediates[count] = waiting.front();
        waiting.pop_front();
        moved_ = true;
    }
    while (!waiting.empty() && count < immediates.size() && chance(60)) {
        std::swap(waiting[random_.below(waiting.size())], waiting.back());
        immediates[count++] = waiting.back();
        waiting.pop_back();
        moved_ = true;
    }
    return count;
}

bool VirtualFabric::may_deliver(const std::vector<std::unique_ptr<Write>>& writes,
                                std::size_t at) const {
    const Write& write = *writes[at];
    const bool fenced =
        write.put.kind == link::PutKind::fenced && options_.setting.conduct.keeps_fences;
    if (!fenced && !options_.setting.conduct.keeps_order) return true;
    return std::none_of(
        writes.begin(), writes.begin() + static_cast<std::ptrdiff_t>(at), [&](const auto& earlier) {
            if (earlier->origin != write.origin) return false;
            return (fenced && !earlier->complete) ||
                   (options_.setting.conduct.keeps_order && !earlier->chunks.empty());
        });
}

std::size_t VirtualFabric::first_undelivered(const std::vector<std::unique_ptr<Write>>& writes,
                                             std::size_t at) {
    for (std::size_t earlier = 0; earlier < at; ++earlier) {
        if (writes[earlier]->origin == writes[at]->origin && !writes[earlier]->chunks.empty())
            return earlier;
    }
    return at;
}

void VirtualFabric::deliver_some(Rank rank) {
    const FabricConduct& conduct = options_.setting.conduct;
    auto& writes = writes_[static_cast<std::size_t>(rank)];
    for (std::uint64_t tries = random_.below(conduct.events_max + 1); tries > 0; --tries) {
        if (writes.empty()) return;
        std::size_t at = random_.below(writes.size());
        if (conduct.keeps_order) at = first_undelivered(writes, at);
        Write& write = *writes[at];
        if (write.chunks.empty() || !may_deliver(writes, at)) continue;
        const bool first_only = conduct.keeps_order || !conduct.keeps_words;
        const std::size_t chunk = first_only ? 0 : random_.below(write.chunks.size());
        if (write.chunks[chunk].due > clock_) continue;
        deliver(write, chunk);
        moved_ = true;
        if (write.complete && write.chunks.empty())
            writes.erase(writes.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

void VirtualFabric::deliver(Write& write, std::size_t chunk_index) {
    const Chunk chunk = write.chunks[chunk_index];
    const std::vector<std::byte> source = write.read ? write.copy : source_of(write);
    if (chunk.bytes != 0)
        std::memcpy(target_of(write, chunk.offset), source.data() + chunk.offset, chunk.bytes);
    write.chunks.erase(write.chunks.begin() + static_cast<std::ptrdiff_t>(chunk_index));
    if (write.chunks.empty() && write.put.kind == link::PutKind::with_immediate &&
        options_.setting.conduct.keeps_immediates)
        immediates_[static_cast<std::size_t>(write.put.peer)].push_back(write.put.immediate);
    if (write.chunks.empty() && write.put.counter != base::Put::kNoCounter &&
        options_.setting.conduct.keeps_counters)
        ++counts_[{write.put.peer, write.origin, write.put.counter}];
}

std::byte* VirtualFabric::target_of(const Write& write, std::size_t offset) const {
    if (offset >= write.put.bytes)
        return options_.segments[static_cast<std::size_t>(write.put.peer)] + write.put.cell +
               base::kCellDelivered + offset - write.put.bytes;
    return start_of(write.region, write.put.peer) + write.put.target + offset;
}

std::byte* VirtualFabric::start_of(const base::RemoteRegion& region, Rank owner) const {
    if (region.key == 0) return options_.segments[static_cast<std::size_t>(owner)];
    WEFT_CHECK(registered_.contains(region.key), owner, options_.seed);
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(region.base));
}

void VirtualFabric::complete_writes(Rank rank) {
    for (auto& writes : writes_) {
        for (const auto& write : writes) {
            if (write->origin != rank || write->complete || !chance(40)) continue;
            if (completes_when_delivered(write->put.kind) &&
                options_.setting.conduct.keeps_delivery && !write->chunks.empty())
                continue;
            read_source(*write);
            write->complete = true;
            if (write->put.pending != nullptr) --*write->put.pending;
            moved_ = true;
        }
        std::erase_if(writes,
                      [](const auto& write) { return write->complete && write->chunks.empty(); });
    }
}

}  // namespace weft::test
