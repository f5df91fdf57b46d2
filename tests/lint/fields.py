# SPDX-License-Identifier: BSD-3-Clause
"""fields.py - the rule that each struct member is read somewhere, and each member of an options struct is also set.

Idea     The rule searches the whole tree for the member's name. If two structs have members of the same name, a use of
         either counts for both members. So the rule misses some unused members but never reports a used one.
"""
import re
from collections import defaultdict

OPTIONS = re.compile(r"(?:Options|Profile)$")
STRUCT = re.compile(r"\b(?:struct|union)\s+(?:alignas\s*\([^()]*\)\s*)?(\w*)[^;()=]*$")
NO_MEMBER = re.compile(r"(?:using|typedef|friend|static|template|enum|class|struct|union|namespace)\b")
WORD = re.compile(r"[A-Za-z_]\w*")
WRITTEN = re.compile(r"\s*(?:(?:[-+|&^*/%]|<<|>>)?=(?!=)|\{)")
ARGUMENT = re.compile(r"\badd_(?:option|flag)\b[^;]*$|&\s*(?:\w+(?:\.|->))+$")
ASSIGNED = re.compile(r"\s*=(?!=)")
PRODUCT = ("src", "include", "collectives", "providers")


def _declared(statement):
    """Yields the names that a statement in a struct declares as data members."""
    text = statement.strip()
    if NO_MEMBER.match(text):
        return
    for nested in (r"<[^<>]*>", r"\{[^{}]*\}", r"\[\[.*?\]\]", r"alignas\s*\([^()]*\)", r"\[[^\[\]]*\]"):
        before = None
        while before != text:
            before, text = text, re.sub(nested, "", text)
    text = re.sub(r"=[^,]*", "", text)
    if "(" in text or "operator" in text:
        return
    for part in text.split(","):
        if words := WORD.findall(re.sub(r"(?<!:):(?!:).*", "", part)):
            yield words[-1]


def members(source):
    """Yields (struct, member, start and end offset of the declaration) for each struct of a header."""
    code = source.bare_code
    stack, start = [], 0  # for each open brace: name of the struct; "" for an initializer; None for anything else
    for match in re.finditer(r"[{};]|\b(?:public|private|protected)\s*:", code):
        mark, at = match[0], match.start()
        if mark == "{":
            head = code[start:at]
            struct = STRUCT.search(head)
            inside = bool(stack) and stack[-1] is not None
            value = inside and not struct and ")" not in head and not re.search(r"\b(?:enum|class)\b", head)
            stack.append(struct[1] or "unnamed" if struct else "" if value else None)
            if value:
                continue
        elif mark == "}":
            if stack and stack.pop() == "":
                continue
        elif mark == ";" and stack and stack[-1]:
            for name in _declared(code[start:at]):
                yield stack[-1], name, start + len(code[start:at]) - len(code[start:at].lstrip()), at
        start = match.end()


def _uses(sources, declarations):
    """Returns the sets of names that are read and that are set outside their declarations."""
    read, written = set(), set()
    for source in sources:
        spans = declarations.get(source.path, ())
        code = source.bare_code + "\n" + "\n".join(re.findall(r"^[ \t]*#[ \t]*define.*", source.text, re.M))
        for match in WORD.finditer(code):
            name = match[0]
            if name not in declarations["names"] or any(first <= match.start() <= last for first, last in spans):
                continue
            if WRITTEN.match(code, match.end()):
                written.add(name)
            if not ASSIGNED.match(code, match.end()):
                read.add(name)
            if ARGUMENT.search(code[max(0, match.start() - 120):match.start()]):
                written.add(name)
    return read, written


def check_fields(sources):
    """Reports members that nothing reads, and members of options that nothing sets."""
    sources = [source for source in sources if source.is_cpp]
    found = [(source, *member) for source in sources if source.under(*PRODUCT) and source.path.suffix == ".hpp"
             for member in members(source)]
    declarations = defaultdict(list, names={name for _, _, name, _, _ in found})
    for source, _, _, first, last in found:
        declarations[source.path].append((first, last))
    read, written = _uses(sources, declarations)
    for source, struct, name, first, _ in found:
        line = source.line_of(first)
        if name not in read and not source.allows(line, "dead-field"):
            yield source.finding(line, "dead-field", f"nothing reads {struct}::{name}: delete it")
        elif name not in written and OPTIONS.search(struct) and not source.allows(line, "dead-field"):
            yield source.finding(line, "dead-field", f"nothing sets {struct}::{name}: make it a constant")
