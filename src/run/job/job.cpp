// SPDX-License-Identifier: BSD-3-Clause
#include "run/job/job.hpp"

#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "run/job/cards.hpp"
#include "run/job/host_facts.hpp"

namespace weft::run {

namespace {

using Bytes = std::vector<std::byte>;

/// Returns the virtual node of a rank: its block if WEFT_NODES is set, else the launcher's.
std::uint32_t node_of(const base::Settings& settings, Rank rank, Rank size) {
    if (settings.nodes != 0) {
        const auto nodes = static_cast<Rank>(settings.nodes);
        const Rank per_node = size / nodes;
        const Rank extra = size % nodes;
        const Rank in_larger = extra * (per_node + 1);
        if (rank < in_larger) return static_cast<std::uint32_t>(rank / (per_node + 1));
        return static_cast<std::uint32_t>(extra + (rank - in_larger) / std::max(per_node, 1));
    }
    return settings.node_id.value_or(0);
}

base::Result<void> check_agreement(const std::vector<BusinessCard>& cards, Rank me) {
    const BusinessCard& mine = cards[me];
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        if (cards[rank].version != mine.version)
            return base::fail(Status::environment,
                              "rank {} sends data of version {}, rank {} of version {}; all ranks "
                              "need the same libweft.so",
                              me, mine.version, rank, cards[rank].version);
        const std::string difference = base::first_difference(mine.settings, cards[rank].settings);
        if (!difference.empty())
            return base::fail(Status::environment,
                              "settings differ between rank {} (here) and rank {} (there): {}; all "
                              "ranks need the same",
                              me, rank, difference);
    }
    return {};
}

/// Lists the ranks that `me` and `other` could map, for an error message.
std::string mapping_difference(const std::vector<link::MapVerdict>& verdicts, Rank me, Rank other) {
    std::string text;
    for (const link::MapVerdict& verdict : verdicts) {
        if (verdict.rank != me && verdict.rank != other) continue;
        text += fmt::format("{}rank {} could map ranks {}", text.empty() ? "" : ", ", verdict.rank,
                            fmt::join(verdict.mapped, " "));
    }
    return text;
}

/// Joins a job step by step. Each step sets a part of `job_`.
class Joiner {
  public:
    Joiner(const base::Settings& settings, std::unique_ptr<link::Bootstrap> bootstrap,
           const link::AdoptionPrices& prices)
        : settings_(settings), prices_(prices) {
        job_.bootstrap = std::move(bootstrap);
    }

    base::Result<Job> run() {
        // In a job of the caller, another library, such as an MPI, controls the process.
        job_.sigterm_report = std::make_unique<SigtermReport>(job_.bootstrap == nullptr);
        job_.sigterm_report->set_rank(link::rank_by_environment().value_or(-1));
        job_.sigterm_report->set_stage("start-up: joining the job");
        std::optional<StartWatch> watch;
        if (const auto rank = link::rank_by_environment();
            job_.bootstrap == nullptr && rank &&
            // weft run itself names a rank that is missing in the first runtime.
            (!link::started_by_own_launcher() || link::has_joined_job()))
            watch.emplace(*job_.sigterm_report, *rank, settings_);
        std::uint64_t begun_ns = base::monotonic_ns();
        if (job_.bootstrap == nullptr) {
            auto bootstrap = link::join_job();
            if (!bootstrap) return bootstrap.failure().within("start-up");
            job_.bootstrap = std::move(*bootstrap);
        }
        end_phase("join", begun_ns);
        me_ = job_.bootstrap->rank();
        size_ = job_.bootstrap->size();
        job_.sigterm_report->set_rank(me_);
        // A job of one rank ignores WEFT_NODES: the variable may be meant for jobs with a launcher.
        if (size_ > 1 && settings_.nodes > static_cast<std::uint64_t>(size_))
            return base::fail(Status::argument,
                              "rank {}: start-up: WEFT_NODES={}: expected 1 to {} (the ranks of "
                              "the job)",
                              me_, settings_.nodes, size_);
        struct JoinStep {
            const char* name;
            const char* stage;  ///< for reports about this rank's wait
            base::Result<void> (Joiner::*step)();
        };
        constexpr JoinStep kSteps[] = {
            {"cards", "start-up: waiting for the cards of all ranks", &Joiner::exchange_cards},
            {"map", "start-up: mapping the memory of local peers", &Joiner::map_node},
            {"network", "start-up: opening the network", &Joiner::open_network},
            {"verdicts", "start-up: waiting for the mapping verdicts of all ranks",
             &Joiner::exchange_verdicts}};
        for (const auto& [name, stage, step] : kSteps) {
            job_.sigterm_report->set_stage(stage);
            if (auto done = (this->*step)(); !done) {
                auto why = done.failure().within(fmt::format("rank {}: start-up", me_));
                if (const std::string missing = watch ? watch->missing() : ""; !missing.empty())
                    why.text += "; " + missing;
                job_.bootstrap->give_up(why.text);
                return why;
            }
            end_phase(name, begun_ns);
        }
        make_wire();
        // Moves to an own processor: the scheduler might let waiting ranks share one.
        const auto& [processors, position] = job_.rank_processors;
        if (const auto processor = processor_for(processors, position)) move_to(*processor);
        job_.sigterm_report->set_stage(nullptr);
        return std::move(job_);
    }

