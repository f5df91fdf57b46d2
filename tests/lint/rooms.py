# SPDX-License-Identifier: BSD-3-Clause
"""rooms.py - the dependency table of docs/architecture.md, and the check of every #include.

Idea     The table lists, for each room (folder), the rooms and foreign headers that its files may include.
Holds    Findings are: includes that the table does not allow, folders without a row, cycles, rows without code, and
         allowances that no #include uses.
"""
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

TABLE = Path("docs/architecture.md")
MARK = "<!-- lint: rooms -->"
IN_SRC = {"base", "topology", "plan", "link", "run", "api", "tools", "faces"}
FOR_ALL = "include/weft/types.hpp"  # every room may include it
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
EXTENSIONS = (".hpp", ".h", ".inc")

# Headers of the C++ standard library (names without folder and extension) and of C.
STANDARD = re.compile(r"[a-z_]+|(?:assert|ctype|errno|float|inttypes|limits|math|std(?:align|arg|atomic|bool|def|int|io|lib)"
                      r"|string|time)\.h")
POSIX = set("""arpa/inet.h dirent.h dlfcn.h elf.h fcntl.h grp.h ifaddrs.h linux/* net/if.h netdb.h
 netinet/* poll.h pthread.h pwd.h sched.h signal.h spawn.h strings.h sys/* syslog.h termios.h
 unistd.h wait.h""".split())
IMPURE = set("""barrier chrono condition_variable csetjmp csignal cstdio ctime filesystem fstream future
 iostream latch mutex semaphore shared_mutex stdio.h stop_token syncstream thread time.h""".split())


@dataclass
class Room:
    name: str
    line: int
    rooms: list = field(default_factory=list)    # rooms, `room/*` patterns and single headers
    foreign: list = field(default_factory=list)  # (header pattern, file pattern, the item that allows it)
    pure: bool = False
    any_room: bool = False  # may include every room

    @property
    def folder(self):
        return f"src/{self.name}" if self.name.split("/")[0] in IN_SRC else self.name


def _items(cell):
    items = [item.strip() for item in cell.replace("`", "").split(",")]
    return [item for item in items if item and item != "none"]


def read_table(text):
    """Returns the rooms of the table after the mark, in order."""
    if MARK not in text:
        raise ValueError(f"{TABLE}: no line `{MARK}` in front of the dependency table")
    rooms = []
    before, _, after = text.partition(MARK)
    for offset, line in enumerate(after.splitlines()):
        if not line.startswith("|"):
            if rooms:
                break
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or cells[0] == "Room" or set(cells[0]) <= set("-:"):
            continue
        room = Room(cells[0].replace("`", ""), before.count("\n") + 1 + offset)
        room.rooms = _items(cells[1])
        room.any_room = "any" in room.rooms
        for item in _items(cells[2]):
            header, _, only_in = item.partition(" in ")
            if header == "pure":
                room.pure = True
            elif header == "posix":
                room.foreign += [(name, only_in or "*", item) for name in POSIX]
            else:
                room.foreign.append(("*" if header == "any" else header, only_in or "*", item))
        rooms.append(room)
    return rooms


def room_of(path, rooms):
    """Returns the most specific room of a file, or None."""
    path = path.as_posix()
    inside = [room for room in rooms if path.startswith(room.folder + "/")]
    return max(inside, key=lambda room: len(room.folder), default=None)


def resolve(name, quoted_from, files):
    """Returns the project file that an #include names, or None if it is foreign."""
    same_folder = Path(quoted_from).parent / name
    for candidate in (Path("include") / name, Path("src") / name, Path(name), same_folder):
        if candidate.as_posix() in files:
            return candidate
    return None


def _allowances(room, target, target_room):
    """Yields the items of a row that allow an #include of a project file."""
    without_src = target.as_posix().removeprefix("src/")
    for item in room.rooms:
        if item.endswith(EXTENSIONS):
            if item == without_src:
                yield item
        elif item == "any" or (target_room is not None and fnmatch(target_room.name, item)):
            yield item


