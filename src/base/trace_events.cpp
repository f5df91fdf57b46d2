// SPDX-License-Identifier: BSD-3-Clause
#include "base/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::base {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16;  ///< least size of a block for the sink

void append_escaped(std::string& text, std::string_view value) {
    for (const char c : value) {
        if (c == '"' || c == '\\') {
            text += '\\';
            text += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            fmt::format_to(std::back_inserter(text), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
            text += c;
        }
    }
}

}  // namespace

std::string argument(std::string_view key, std::string_view value) {
    std::string text = fmt::format("\"{}\":\"", key);
    append_escaped(text, value);
    return text += '"';
}

std::string argument(std::string_view key, std::int64_t value) {
    return fmt::format("\"{}\":{}", key, value);
}

TraceEvents::TraceEvents(Sink sink, std::string_view about) : sink_(std::move(sink)) {
    text_ =
        fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{{}}},\"traceEvents\":[", about);
}

TraceEvents::~TraceEvents() {
    text_ += "\n]}\n";
    sink_(text_);
}

void TraceEvents::begin_event(char phase, std::string_view name, Track track) {
    fmt::format_to(std::back_inserter(text_), "{}{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"name\":\"",
                   std::exchange(separator_, ",\n"), phase, track.process, track.thread);
    append_escaped(text_, name);
    text_ += '"';
}

void TraceEvents::add_time(std::string_view key, std::uint64_t ns) {
    fmt::format_to(std::back_inserter(text_), ",\"{}\":{}.{:03}", key, ns / 1000, ns % 1000);
}

void TraceEvents::end_event() {
    text_ += '}';
    ++count_;
    if (text_.size() < kBlockBytes) return;
    sink_(text_);
    text_.clear();
}

void TraceEvents::add_metadata(std::string_view name, Track track, std::string_view arguments) {
    begin_event('M', name, track);
    fmt::format_to(std::back_inserter(text_), ",\"args\":{{{}}}", arguments);
    end_event();
}

void TraceEvents::name_process(int process, std::string_view name) {
    add_metadata("process_name", {process, 0}, argument("name", name));
    add_metadata("process_sort_index", {process, 0}, argument("sort_index", process));
}

void TraceEvents::name_thread(Track track, std::string_view name) {
    add_metadata("thread_name", track, argument("name", name));
}

void TraceEvents::slice(const Slice& slice) {
    begin_event('X', slice.name, slice.track);
    add_time("ts", slice.begin_ns);
    add_time("dur", std::max(slice.end_ns, slice.begin_ns) - slice.begin_ns);
    fmt::format_to(std::back_inserter(text_), ",\"cat\":\"{}\",\"args\":{{{}}}", slice.category,
                   slice.arguments);
    end_event();
}

void TraceEvents::async(const Slice& slice, std::uint64_t number) {
    for (const char phase : {'b', 'e'}) {
        begin_event(phase, slice.name, slice.track);
        add_time("ts", phase == 'b' ? slice.begin_ns : std::max(slice.begin_ns, slice.end_ns));
        fmt::format_to(std::back_inserter(text_),
                       ",\"cat\":\"{}\",\"id\":\"{}.{}\",\"args\":{{{}}}", slice.category,
                       slice.track.process, number,
                       phase == 'b' ? slice.arguments : std::string_view());
        end_event();
    }
}

void TraceEvents::arrow(std::string_view name, Track from, std::uint64_t from_ns, Track to,
                        std::uint64_t to_ns) {
    ++arrows_;
    begin_event('s', name, from);
    add_time("ts", from_ns);
    fmt::format_to(std::back_inserter(text_), ",\"cat\":\"data\",\"id\":{}", arrows_);
    end_event();
    begin_event('f', name, to);
    add_time("ts", to_ns);
    fmt::format_to(std::back_inserter(text_), ",\"cat\":\"data\",\"id\":{},\"bp\":\"e\"", arrows_);
    end_event();
}

}  // namespace weft::base