  private:
    void end_phase(const char* name, std::uint64_t& begun_ns) {
        const std::uint64_t now = base::monotonic_ns();
        job_.phases.push_back({name, now - begun_ns});
        begun_ns = now;
    }

    [[nodiscard]] SegmentLayout layout() const { return {size_, settings_}; }
    [[nodiscard]] bool only_stages() const { return settings_.direct == base::DirectMode::stage; }

    /// Checks that the settings' sizes are within the limits of the integer types used for offsets.
    [[nodiscard]] base::Result<void> check_sizes() const {
        constexpr std::uint64_t kBankMax = std::uint64_t{1} << 36;
        constexpr std::uint64_t kHeapMax = std::uint64_t{1} << 46;
        constexpr std::uint64_t kCellsEndMax = std::uint64_t{64} << 30;
        for (const auto& [name, bytes, limit] :
             {std::tuple{"WEFT_BANK_BYTES", settings_.bank_bytes, kBankMax},
              {"WEFT_HEAP_SIZE", settings_.heap_bytes, kHeapMax}})
            if (bytes > limit)
                return base::fail(Status::argument, "{}: {} bytes; expected at most {}", name,
                                  bytes, limit);
        const std::uint64_t cells_end = layout().heap;
        if (cells_end >= kCellsEndMax)
            return base::fail(
                Status::argument,
                "put targets of {} ranks take {} bytes in each segment, at most {}: make "
                "WEFT_BANK_BYTES or WEFT_BANKS smaller",
                size_, cells_end, kCellsEndMax);
        return {};
    }

    /// Publishes this rank's record under a name. Returns the records of all ranks, by rank.
    base::Result<std::vector<Bytes>> exchange(const char* name, const Bytes& mine) {
        WEFT_TRY(job_.bootstrap->publish(name, mine));
        std::vector<Bytes> records;
        for (Rank rank = 0; rank < size_; ++rank) {
            auto record = WEFT_TRY(job_.bootstrap->card(name, rank));
            records.push_back(std::move(record));
        }
        return records;
    }

    base::Result<void> exchange_cards() {
        WEFT_TRY(check_sizes());
        auto segment = WEFT_TRY(link::Segment::create(
            {.bytes = layout().bytes, .node = node_of(settings_, me_, size_)}));
        segment_ = std::make_unique<link::Segment>(std::move(segment));
        if (!only_stages()) link::DirectMemory::allow_copying();
        probe_ = segment_->card().nonce;
        BusinessCard mine{{.segment = segment_->card(),
                           .probe = reinterpret_cast<std::uintptr_t>(&probe_),
                           .host = read_host_facts()},
                          base::agreement_text(settings_)};
        // Without WEFT_NODES, a launcher must set a node id for all ranks or for none.
        if (settings_.nodes == 0)
            mine.settings +=
                fmt::format("{}={}\n", base::kNodeIdVariable, settings_.node_id ? "given" : "");
        if (sched_getaffinity(0, sizeof mine.cpus, &mine.cpus) != 0) CPU_ZERO(&mine.cpus);
        const auto records = WEFT_TRY(exchange("weft.card", to_bytes(mine)));
        for (const Bytes& record : records) {
            auto card = WEFT_TRY(business_card_from(record, static_cast<Rank>(cards_.size())));
            cards_.push_back(std::move(card));
        }
        count_host();
        return check_agreement(cards_, me_);
    }