def _foreign_allowances(room, path, name):
    return [item for header, files, item in room.foreign if fnmatch(name, header) and fnmatch(path.name, files)]


def _foreign_problem(room, path, name):
    if STANDARD.fullmatch(name):
        if room.pure and name in IMPURE:
            return f"{room.name} is pure: it has no clock, thread or file, so it may not include <{name}>"
        return None
    if _foreign_allowances(room, path, name):
        return None
    allowed_files = [files for header, files, _ in room.foreign if fnmatch(name, header)]
    if allowed_files:
        return f"<{name}> may be included only in {' or '.join(allowed_files)} of {room.name}"
    return f"{room.name} may not include <{name}>: it is not among its foreign headers in {TABLE}"


def _include_problem(source, room, bracket, name, files, rooms):
    target = resolve(name, source.path, files)
    if target is None:
        if bracket == '"' and not STANDARD.fullmatch(name):
            return f'"{name}" is not a file of the project; write foreign headers in <>'
        return _foreign_problem(room, source.path, name)
    target_room = room_of(target, rooms)
    if target_room is room or target.as_posix() == FOR_ALL or any(_allowances(room, target, target_room)):
        return None
    included = target_room.name if target_room else target.as_posix()
    return f'{room.name} may not include {included} ("{name}"); {TABLE} has the table'


def check_includes(source, files, rooms):
    if not source.is_cpp:
        return
    room = room_of(source.path, rooms)
    if room is None:
        yield source.finding(1, "include", f"is in no room of the table in {TABLE}")
        return
    for match in INCLUDE.finditer(source.without_comments):
        line = source.line_of(match.start(1))
        problem = _include_problem(source, room, match[1], match[2], files, rooms)
        if problem and not source.allows(line, "include"):
            yield source.finding(line, "include", problem)


def check_use(table, sources, files, rooms):
    """Reports folders that the page describes but that do not exist, rows without code, and unused allowances."""
    for match in re.finditer(r"^\| `([\w/]+)`", table.text.partition(MARK)[0], re.M):
        if not any(file.startswith(match[1] + "/") for file in files):
            yield table.finding(table.line_of(match.start()), "room", f"describes {match[1]}, which does not exist")
    sources = [source for source in sources if source.is_cpp]
    used = {room.name: set() for room in rooms}
    with_code = set()
    for source in sources:
        if (room := room_of(source.path, rooms)) is None:
            continue
        with_code.add(room.name)
        for match in INCLUDE.finditer(source.without_comments):
            target = resolve(match[2], source.path, files)
            if target is None:
                used[room.name].update(_foreign_allowances(room, source.path, match[2]))
            elif (target_room := room_of(target, rooms)) is not room and target.as_posix() != FOR_ALL:
                used[room.name].update(_allowances(room, target, target_room))
    for room in rooms:
        if room.name not in with_code:
            yield table.finding(room.line, "room", f"row {room.name} has no code: delete it")
            continue
        for item in [*room.rooms, *dict.fromkeys(item for _, _, item in room.foreign)]:
            if item != "any" and item not in used[room.name]:
                yield table.finding(room.line, "room", f"{room.name} never uses its allowance `{item}`: delete it")


def find_cycle(rooms):
    """Returns a list of rooms that may include each other in a cycle, or None."""
    edges = {room.name: [other.name for other in rooms if other is not room and not room.any_room
                         and any(fnmatch(other.name, item) for item in room.rooms)]
             for room in rooms}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1][::-1]  # the exception lists included rooms before the rooms that include them
    return None


def check_table(table, rooms):
    """Reports unknown rooms in the table, and rooms that may include each other in a cycle."""
    known = {room.name for room in rooms}
    for room in rooms:
        for item in room.rooms:
            known_item = item == "any" or item.endswith(EXTENSIONS) or any(
                fnmatch(name, item) for name in known)
            if not known_item:
                yield table.finding(room.line, "include", f"row {room.name} names unknown room {item}")
    if cycle := find_cycle(rooms):
        yield table.finding(1, "include", "rooms in a cycle: " + " -> ".join(cycle))
