// SPDX-License-Identifier: BSD-3-Clause
// trace_events.hpp - writer of the trace-event format, which Perfetto and chrome://tracing open.
//
// Idea     A trace is one JSON object with an array of events. The letters in parentheses are
//          values of the member "ph" of events. Names of processes and threads are metadata (M). A
//          slice is one complete event (X) with begin and duration. Slices that may overlap others
//          of their thread are pairs of async events (b, e). An arrow is a flow (s, f).
// Holds    Text is passed to the sink in blocks of 64 KiB, so a trace of any length needs little
//          memory. Times in the file are microseconds with three decimals.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::base {

/// Row in which viewers show a slice.
struct Track {
    int process = 0;
    int thread = 0;
};

struct Slice {
    Track track;
    std::string_view name;
    std::string_view category;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::string_view arguments;  ///< members of a JSON object, from argument()
};

class TraceEvents {
  public:
    using Sink = std::function<void(std::string_view)>;
    /// `sink` receives the text. `about`: members of the JSON object "otherData", from argument().
    TraceEvents(Sink sink, std::string_view about);
    ~TraceEvents();
    TraceEvents(const TraceEvents&) = delete;
    TraceEvents& operator=(const TraceEvents&) = delete;

    /// Sets the name of a process. Processes are shown in order of their numbers.
    void name_process(int process, std::string_view name);
    void name_thread(Track track, std::string_view name);
    void slice(const Slice& slice);
    /// Adds a slice that may overlap others of its thread. `number` must be unique in its process.
    void async(const Slice& slice, std::uint64_t number);
    /// Adds an arrow from a time in a slice of row `from` to a later time in a slice of row `to`.
    void arrow(std::string_view name, Track from, std::uint64_t from_ns, Track to,
               std::uint64_t to_ns);
    /// Returns the number of events so far.
    [[nodiscard]] std::uint64_t count() const { return count_; }

  private:
    void add_metadata(std::string_view name, Track track, std::string_view arguments);
    void begin_event(char phase, std::string_view name, Track track);
    void add_time(std::string_view key, std::uint64_t ns);
    void end_event();

    Sink sink_;
    std::string text_;
    std::string_view separator_ = "\n";
    std::uint64_t count_ = 0;
    std::uint64_t arrows_ = 0;
};

/// Return "key":"value" and "key":value, escaped for JSON.
[[nodiscard]] std::string argument(std::string_view key, std::string_view value);
[[nodiscard]] std::string argument(std::string_view key, std::int64_t value);

}  // namespace weft::base