    /// Counts nodes, hosts and processors by the cards, which all ranks have.
    void count_host() {
        using NodeKey = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;
        std::map<NodeKey, int> nodes;              // numbers in the order of their first ranks
        std::map<std::uint64_t, HostCount> hosts;  // by boot id of the running kernel
        for (const BusinessCard& card : cards_) {
            const int number = static_cast<int>(nodes.size());
            job_.node_of_rank.push_back(
                nodes.try_emplace({card.segment.boot, card.segment.host, card.segment.node}, number)
                    .first->second);
            hosts[card.segment.boot].add(card.cpus, card.host.quota);
            if (card.segment.boot != cards_[me_].segment.boot) continue;
            auto& [processors, position] = job_.rank_processors;
            if (&card == &cards_[me_]) position = processors.size();
            processors.push_back(card.cpus);
        }
        job_.nodes = static_cast<int>(nodes.size());
        job_.ranks_per_node.resize(nodes.size());
        for (const int node : job_.node_of_rank) ++job_.ranks_per_node[node];
        job_.hosts = static_cast<int>(hosts.size());
        for (auto& [host, counted] : hosts) {
            const int processors = counted.processors();
            if (std::int64_t{counted.ranks} * job_.busiest_host_processors <=
                std::int64_t{job_.busiest_host_ranks} * processors)
                continue;
            job_.busiest_host_ranks = counted.ranks;
            job_.busiest_host_processors = processors;
        }
        const BusinessCard& mine = cards_[me_];
        const HostCount& own = hosts[mine.segment.boot];
        job_.host_ranks = own.ranks;
        job_.host_cpus = own.processors();
        job_.limited_time = own.limited();
        // Containers on one machine may have separate network stacks, and connect as hosts do.
        one_host_ = hosts.size() == 1 && std::ranges::all_of(cards_, [&](const BusinessCard& card) {
                        return card.host.network == mine.host.network;
                    });
    }

    /// Returns this rank's network address that all ranks can reach, or an empty text.
    [[nodiscard]] std::string own_address() const {
        std::vector<link::HostOnNetwork> ranks;
        for (const BusinessCard& card : cards_)
            ranks.push_back(card.host.on_network(card.segment.boot));
        return link::choose_address(ranks, static_cast<std::size_t>(me_));
    }

    base::Result<void> map_node() {
        std::vector<link::SegmentCard> segments;
        for (const BusinessCard& card : cards_) segments.push_back(card.segment);
        if (settings_.on_failure == base::FailureAction::proceed) WEFT_TRY(watch_ranks());
        auto map = WEFT_TRY(link::NodeMap::open(*segment_, segments, me_));
        job_.node_map = std::make_unique<link::NodeMap>(std::move(map));
        return {};
    }

    /// Watches the processes of the other ranks. Ranks that have ended do not join the next fence.
    base::Result<void> watch_ranks() {
        for (Rank rank = 0; rank < size_; ++rank) {
            if (cards_[rank].segment.host != cards_[me_].segment.host)
                return base::fail(Status::unsupported,
                                  "WEFT_ON_FAILURE=continue (weft run --keep-going) needs all "
                                  "ranks on one machine, in one pid namespace, because ranks watch "
                                  "each other's processes; ranks {} and {} are not",
                                  me_, rank);
            if (rank != me_) WEFT_TRY(job_.ends.watch(rank, cards_[rank].segment.pid));
        }
        return {};
    }

    /// Returns the process ids of other ranks in this rank's pid namespace.
    [[nodiscard]] std::vector<std::int32_t> processes_of_peers() const {
        std::vector<std::int32_t> processes;
        for (const BusinessCard& card : cards_)
            if (&card != &cards_[me_] && card.segment.host == cards_[me_].segment.host)
                processes.push_back(card.segment.pid);
        return processes;
    }

    /// Delays a failure of status `peer`: the launcher should detect that rank's end first.
    [[nodiscard]] static base::Failure after_cause(base::Failure failure) {
        if (failure.status == Status::peer) std::this_thread::sleep_for(std::chrono::seconds(1));
        return failure;
    }

