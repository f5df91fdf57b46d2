// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/job_command.hpp"

#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/launch/process.hpp"

namespace weft::tools {

namespace fs = std::filesystem;

namespace {

/// Returns the first line that is a JSON object, or a discarded value.
Json object_in(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with('{')) continue;
        Json found = lab::read_json(line);
        if (found.is_object()) return found;
    }
    return Json(Json::value_t::discarded);
}

/// Returns the first line with text; launchers frame their messages with lines of - or =.
std::string first_text_line(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line) && line.find_first_not_of("-= \t") == std::string::npos) {
    }
    return line;
}

}  // namespace

void append(Words& words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
}

Words split_at_blanks(const std::string& text) {
    std::istringstream words(text);
    return Words(std::istream_iterator<std::string>(words), {});
}

bool is_first_rank() {
    const char* rank = std::getenv("PMIX_RANK");
    return rank == nullptr || std::string_view(rank) == "0";
}

bool is_in_job() {
    return std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

std::string own_program() {
    std::error_code failed;
    std::string path = fs::read_symlink("/proc/self/exe", failed).string();
    if (failed) fail(Status::environment, "/proc/self/exe cannot be read");
    return path;
}

Words words_of_job(const Words& options, const Words& command) {
    const std::string self = own_program();
    Words words{self, "run"};
    append(words, options);
    append(words, {"--", self});
    append(words, command);
    return words;
}

std::string in_quotes(std::string_view word) {
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string in_quotes(const Words& words) {
    Words quoted;
    for (const std::string& word : words) quoted.push_back(in_quotes(word));
    return fmt::format("{}", fmt::join(quoted, " "));
}

ProgramOutput output_of(const std::string& command) {
    ::signal(SIGCHLD, SIG_DFL);  // if ignored, as under some supervisors, pclose() would fail
    std::FILE* const pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) fail(Status::environment, "a shell cannot be started");
    ProgramOutput output;
    std::array<char, 4096> piece;
    while (const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), pipe))
        output.text.append(piece.data(), bytes);
    output.status = shell_status(::pclose(pipe));
    return output;
}

base::Result<Json> json_of(const Words& words, double seconds) {
    const ProgramOutput output =
        output_of(fmt::format("exec timeout --foreground -k 5 {:.0f} {} 2>&1 </dev/null",
                              std::ceil(std::max(seconds, 1.0)), in_quotes(words)));
    // Status 1 is kAnswerIsNo: the object is complete.
    Json found = output.status <= 1 ? object_in(output.text) : Json(Json::value_t::discarded);
    if (found.is_object()) return found;
    if (output.status == 124)
        return base::fail(Status::environment, "no end within {:.0f} s", seconds);
    const std::string line = first_text_line(output.text);
    return base::fail(
        Status::environment, "{}",
        line.empty() ? fmt::format("status {}, no JSON object", output.status) : line);
}

void start_job(Rank ranks, std::optional<Rank> nodes) {
    std::ifstream file("/proc/self/cmdline");
    Words own;
    for (std::string word; std::getline(file, word, '\0');) own.push_back(word);
    if (own.empty()) fail(Status::environment, "-n {}: cannot read /proc/self/cmdline", ranks);
    own.erase(own.begin());
    Words options{"-n", std::to_string(ranks)};
    if (nodes) append(options, {"--nodes", std::to_string(*nodes)});
    Words words = words_of_job(options, own);
    ::execv(words.front().c_str(), pointers_to(words).data());
    fail(Status::environment, "-n {}: cannot start {}: {}", ranks, words.front(),
         std::strerror(errno));
}

