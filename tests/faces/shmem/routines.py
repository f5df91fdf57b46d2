# SPDX-License-Identifier: BSD-3-Clause
"""routines.py - the C interface of OpenSHMEM 1.6, from the text of the standard and not from weft's header.

Idea     A family is a pattern of names: {T} is a type from the family's row of TYPES, {S} a size in bits, {a|b} is a or
         b, (x) is optional. `names()` returns all names, `page()` the table of docs/shmem.md.
Next     shmem_test.py, which compares names and table with the header, the library and the page.
"""
import itertools
import re

C = "char schar short int long longlong uchar ushort uint ulong ulonglong".split()
EXACT = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 size".split()
TYPES = {
    "rma": ["float", "double", "longdouble", *C, *EXACT, "ptrdiff"],
    "amo": "int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff".split(),
    "bitwise": "uint ulong ulonglong int32 int64 uint32 uint64".split(),
    "old": ["int", "long", "longlong"],
    "sets": ["short", "int", "long", "longlong"],
    "bits": ["uchar", "ushort", "uint", "ulong", "ulonglong", *EXACT],
}
TYPES["extended"] = ["float", "double", *TYPES["amo"]]
TYPES["sync"] = ["short", "ushort", *TYPES["amo"]]
TYPES["numbers"] = ["complexd", "complexf", *TYPES["rma"]]
TYPES["old extended"] = ["float", "double", *TYPES["old"]]
TYPES["sets ordered"] = [*TYPES["sets"], "float", "double", "longdouble"]
TYPES["sets numbers"] = ["complexd", "complexf", *TYPES["sets ordered"]]
SIZES = ["8", "16", "32", "64", "128"]

# Section, pattern after "shmem_", key in TYPES or None, implementation ("the same" as of the family above).
FAMILIES = [
    ("Setup", "{init|finalize|my_pe|n_pes|init_thread|query_thread|query_initialized}", None, "the job of weft"),
    ("Setup", "global_exit", None, "weft_abort()"),
    ("Setup", "{pe_accessible|addr_accessible|ptr}", None, "heap, and variables of the program"),
    ("Setup", "{info_get_version|info_get_name}", None, "version 1.6, name weft"),
    ("Memory", "{malloc|calloc|align|realloc|free}", None, "weft's heap; alignment as weft_alloc_aligned()"),
    ("Memory", "malloc_with_hints", None, "hints change nothing"),
    ("Teams", "team_{my_pe|n_pes|get_config|translate_pe|sync}", None, "local; `sync` is weft's barrier"),
    ("Teams", "team_ptr", None, "as `ptr`"),
    ("Teams", "team_{split_strided|split_2d|destroy}", None, "teams of weft: 32 at a time, some of them in use"),
    ("Contexts", "{ctx_create|team_create_ctx|ctx_destroy|ctx_get_team}", None, "contexts of weft; hints change nothing"),
    ("Contexts", "ctx_session_{start|stop}", None, "hints change nothing"),
    ("Order", "(ctx_){fence|quiet}", None, "fence and quiet of a context"),
    ("Order", "(ctx_)pe_quiet", None, "quiet of the context, for all PEs"),
    ("Transfers", "(ctx_){T}_{put|get}(_nbi)", "rma", "local PEs: loads and stores"),
    ("Transfers", "(ctx_){put|get}{S}(_nbi)", None, "the same"),
    ("Transfers", "(ctx_){putmem|getmem}(_nbi)", None, "the same"),
    ("Transfers", "(ctx_){T}_{p|g}", "rma", "the same"),
    ("Transfers", "(ctx_){T}_{iput|iget}", "rma", "remote PEs: strided calls of weft"),
    ("Transfers", "(ctx_){iput|iget}{S}", None, "the same"),
    ("Transfers", "(ctx_){T}_{ibput|ibget}", "rma", "the same"),
    ("Transfers", "(ctx_){ibput|ibget}{S}", None, "the same"),
    ("Atomic operations", "(ctx_){T}_atomic_{fetch|set|swap|fetch_nbi|swap_nbi}", "extended",
     "local PEs: instructions; remote PEs: weft"),
    ("Atomic operations", "(ctx_){T}_atomic_{compare_swap|fetch_inc|fetch_add}(_nbi)", "amo", "the same"),
    ("Atomic operations", "(ctx_){T}_atomic_{inc|add}", "amo", "the same"),
    ("Atomic operations", "(ctx_){T}_atomic_fetch_{and|or|xor}(_nbi)", "bitwise", "the same"),
    ("Atomic operations", "(ctx_){T}_atomic_{and|or|xor}", "bitwise", "the same"),
    ("Signals", "(ctx_){T}_put_signal(_nbi)", "rma", "weft's put with a signal"),
    ("Signals", "(ctx_)put{S}_signal(_nbi)", None, "the same"),
    ("Signals", "(ctx_)putmem_signal(_nbi)", None, "the same"),
    ("Signals", "(ctx_)signal_{set|add}", None, "the same"),
    ("Signals", "{signal_fetch|signal_wait_until}", None, "local"),
    ("Collectives", "{barrier_all|sync_all}", None, "weft's barrier"),
    ("Collectives", "{T}_{broadcast|collect|fcollect|alltoall|alltoalls}", "rma", "weft's collectives"),
    ("Collectives", "{broadcast|collect|fcollect|alltoall|alltoalls}mem", None, "the same"),
    ("Collectives", "{T}_{and|or|xor}_reduce", "bits", "weft's allreduce"),
    ("Collectives", "{T}_{min|max}_reduce", "rma", "the same"),
    ("Collectives", "{T}_{sum|prod}_reduce", "numbers", "the same"),
    ("Collectives", "{T}_sum_{inscan|exscan}", "numbers", "weft's scan and exscan"),
    ("Waits", "{T}_wait_until", "sync", "weft's wait"),
    ("Waits", "{T}_wait_until_{all|any|some}(_vector)", "sync", "the same"),
    ("Waits", "{T}_test", "sync", "drives communication, and yields the core if false"),
    ("Waits", "{T}_test_{all|any|some}(_vector)", "sync", "the same"),
    ("Locks", "{set_lock|clear_lock|test_lock}", None, "a queue of PEs; each waits on its own memory"),
    ("Profiling", "pcontrol", None, "no effect; tools may replace it"),
    ("Deprecated", "{barrier|sync}", None, "active sets become teams of weft"),
    ("Deprecated", "{broadcast|collect|fcollect|alltoall|alltoalls}{32|64}", None, "the same"),
    ("Deprecated", "{T}_{and|or|xor}_to_all", "sets", "the same"),
    ("Deprecated", "{T}_{min|max}_to_all", "sets ordered", "the same"),
    ("Deprecated", "{T}_{sum|prod}_to_all", "sets numbers", "the same"),
    ("Deprecated", "{T}_{fetch|set|swap}", "old extended", "as the atomic operations"),
    ("Deprecated", "{T}_{cswap|finc|inc|fadd|add}", "old", "the same"),
    ("Deprecated", "swap", None, "type `long`"),
    ("Deprecated", "{T}_wait", "sets", "waits until the variable differs from the value"),
    ("Deprecated", "{wait|wait_until}", None, "type `long`"),
    ("Deprecated", "{set|clear}_cache(_line)_inv", None, "no effect"),
    ("Deprecated", "udcflush(_line)", None, "the same"),
]
OLD_NAMES = ["start_pes", "_my_pe", "_num_pes", "shmalloc", "shfree", "shrealloc", "shmemalign"]


