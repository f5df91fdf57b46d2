# SPDX-License-Identifier: BSD-3-Clause
# prepare.sh - functions that install packages and build; tests/run, perf/quickstart and packaging/build source it.
#
# Idea     Each step acts only if something is missing, so a repeated run costs nothing.
# Holds    Checks and installation need bash and coreutils only. If packages or the configuration fail, the script ends
#          with status 3 (the environment failed) and a message. A failed build returns its status.

weft_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

weft_say() { printf '== %s\n' "$*" >&2; }
weft_give_up() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 3; }

# Checks /proc and /dev, which no package provides.
weft_need_machine() {
    [[ -r /proc/self/status ]] ||
        weft_give_up "/proc is not mounted here; as root: mount -t proc proc /proc"
    [[ -c /dev/null && -r /dev/urandom ]] ||
        weft_give_up "/dev is not populated here; from outside a chroot, as root: mount --bind /dev ROOT/dev"
}

# weft_packages GROUP: prints the packages of one group that this release of Debian has.
weft_packages() {
    local group package release _
    release=$(. /etc/os-release && printf '%s' "${VERSION_ID-}")
    while read -r group package _; do
        [[ $group == "$1" || $group == "$1@$release" ]] && printf '%s\n' "$package"
    done <"$weft_root/cmake/debian-packages.txt"
    return 0
}

# weft_missing_packages GROUP...: prints the packages of these groups that are not installed.
weft_missing_packages() {
    local group package
    for group in "$@"; do
        for package in $(weft_packages "$group"); do
            [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
                printf '%s\n' "$package"
        done
    done
}

# weft_need_packages GROUP...: installs the missing packages of these groups.
weft_need_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        weft_say "not a Debian system: install the packages of cmake/debian-packages.txt by hand"
        return 0
    fi
    mapfile -t missing < <(weft_missing_packages "$@")
    ((${#missing[@]})) || return 0
    local install=(apt-get install -y --no-install-recommends "${missing[@]}")
    ((EUID == 0)) || weft_give_up "packages are missing; run: sudo apt-get update && sudo ${install[*]}"
    weft_say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && "${install[@]}" -q; } >&2 ||
        weft_give_up "apt-get failed; by hand: apt-get update && ${install[*]}"
}

# weft_announce CORE_MINUTES MEGABYTES [BUILT_FILE [MEGABYTES GROUP...]]: prints the time and space of a first run,
# unless BUILT_FILE exists. The time is for one core and is divided by the number of cores. The second size is for all
# packages of the groups; it is added if more than three packages are missing.
weft_announce() {
    local cores free packages=0 few=3
    [[ -n ${3-} && -e $weft_root/$3 ]] && return 0
    cores=$(nproc)
    { read -r _; read -r _ _ _ free _; } < <(df -Pm "$weft_root")
    command -v dpkg-query >/dev/null && (($# > 4 && $(weft_missing_packages "${@:5}" | wc -l) > few)) && packages=$4
    weft_say "the first run takes about $((($1 + cores - 1) / cores)) min on $cores cores and $2 MB of disk" \
        "($free MB free)$( ((packages)) && printf ', packages %s MB' "$packages")"
    ((free > $2 + packages)) || weft_give_up "$weft_root has $free MB left, and $(($2 + packages)) are needed"
}

# weft_build PRESET [TARGET...]: configures and builds build/PRESET; without targets, builds all. Builds tests unless
# weft_tests=OFF. perf/quickstart and tests/run use one build folder, so neither repeats the work of the other.
weft_build() {
    local preset=$1 target targets=()
    for target in "${@:2}"; do targets+=(--target "$target"); done
    cd "$weft_root" || weft_give_up "cannot enter $weft_root"
    weft_say "configuring $preset"
    # A build folder with tests keeps them, so that the next tests/run need not configure it again.
    local tests=${weft_tests:-ON}
    grep -q '^WEFT_TESTS:BOOL=ON' "build/$preset/CMakeCache.txt" 2>/dev/null && tests=ON
    cmake --preset "$preset" -DWEFT_TESTS=$tests >&2 || weft_give_up "configuring build/$preset failed"
    weft_say "building $preset on $(nproc) cores"
    cmake --build --preset "$preset" -j "$(nproc)" "${targets[@]}" -- -k 0 >&2
}