int run_program(const Words& words) {
    ::signal(SIGCHLD, SIG_DFL);  // an ignored signal would never arrive
    sigset_t awaited;
    sigset_t before;
    ::sigemptyset(&awaited);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&awaited, signal);
    ::pthread_sigmask(SIG_BLOCK, &awaited, &before);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    ::posix_spawnattr_setsigmask(&attributes, &before);
    pid_t child = 0;
    const int refused = ::posix_spawn(&child, words.front().c_str(), nullptr, &attributes,
                                      pointers_to(words).data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    if (refused != 0)
        fail(Status::environment, "cannot start {}: {}", fmt::join(words, " "),
             std::strerror(refused));
    int status = 0;
    for (pid_t ended = 0; ended == 0;) {
        siginfo_t arrived;
        const int signal = ::sigwaitinfo(&awaited, &arrived);
        // The terminal sends a signal of the kernel to the child, too.
        if (signal > 0 && signal != SIGCHLD && arrived.si_code <= 0) ::kill(child, signal);
        ended = ::waitpid(child, &status, WNOHANG);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return shell_status(status);
}

void become_program(const Words& words) {
    std::fflush(nullptr);
    ::execvp(words.front().c_str(), pointers_to(words).data());
}

std::string mpi_of(const std::string& program, const std::string& given) {
    const auto file = find_program(program);
    if (!file) refuse("{}: no such program", program);
    const std::string libraries =
        output_of(fmt::format("ldd {} 2>&1 </dev/null", in_quotes(*file))).text;
    const auto lists = [&](const char* name) { return libraries.find(name) != std::string::npos; };
    std::string magic(4, ' ');
    std::ifstream(*file).read(magic.data(), 4);
    const bool is_script = magic != "\177ELF";
    if (lists("statically linked") || (lists("not a dynamic executable") && !is_script))
        refuse("{}: the program is static, so no layer can be preloaded; link it dynamically",
               program);
    const bool openmpi = lists("libmpi.so.40");
    const bool mpich = lists("libmpich.so") || lists("libmpi.so.12");  // both names are in use
    if (openmpi == mpich && given.empty())
        refuse("{}: ldd shows {} Open MPI {} MPICH; give --mpi openmpi or --mpi mpich", program,
               openmpi ? "both" : "neither", openmpi ? "and" : "nor");
    if (openmpi == mpich) return given;
    const std::string found = openmpi ? "openmpi" : "mpich";
    if (!given.empty() && given != found)
        refuse("--mpi {}: {} is linked with {}, whose layer is another one", given, program, found);
    return found;
}

Words default_launcher(const std::string& mpi) {
    if (mpi == "mpich") return {"mpiexec.mpich"};
    Words words{"mpirun.openmpi", "--oversubscribe"};
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    return words;
}

Words words_of(const MpiJob& job) {
    Words words = job.launcher.empty() ? default_launcher(job.mpi) : job.launcher;
    if (job.ranks > 0) append(words, {"-n", std::to_string(job.ranks)});
    words.emplace_back("env");
    append(words, job.settings);
    Words preload = job.preload;
    std::erase(preload, "");
    if (!preload.empty()) words.push_back(fmt::format("LD_PRELOAD={}", fmt::join(preload, ":")));
    // env would read a program with an equals sign in its name as a setting.
    if (job.program.front().find('=') != std::string::npos)
        append(words, {"sh", "-c", "exec \"$0\" \"$@\""});
    append(words, job.program);
    return words;
}

std::string layer_for(const std::string& mpi) {
    const std::string name = fmt::format("libweft-mpi-{}.so", mpi);
    const fs::path here = fs::path(own_program()).parent_path();
    for (const fs::path& folder : {here, here.parent_path() / WEFT_LIBRARY_FOLDER})
        if (fs::exists(folder / name)) return folder / name;
    fail(Status::environment, "{} is missing: it is built where {} has headers", name, mpi);
}

std::string peer_program(const std::string& mpi) {
    const fs::path program = fs::path(own_program()).replace_filename("peer_" + mpi);
    if (::access(program.c_str(), X_OK) == 0) return program;
    fail(Status::environment,
         "{} is missing; where the library and its compiler wrapper are installed, it is built "
         "by: cmake --build BUILD --target weft_peer_{}",
         program.string(), mpi);
}

std::string yielding_library(const std::string& mpi, Rank ranks) {
    const fs::path library = fs::path(own_program()).replace_filename("peer_yield_ucx.so");
    const bool needless = mpi != "mpich" || ranks <= usable_processors();
    return needless || ::access(library.c_str(), R_OK) != 0 ? "" : library.string();
}

}  // namespace weft::tools