    /// Opens the network unless this rank has mapped the segments of all ranks.
    base::Result<void> open_network() {
        if (static_cast<Rank>(job_.node_map->verdict().mapped.size()) == size_) return {};
        std::function<base::Result<void>()> announce;
        if (job_.nodes > 1)  // then every rank opens the network and publishes
            announce = [this] { return job_.bootstrap->publish("weft.ready", {}); };
        static_assert(SegmentLayout::kSectionKeys +
                          link::kNicsMax * link::kSectionsMax * sizeof(std::uint64_t) <=
                      Mailboxes::kOffset);
        auto port = link::load_port({.base = job_.node_map->base(me_),
                                     .bytes = segment_->bytes(),
                                     .sections = layout().sections(),
                                     .section_keys = SegmentLayout::kSectionKeys},
                                    {.provider = settings_.provider,
                                     .address = settings_.fabric_address,
                                     .source = own_address(),
                                     .nics = settings_.cards,
                                     .host = job_.rank_processors,
                                     .module = settings_.fabric_module,
                                     .rank = me_,
                                     .size = size_,
                                     .job = cards_[0].segment.nonce,
                                     .processes = processes_of_peers(),
                                     .wait_for_ranks = std::move(announce),
                                     .one_host = one_host_,
                                     .notify = settings_.notify});
        if (!port) return after_cause(port.failure());
        port_ = std::move(*port);
        for (const auto& [offset, bytes] : layout().usual_memory(0))
            WEFT_TRY(port_->use_memory(offset, bytes));
        job_.provider = port_->facts().provider;
        job_.notify = link::to_text(port_->facts().notify);
        // A late message of an agreement could overwrite a message of a later one.
        if (settings_.on_failure == base::FailureAction::proceed &&
            port_->facts().remote.completion != base::RemoteCompletion::ordered)
            return base::fail(Status::unsupported,
                              "WEFT_ON_FAILURE=continue (weft run --keep-going) on several nodes "
                              "needs a network that keeps the order of writes; provider {} does "
                              "not promise it (docs/reliability.md)",
                              job_.provider);
        return {};
    }

    /// Returns 0 if the kernel lets this rank copy from all mapped ranks, else an errno.
    [[nodiscard]] int error_of_copying() const {
        for (const Rank peer : job_.node_map->verdict().mapped) {
            const BusinessCard& card = cards_[peer];
            errno = 0;
            if (peer != me_ && !only_stages() &&
                !link::DirectMemory::can_copy(
                    card.segment.pid,
                    reinterpret_cast<const void*>(static_cast<std::uintptr_t>(card.probe)),
                    card.segment.nonce))
                return errno != 0 ? errno : EINVAL;  // the copy succeeded with wrong contents
        }
        return 0;
    }

    /// Returns the reason why `peers`, the ranks of this node, cannot access each other's buffers,
    /// or an empty text. `errors` has the errno of each rank's copies.
    [[nodiscard]] std::string direct_problem(const std::vector<Rank>& peers,
                                             const std::vector<int>& errors) const {
        if (peers.size() < 2) return "";
        if (only_stages()) return "WEFT_DIRECT=stage";
        for (const Rank peer : peers) {
            if (const int error = errors[peer]; error != 0)
                return fmt::format("the kernel does not copy to rank {} from its local peers: {}",
                                   peer, std::strerror(error));
        }
        return "";
    }