def expand(pattern, types):
    """Returns all names of a pattern."""
    parts = re.split(r"(\{[^}]*\}|\([^)]*\))", pattern)
    choices = []
    for part in parts:
        if part == "{T}":
            choices.append(types)
        elif part == "{S}":
            choices.append(SIZES)
        elif part.startswith("{"):
            choices.append(part[1:-1].split("|"))
        elif part.startswith("("):
            choices.append(["", part[1:-1]])
        else:
            choices.append([part])
    return ["shmem_" + "".join(choice) for choice in itertools.product(*choices)]


def names():
    """Returns the names of all routines in FAMILIES."""
    all_names = [name for _, pattern, types, _ in FAMILIES for name in expand(pattern, TYPES.get(types))]
    assert len(all_names) == len(set(all_names)), "a routine is in two families"
    return set(all_names)


def shown(pattern, types):
    """Returns a pattern as docs/shmem.md shows it, with the key of its types."""
    text = pattern.replace("{T}", "TYPE").replace("{S}", "SIZE").replace("|", ",")
    if re.fullmatch(r"\{[^}]*\}", text):
        text = "`, `".join(text[1:-1].split(","))
    return f"`{text}`" + (f" ({types})" if types else "")


def page():
    """Returns the table of docs/shmem.md: a row for consecutive families with the same implementation."""
    rows = []
    for section, pattern, types, how in FAMILIES:
        if how == "the same" and rows[-1][0] == section:
            rows[-1][1].append(shown(pattern, types))
        else:
            rows.append((section, [shown(pattern, types)], how))
    rows.append(("Deprecated", [f"`{name}`" for name in OLD_NAMES], "no prefix; the routines that replaced them"))
    lines = ["| Section | Routines, after `shmem_` (types) | Served by |", "|---|---|---|"]
    lines += [f"| {section} | {', '.join(patterns)} | {how} |" for section, patterns, how in rows]
    return "\n".join(lines) + "\n"
