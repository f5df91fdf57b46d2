// SPDX-License-Identifier: BSD-3-Clause
// trace.cpp - timeline of all ranks of a job (WEFT_TRACE), in the Trace Event format of Chrome.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/trace_events.hpp"
#include "run/observe/reports.hpp"

namespace weft::run {

namespace {

constexpr std::array<std::string_view, kEventKinds> kEventNames{
    "call",    "started", "stage", "put",    "signal", "expose",
    "publish", "wait",    "flush", "reduce", "copy"};

/// Converts times to rank 0's clock, and sorts events: viewers need outer events first.
void convert_and_sort(RankReport& trace, std::size_t rank, const TraceContext& context) {
    if (context.hosts > 1) {
        for (RecordedEvent& event : trace.events) {
            const std::int64_t ahead =
                ahead_at(context.clocks[0], context.clocks[1], rank, event.begin_ns);
            event.begin_ns -= static_cast<std::uint64_t>(ahead);
            event.end_ns -= static_cast<std::uint64_t>(ahead);
        }
    }
    std::ranges::stable_sort(trace.events, [](const RecordedEvent& a, const RecordedEvent& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
}

/// Assigns events of a rank to threads of the timeline. Thread 0 shows calls. Each lane of a call
/// gets a thread that no other call uses at that time.
class TraceThreads {
  public:
    explicit TraceThreads(const RankReport& trace) {
        std::unordered_map<std::uint32_t, std::uint32_t> lanes;
        for (const RecordedEvent& event : trace.events)
            if (!is_call(event)) {
                auto& count = lanes[event.call];
                count = std::max(count, std::uint32_t{event.lane} + 1);
            }
        std::vector<std::uint64_t> free_ns;
        for (const RecordedEvent& call : trace.events) {
            if (!is_call(call)) continue;
            auto& own = threads_[call.call];
            std::size_t thread = 0;
            for (std::uint32_t lane = 0; lane < lanes[call.call]; ++lane, ++thread) {
                while (thread < free_ns.size() && free_ns[thread] > call.begin_ns) ++thread;
                if (thread == free_ns.size()) free_ns.push_back(0);
                free_ns[thread] = call.end_ns;
                own.push_back(static_cast<int>(thread) + 1);
            }
        }
        count_ = static_cast<int>(free_ns.size());
    }

    /// Returns the thread of a step, or 0 if the record of its call was dropped.
    [[nodiscard]] int thread_of(const RecordedEvent& step) const {
        const auto found = threads_.find(step.call);
        return found == threads_.end() || step.lane >= found->second.size()
                   ? 0
                   : found->second[step.lane];
    }
    [[nodiscard]] int count() const { return count_; }

  private:
    std::unordered_map<std::uint32_t, std::vector<int>> threads_;  ///< key: call; index: lane
    int count_ = 0;
};

struct Point {
    base::Track track;
    std::uint64_t ns = 0;
};

std::string name_of(const RecordedEvent& step) {
    const std::string_view name = kEventNames.at(static_cast<std::size_t>(step.kind));
    switch (step.kind) {
        case EventKind::wait:
            return fmt::format("wait for {}", step.peer);
        case EventKind::put:
        case EventKind::signal:
        case EventKind::expose:
            return fmt::format("{} to {}", name, step.peer);
        case EventKind::stage:
            return fmt::format("stage {}", step.step);
        case EventKind::flush:
            return "wait for own puts";
        default:
            return std::string(name);
    }
}

std::string arguments_of(const RecordedEvent& step) {
    std::string text = base::argument("step", std::int64_t{step.step});
    if (step.peer >= 0) text += "," + base::argument("peer", std::int64_t{step.peer});
    if (step.bytes != 0)
        text += "," + base::argument("bytes", static_cast<std::int64_t>(step.bytes));
    if (step.far) text += "," + base::argument("way", "network");
    return text;
}

/// Writes the events of all ranks, and arrows between them.
class TimelineWriter {
  public:
    TimelineWriter(base::TraceEvents& out, std::uint64_t zero_ns) : out_(out), zero_ns_(zero_ns) {}

    void add_rank(int rank, int node, const RankReport& trace) {
        const TraceThreads threads(trace);
        out_.name_process(rank, fmt::format("rank {} (node {})", rank, node));
        out_.name_thread({rank, 0}, "calls");
        for (int thread = 1; thread <= threads.count(); ++thread)
            out_.name_thread({rank, thread}, fmt::format("steps {}", thread));
        for (const RecordedEvent& event : trace.events) {
            if (is_call(event))
                add_call(rank, event, trace);
            else if (const int thread = threads.thread_of(event); thread != 0)
                add_step({rank, thread}, event);
        }
    }
    /// Adds an arrow from each step that raised a flag to the step that waited for it.
    void add_arrows() {
        for (const auto& [key, wait] : waits_) {
            const auto from = raised_.find(key);
            if (from != raised_.end() && from->second.ns <= wait.ns)
                out_.arrow("flag", from->second.track, from->second.ns, wait.track, wait.ns);
        }
    }

  private:
    [[nodiscard]] std::uint64_t at(std::uint64_t ns) const {
        return ns < zero_ns_ ? 0 : ns - zero_ns_;
    }

    void add_call(int rank, const RecordedEvent& call, const RankReport& trace) {
        const std::string arguments =
            base::argument("epoch", static_cast<std::int64_t>(call.bytes)) + "," +
            base::argument("team", std::int64_t{call.lane});
        const base::Slice slice{{rank, 0},         trace.names.at(call.step), "call",
                                at(call.begin_ns), at(call.end_ns),           arguments};
        if (call.kind == EventKind::call)
            out_.slice(slice);
        else
            out_.async(slice, call.call);
    }
    void add_step(base::Track track, const RecordedEvent& step) {
        const std::string name = name_of(step);
        const std::string arguments = arguments_of(step);
        out_.slice({track, name, step.kind == EventKind::stage ? "stage" : "step",
                    at(step.begin_ns), at(step.end_ns), arguments});
        if (step.key == 0) return;
        if (step.kind >= EventKind::put && step.kind <= EventKind::publish)
            raised_.insert_or_assign(step.key, Point{track, at(step.begin_ns)});
        // 1 ns before the end of the wait, so that the arrow ends inside the slice.
        if (step.kind == EventKind::wait)
            waits_.emplace_back(step.key,
                                Point{track, std::max(at(step.begin_ns) + 1, at(step.end_ns)) - 1});
    }

    base::TraceEvents& out_;
    std::uint64_t zero_ns_;
    std::unordered_map<std::uint64_t, Point> raised_;     ///< key: RecordedEvent::key
    std::vector<std::pair<std::uint64_t, Point>> waits_;  ///< RecordedEvent::key, end of the wait
};

std::string metadata_of(const TraceContext& context, std::uint64_t lost) {
    std::int64_t most_ahead = 0;
    for (const ClockOffsets& clocks : context.clocks)
        for (const std::int64_t ahead : clocks.ahead_ns)
            most_ahead = std::max(most_ahead, std::abs(ahead));
    const auto error =
        static_cast<std::int64_t>(std::max(context.clocks[0].error_ns, context.clocks[1].error_ns));
    const std::string clocks =
        context.hosts == 1
            ? "one host: all ranks read the same clock"
            : fmt::format(
                  "{} hosts: times are by rank 0's clock; other clocks were compared "
                  "with it at the start and at the end",
                  context.hosts);
    return base::argument("clocks", clocks) + "," +
           base::argument("compared_difference_ns_max", most_ahead) + "," +
           base::argument("compared_error_ns_max", error) + "," +
           base::argument("ranks", static_cast<std::int64_t>(context.nodes.size())) + "," +
           base::argument("events_lost", static_cast<std::int64_t>(lost));
}

struct TraceFile {
    /// nullptr: could not be opened; errno has the reason.
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
    std::string path;
};

/// Opens a new file, named by the process id. Adds a suffix if the name exists: another runtime of
/// this process, or a process with an equal id in another container, may have made that file.
TraceFile open_new(const std::string& folder) {
    for (unsigned count = 1;; ++count) {
        const std::string suffix = count == 1 ? "" : fmt::format("-{}", count);
        std::string path = fmt::format("{}/weft-{}{}.json", folder, ::getpid(), suffix);
        std::FILE* const file = std::fopen(path.c_str(), "wxe");  // x: fails if the file exists
        if (file != nullptr || errno != EEXIST) return {{file, &std::fclose}, std::move(path)};
    }
}

}  // namespace

ClockOffsets offsets_of(const std::vector<ClockRound>& rounds) {
    const ClockRound& best = *std::ranges::min_element(
        rounds, {}, [](const ClockRound& round) { return round.end_ns - round.begin_ns; });
    ClockOffsets offsets{.at_ns = best.begin_ns + (best.end_ns - best.begin_ns) / 2,
                         .error_ns = (best.end_ns - best.begin_ns + 1) / 2};
    for (const std::uint64_t arrived_ns : best.arrived_ns)
        offsets.ahead_ns.push_back(static_cast<std::int64_t>(arrived_ns - offsets.at_ns));
    return offsets;
}

std::int64_t ahead_at(const ClockOffsets& first, const ClockOffsets& last, std::size_t rank,
                      std::uint64_t time_ns) {
    const std::int64_t before = first.ahead_ns[rank];
    const std::int64_t after = last.ahead_ns[rank];
    if (last.at_ns <= first.at_ns) return before;
    // Interpolates by the rank's own clock, which has almost the rate of rank 0's clock.
    const auto since =
        static_cast<double>(static_cast<std::int64_t>(time_ns - first.at_ns) - before);
    const double part = since / static_cast<double>(last.at_ns - first.at_ns);
    return before + static_cast<std::int64_t>(part * static_cast<double>(after - before));
}

base::Result<std::string> write_trace(const std::string& folder, std::vector<RankReport> ranks,
                                      const TraceContext& context) {
    ::mkdir(folder.c_str(), 0700);  // open_new() reports a failure
    const auto [file, path] = open_new(folder);
    if (file == nullptr)
        return base::fail(Status::environment, "WEFT_TRACE={}: cannot write {}: {}", folder, path,
                          std::strerror(errno));
    std::uint64_t lost = 0;
    std::uint64_t zero_ns = ~std::uint64_t{0};
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        convert_and_sort(ranks[rank], rank, context);
        lost += ranks[rank].lost;
        if (!ranks[rank].events.empty())
            zero_ns = std::min(zero_ns, ranks[rank].events.front().begin_ns);
    }
    std::uint64_t count = 0;
    {
        base::TraceEvents out(
            [&](std::string_view text) { std::fwrite(text.data(), 1, text.size(), file.get()); },
            metadata_of(context, lost));
        TimelineWriter writer(out, zero_ns);
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            writer.add_rank(static_cast<int>(rank), context.nodes[rank], ranks[rank]);
        writer.add_arrows();
        count = out.count();
    }
    if (std::fflush(file.get()) != 0 || std::ferror(file.get()) != 0) {
        const base::Failure why =
            base::fail(Status::environment, "WEFT_TRACE={}: cannot write {}: {}", folder, path,
                       std::strerror(errno));
        std::remove(path.c_str());  // a truncated trace is of no use, and fills the disk
        return why;
    }
    std::string text = fmt::format(
        "trace of {} ranks: {}: {} events; open it at "
        "https://ui.perfetto.dev",
        ranks.size(), path, count);
    if (lost != 0) text += fmt::format("; {} older steps had no room (WEFT_TRACE_EVENTS)", lost);
    return text;
}

}  // namespace weft::run
