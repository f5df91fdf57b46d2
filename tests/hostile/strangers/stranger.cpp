// SPDX-License-Identifier: BSD-3-Clause
// stranger.cpp - another user of the machine who tries to join or end a job.
//
// Usage: stranger PIDS PORTS [NAME]. PIDS are the processes of the job and PORTS the TCP ports at
// which they listen, both separated by commas; every user can list them with ps and ss. The program
// attacks them. It prints a line that begins with BROKE for each attack that worked, and with
// "reached" for each port that accepted a write over libfabric without executing it. The last line
// has the number of attacks. With NAME, the name of the job, the program only tries to join.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pmix.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/hostile/strangers/fabric_intruder.hpp"

/// Replaces the C library's function: PMIx sends its result to the server as this process's user.
extern "C" uid_t geteuid() noexcept {
    return 0;
}
extern "C" gid_t getegid() noexcept {
    return 0;
}

namespace {

namespace fs = std::filesystem;

int tried = 0;

/// Counts an attack, and reports it if it worked.
void attempt(bool worked, const std::string& attack) {
    ++tried;
    if (worked) fmt::print("BROKE {}\n", attack);
}

std::vector<int> numbers(const std::string& list) {
    std::vector<int> result;
    std::istringstream text(list);
    for (std::string entry; std::getline(text, entry, ',');)
        result.push_back(std::atoi(entry.c_str()));
    return result;
}

void attack_process(pid_t pid) {
    const std::string folder = fmt::format("/proc/{}/", pid);
    for (const char* const file : {"environ", "mem", "maps", "auxv", "stack"}) {
        std::ifstream opened(folder + file);
        char byte = 0;
        attempt(opened.get(byte).good(), folder + file + " can be read");
    }
    for (int number = 0; number < 64; ++number) {
        const int file = ::open((folder + "fd/" + std::to_string(number)).c_str(), O_RDWR);
        attempt(file >= 0, fmt::format("{}fd/{} can be opened", folder, number));
        if (file >= 0) ::close(file);
    }
    const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    for (int number = 3; number < 32; ++number)
        attempt(::syscall(SYS_pidfd_getfd, handle, number, 0) >= 0, "pidfd_getfd");
    char byte = 0;
    iovec own{&byte, 1};
    iovec target{reinterpret_cast<void*>(0x2000'0000'0000), 1};
    attempt(::syscall(SYS_process_vm_writev, pid, &own, 1, &target, 1, 0) > 0, "process_vm_writev");
    attempt(::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0, "ptrace");
    for (const int signal : {SIGCONT, SIGUSR1, SIGTERM, SIGKILL})
        attempt(::kill(pid, signal) == 0, fmt::format("signal {} to {}", signal, pid));
}

/// Attacks files with names as a job uses, except the paths in OLD_FILES (one on a line), which
/// existed before the job.
void attack_files() {
    const char* const old = std::getenv("OLD_FILES");
    const std::string old_files = old == nullptr ? "" : old;
    for (const char* const folder : {"/tmp", "/dev/shm", "/run", "/var/tmp"}) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(folder, error)) {
            const std::string name = entry.path().filename();
            if (name.find("weft") == std::string::npos && name.find(':') == std::string::npos)
                continue;
            if (name.rfind("weft-test.", 0) == 0) continue;  // made by the test
            if (old_files.find("\n" + entry.path().string() + "\n") != std::string::npos) continue;
            std::error_code denied;
            fs::directory_iterator inside(entry.path(), denied);
            attempt(!denied && entry.is_directory(), entry.path().string() + " can be listed");
            const int file = ::open(entry.path().c_str(), O_RDWR);
            attempt(file >= 0, entry.path().string() + " can be written");
            if (file >= 0) ::close(file);
        }
    }
}

/// Returns a socket that is connected to a port of this host; -1: no connection.
int connected(int port) {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(static_cast<std::uint16_t>(port));
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0)
        return connection;
    ::close(connection);
    return -1;
}

/// Sends random bytes; keeps every second connection open, as if the message had no end.
void send_junk(int port, std::mt19937& random) {
    for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 7, 16, 64, 1024, 100000}) {
        const int connection = connected(port);
        if (connection < 0) continue;
        std::string junk(bytes, '\0');
        for (char& byte : junk) byte = static_cast<char>(random());
        static_cast<void>(
            ::send(connection, junk.data(), junk.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        ++tried;
        if (bytes % 2 == 0) ::close(connection);
    }
}

/// Tries to join the job and to abort it. In a child process, because PMIx caches answers.
void join_as_rank(int port, const std::string& name) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(4);
        const std::string address = fmt::format("{}.0;tcp4://127.0.0.1:{}", name, port);
        ::setenv("PMIX_NAMESPACE", name.c_str(), 1);
        ::setenv("PMIX_RANK", "0", 1);
        for (const char* const version : {"2", "21", "3", "4", "41"})
            ::setenv((std::string("PMIX_SERVER_URI") + version).c_str(), address.c_str(), 1);
        ::setenv("PMIX_SECURITY_MODE", "native", 1);
        ::setenv("PMIX_GDS_MODULE", "hash", 1);
        ::setenv("PMIX_VERSION", "4.2.2rc2", 1);
        if (::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(0);
        pmix_proc_t self;
        if (PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) ::_exit(0);
        PMIx_Abort(99, "a stranger ends this job", nullptr, 0);
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    attempt(WIFEXITED(status) && WEXITSTATUS(status) == 1,
            fmt::format("joining as rank 0 of {}", name));
}

void attack_over_fabric(int port) {
    using weft::test::Intrusion;
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(10);
        ::_exit(static_cast<int>(weft::test::write_over_fabric(static_cast<std::uint16_t>(port))));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const auto ended_with = [&](Intrusion result) {
        return WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(result);
    };
    if (ended_with(Intrusion::reached)) fmt::print("reached port {}\n", port);
    attempt(ended_with(Intrusion::wrote), fmt::format("a write over libfabric to port {}", port));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    if (argc == 4) {
        for (const int port : numbers(argv[2])) join_as_rank(port, argv[3]);
        return 0;
    }
    std::mt19937 random(1);
    const std::vector<int> pids = numbers(argv[1]);
    const std::vector<int> ports = numbers(argv[2]);
    std::vector<int> silent;  // connections that send nothing
    for (const int port : ports) {
        for (int i = 0; i < 4; ++i) silent.push_back(connected(port));
    }
    for (const int pid : pids) attack_process(pid);
    attack_files();
    for (const int port : ports) {
        send_junk(port, random);
        for (const int pid : pids) join_as_rank(port, fmt::format("weft-{}", pid));
        attack_over_fabric(port);
    }
    fmt::print("tried {}\n", tried);
    return 0;
}