    /// Determines the node, and gives the port the addresses of remote ranks.
    base::Result<void> exchange_verdicts() {
        MappingCard mine{.verdict = job_.node_map->verdict(), .copy_error = error_of_copying()};
        if (port_) mine.address = port_->address();
        const auto published = WEFT_TRY(exchange("weft.verdict", to_bytes(mine)));
        std::vector<link::MapVerdict> verdicts;
        std::vector<std::span<const std::byte>> addresses;
        std::vector<int> errors;  // errno of kernel copies, by rank
        for (const Bytes& record : published) {
            auto card =
                WEFT_TRY(mapping_card_from(record, static_cast<Rank>(verdicts.size()), size_));
            verdicts.push_back(std::move(card.verdict));
            errors.push_back(static_cast<int>(card.copy_error));
            addresses.push_back(card.address);
        }
        const link::NodeGroup group = link::clique(verdicts, me_);
        job_.node_map->settle(group);
        job_.node_ranks = group.ranks;
        job_.direct_problem = direct_problem(group.ranks, errors);
        job_.direct = group.ranks.size() > 1 && job_.direct_problem.empty();
        // Every rank must have mapped all ranks whose cards name its node.
        const auto maps_node = [&](const link::MapVerdict& verdict) {
            const int node = job_.node_of_rank[verdict.rank];
            return std::cmp_equal(verdict.mapped.size(), job_.ranks_per_node[node]);
        };
        job_.direct_everywhere = !only_stages() && std::ranges::all_of(verdicts, maps_node) &&
                                 std::ranges::all_of(errors, [](int error) { return error == 0; });
        for (Rank rank = 0; rank < size_; ++rank) {
            const auto address = addresses[rank];
            if (job_.node_map->base(rank) != nullptr) continue;
            if (!port_ || address.empty())
                return base::fail(Status::environment,
                                  "ranks {} and {} are on one node by their cards, but not all of "
                                  "its ranks could map each other: {}\n{}",
                                  me_, rank, mapping_difference(verdicts, me_, rank),
                                  job_.node_map->problems());
            port_->set_peer(rank, address);
        }
        return forget_file();
    }

    /// Removes the file of this rank's endpoint, for providers that use files. First waits until
    /// all ranks have mapped the files. After that, a killed rank leaves no file behind.
    base::Result<void> forget_file() {
        if (!port_ || !port_->facts().endpoint_file) return {};
        if (auto done = connect_files(); !done) return after_cause(done.failure());
        WEFT_TRY(job_.bootstrap->publish("weft.mapped", {}));
        port_->forget_file();
        return {};
    }

    /// Connects to all remote peers. Some releases of the provider map a peer's file at the first
    /// write to the peer, and need the peer's progress for it. So ranks make progress meanwhile.
    base::Result<void> connect_files() {
        std::array<std::uint64_t, 1> none{};
        const auto drive = [&] {
            static_cast<void>(port_->poll(none));
            ::sched_yield();
            return port_->failure() == nullptr;
        };
        for (Rank rank = 0; rank < size_; ++rank) {
            if (job_.node_map->base(rank) != nullptr) continue;
            while (!port_->warm(rank) && drive()) continue;
        }
        WEFT_TRY(job_.bootstrap->start_fence());
        while (!job_.bootstrap->fence_ended()) static_cast<void>(drive());
        return port_->failure();
    }

    void make_wire() {
        std::vector<std::byte*> near;
        for (Rank rank = 0; rank < size_; ++rank) near.push_back(job_.node_map->base(rank));
        job_.wire = std::make_unique<link::Wire>(
            std::move(near), std::move(port_),
            link::WireOptions{.rank = me_,
                              .segment_bytes = segment_->bytes(),
                              .cells_end = layout().heap,
                              .spin = job_.host_ranks <= job_.host_cpus,
                              .limited_time = job_.limited_time},
            job_.direct ? direct_memory() : nullptr);
    }

    std::unique_ptr<link::DirectMemory> direct_memory() const {
        std::byte* const base = job_.node_map->base(me_);
        link::DirectOptions options{
            .segment = base, .bounce = {base + layout().bounce, layout().heap - layout().bounce}};
        options.mode = settings_.direct;
        options.limits.prices = prices_;
        options.processors = static_cast<std::uint32_t>(std::max(job_.host_cpus, 1));
        options.processes.resize(static_cast<std::size_t>(size_));
        for (const Rank peer : job_.node_ranks) options.processes[peer] = cards_[peer].segment.pid;
        return std::make_unique<link::DirectMemory>(std::move(options));
    }

    const base::Settings& settings_;
    const link::AdoptionPrices& prices_;
    Job job_;
    Rank me_ = 0;
    Rank size_ = 1;
    bool one_host_ = true;
    std::unique_ptr<link::Segment> segment_;
    std::uint64_t probe_ = 0;  ///< word that local peers copy to test kernel copies
    std::vector<BusinessCard> cards_;
    std::unique_ptr<link::FabricPort> port_;
};

}  // namespace

base::Result<Job> join(const base::Settings& settings, std::unique_ptr<link::Bootstrap> bootstrap,
                       const link::AdoptionPrices& prices) {
    return Joiner(settings, std::move(bootstrap), prices).run();
}

}  // namespace weft::run
