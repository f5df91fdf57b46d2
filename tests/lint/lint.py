#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lint.py - checks the whole tree; prints `file:line: rule: problem and remedy`; status 1 if there are findings.

Next     rules.py, rooms.py, fields.py and budgets.py for the rules; lint_test.py for files that each rule must report.
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import budgets  # noqa: E402
import fields  # noqa: E402
import rooms  # noqa: E402
import rules  # noqa: E402
from source import read_tree  # noqa: E402


def check_tree(root):
    sources = read_tree(root)
    files = {source.path.as_posix() for source in sources}
    table = next((source for source in sources if source.path == rooms.TABLE), None)
    if table is None:
        raise ValueError(f"{rooms.TABLE} is missing under {root}")
    room_list = rooms.read_table(table.text)
    variables, collectives = rules.table_of_variables(sources), rules.collectives_of(sources)
    findings = [*rooms.check_table(table, room_list), *rooms.check_use(table, sources, files, room_list),
                *fields.check_fields(sources), *budgets.check_budgets(sources)]
    for source in sources:
        findings += rooms.check_includes(source, files, room_list)
        findings += rules.head_comment(source, files)
        findings += rules.broken_links(source, root)
        findings += rules.missing_pages(source, root)
        findings += rules.unknown_variables(source, variables)
        findings += rules.forgotten_collectives(source, collectives)
        for rule in rules.RULES:
            findings += rule(source)
    return sorted(set(findings)), len(sources)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: lint.py ROOT")
    try:
        findings, count = check_tree(Path(sys.argv[1]).resolve())
    except ValueError as error:
        print(error)
        return 2
    for finding in findings:
        print(finding)
    print(f"{count} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
