# SPDX-License-Identifier: BSD-3-Clause
"""walk.py - writes a C function for each routine of shmem.h that calls it with the arguments of walk.c.

Holds    Parameters for symmetric memory (SYMMETRIC, `ptr` and `addr`) get the variable `address` of walk.c, other
         pointers get `private_memory`. VALUES has arguments by parameter name, BY_TYPE by type. Routines that match STATUS
         return a status; routines that match NO_ADDRESS accept any address.
"""
import re

PROTOTYPE = re.compile(r"(?P<result>[\w ]+?\**)\s*\b(?P<name>shmem_\w+)\s*\((?P<parameters>[^()]*)\)")
VALUES = {"root": "0", "start": "0", "PE_start": "0", "log_stride": "0", "logPE_stride": "0", "pe": "peer",
          "size": "64", "alignment": "64", "requested": "SHMEM_THREAD_SINGLE", "cmp": "SHMEM_CMP_EQ",
          "sig_op": "SHMEM_SIGNAL_SET", "PE_size": "shmem_n_pes()"}
BY_TYPE = {"shmem_ctx_t": "context", "shmem_ctx_t*": "&made_context", "shmem_team_t": "team", "shmem_team_t*": "&made_team",
           "shmem_team_config_t*": "&config", "shmem_ctx_session_config_t*": "0", "const shmem_team_config_t*": "&config"}
SYMMETRIC = {"dest", "source", "ivar", "ivars", "sig_addr", "lock"}
STATUS = re.compile("_(broadcast|collect|fcollect|alltoall|alltoalls|reduce|sum_inscan|sum_exscan)(mem)?$|^shmem_team_(sync|split)|_ctx_create$|_create_ctx$")
COUNTS = {"nelems", "nreduce", "nblocks"}
NO_ADDRESS = re.compile("cache|udcflush|_ptr$|accessible")


def parameters_of(text):
    """Yields type and name of each parameter of a prototype."""
    for part in text.split(","):
        part = " ".join(part.split()).replace(" *", "*")
        if part in ("void", "..."):
            continue
        kind, name = re.match(r"(.*[\s*])(\w+)$", part).groups()
        yield kind.strip(), name


def element_size(name, kind):
    """Returns a C expression for the size of a routine's elements; `kind` is the type of its first pointer."""
    kind = kind.replace("const ", "").replace("volatile ", "")
    if kind != "void*":
        return f"sizeof({kind[:-1]})"
    bits = re.search(r"(\d+)", name)
    return str(int(bits.group(1)) // 8) if bits else "1"


def argument(name, kind, parameter, size):
    """Returns the C expression that is passed for a parameter of type `kind`."""
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if parameter in COUNTS and kind == "size_t":
        return f"count_for({size})"
    if name == "shmem_calloc" and parameter == "count":
        return "count_for(64)"
    if kind.endswith("*"):
        if parameter == "status":
            return "0"
        private = parameter not in SYMMETRIC and parameter not in ("ptr", "addr")
        return f"({kind})({'private_memory' if private else 'address'})"
    if parameter == "size" and (name.endswith("_all") or kind == "int"):
        return "shmem_n_pes()"
    return f"({kind})({VALUES.get(parameter, '1')})"


def calls(header):
    """Returns the text of walk_calls.inc. `header`: the preprocessed shmem.h."""
    functions, table = [], []
    for found in PROTOTYPE.finditer(header):
        name, parameters = found["name"], list(parameters_of(found["parameters"]))
        pointers = [kind for kind, parameter in parameters if kind.endswith("*") and parameter in SYMMETRIC]
        size = element_size(name, pointers[0]) if pointers else "1"
        counted = any(kind == "size_t" and p in COUNTS for kind, p in parameters)
        of_set = any(p in ("start", "PE_start", "team") for _, p in parameters)
        addressed = bool(pointers) and not of_set and not NO_ADDRESS.search(name)
        call = f"{name}({', '.join(argument(name, kind, p, size) for kind, p in parameters)})"
        if STATUS.search(name) and found["result"].strip() == "int":
            call = f"result = {call}"
        elif name == "shmem_calloc":
            call = f"result = {call} == 0 ? -1 : 0"
        functions.append(f"static void call_{name}(void) {{ {'' if 'result =' in call else '(void)'}{call}; }}\n")
        kinds = [kind for kind, has in (("kCounted", counted or name == "shmem_calloc"), ("kRanged", counted),
                                         ("kAddressed", addressed)) if has]
        table.append(f'    {{"{name}", call_{name}, {" | ".join(kinds) or "0"}}},\n')
    return "".join(functions) + "static const struct routine routines[] = {\n" + "".join(table) + "};\n"
