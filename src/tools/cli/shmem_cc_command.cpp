// SPDX-License-Identifier: BSD-3-Clause
// shmem_cc_command.cpp - `weft shmem-cc`: compiles and links a program of OpenSHMEM.
//
// Idea     Adds the folders of shmem.h and libweft-shmem to the words for a compiler, and becomes
//          that compiler. oshcc and oshc++, links to this executable, are names for the command.
// Next     main.cpp, which splits the words into options of the command and words for the compiler.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tools/cli/job_command.hpp"

namespace weft::tools {

namespace {

namespace fs = std::filesystem;

struct CompileArguments {
    bool show = false;
    bool cxx = false;
};

struct InterfaceFolders {
    fs::path headers;
    fs::path library;
};

/// Returns the folders of an installed weft, or of the build that contains this executable.
InterfaceFolders interface_folders() {
    const fs::path here = fs::path(own_program()).parent_path();
    const fs::path prefix = here.parent_path();
    const std::array<InterfaceFolders, 2> places{
        InterfaceFolders{prefix / WEFT_INCLUDE_FOLDER / "openshmem", prefix / WEFT_LIBRARY_FOLDER},
        InterfaceFolders{prefix.parent_path().parent_path() / "include/openshmem", here}};
    for (const InterfaceFolders& place : places)
        if (fs::exists(place.headers / "shmem.h") && fs::exists(place.library / "libweft-shmem.so"))
            return place;
    fail(Status::environment,
         "shmem.h and libweft-shmem.so are missing: expected them in {} and {}; the package "
         "libweft-dev has both",
         places.front().headers.string(), places.front().library.string());
}

/// Returns the words of the compiler: of SHMEM_CC or SHMEM_CXX, such as "ccache gcc", or the
/// system's compiler.
Words compiler(bool cxx) {
    const char* const given = std::getenv(cxx ? "SHMEM_CXX" : "SHMEM_CC");
    Words words = split_at_blanks(given != nullptr ? given : "");
    if (words.empty()) words.emplace_back(cxx ? "c++" : "cc");
    return words;
}

/// Returns true if the compiler links a program. Without an input it only prints something.
bool links(const Words& given) {
    static constexpr std::array<std::string_view, 6> kStops{"-c", "-S",  "-E",
                                                            "-M", "-MM", "-fsyntax-only"};
    const auto stops = [](const std::string& word) {
        return std::ranges::find(kStops, word) != kStops.end();
    };
    const auto is_input = [](const std::string& word) { return !word.starts_with('-'); };
    return std::ranges::none_of(given, stops) && std::ranges::any_of(given, is_input);
}

/// Returns the command as a line for a shell, with quotes around words that need them.
std::string line_of(const Words& words) {
    const auto needs_quotes = [](const std::string& word) {
        const auto is_plain = [](unsigned char c) {
            return std::isalnum(c) != 0 || std::strchr("_@%+=:,./-", c) != nullptr;
        };
        return word.empty() || !std::ranges::all_of(word, is_plain);
    };
    Words quoted;
    for (const std::string& word : words)
        quoted.push_back(needs_quotes(word) ? in_quotes(word) : word);
    return fmt::format("{}", fmt::join(quoted, " "));
}

int compile(const CompileArguments& arguments, const Words& given) {
    if (given.empty() && !arguments.show)
        refuse("the source file is missing: weft shmem-cc program.c -o program");
    const InterfaceFolders folders = interface_folders();
    Words words = compiler(arguments.cxx);
    words.push_back("-I" + folders.headers.string());
    append(words, given);
    if (links(given) || given.empty())
        append(words, {"-L" + folders.library.string(), "-lweft-shmem",
                       "-Wl,-rpath," + folders.library.string()});
    if (arguments.show) {
        fmt::print("{}\n", line_of(words));
        return 0;
    }
    become_program(words);
    fail(Status::environment, "cannot start {}: {}; {} names the compiler", words.front(),
         std::strerror(errno), arguments.cxx ? "SHMEM_CXX" : "SHMEM_CC");
}

}  // namespace

void add_shmem_cc_command(CLI::App& app, const std::vector<std::string>& compiler_args) {
    const auto [command, arguments] = add_command<CompileArguments>(
        app, "shmem-cc", "compile and link a program of OpenSHMEM, also as oshcc",
        [&compiler_args](const CompileArguments& given) { return compile(given, compiler_args); },
        "weft shmem-cc");
    add_flag(*command, "--show", arguments->show, "print the compiler's command line; run nothing");
    add_flag(*command, "--cxx", arguments->cxx, "use the C++ compiler, as oshc++ does");
    set_footer(
        *command,
        "All other words are passed to the compiler: cc, or c++ with --cxx. SHMEM_CC and\n"
        "SHMEM_CXX name other compilers. -c, -E, -S, -M, -MM and -fsyntax-only do not link.\n"
        "oshcc, oshc++ and oshrun (weft run) are installed in lib/weft/openshmem/bin.\n"
        "Exit status: that of the compiler, 2 without a source file, 3 if the compiler or the\n"
        "library is missing.");
}

}  // namespace weft::tools
