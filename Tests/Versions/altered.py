"""A later version of the SDK: a copy of its sources in which every type that could be confused is altered."""

import re
import shutil
from pathlib import Path

MODULES = ["TabellaThreads", "Tabella", "TabellaBridge", "TabellaSDK"]
# Types that cross a cast, an error, an existential or generic code. Each gets another first member.
TYPES = [
    "AbilitySet", "Batch", "BatchBuilder", "BatchPlan", "ChangeBatch", "CheckedSource", "Column", "ColumnBatch",
    "EditBatch", "EditResult", "ImportedSource", "InMemorySource", "ListPlan", "OpenRequest", "OptionDeclaration",
    "Outcome", "RowRequest", "SourceBox", "TableError", "Version"]
# The abilities, the source and the provider. Each gets another first requirement.
PROTOCOLS = [
    "Provider", "TableAccessories", "TableChanges", "TableDataSource", "TableDiagnostics", "TableDisplay",
    "TableEditing", "TableGathering", "TableIdentity", "TableMoving", "TablePrefetching", "TableSectionEditing",
    "TableSectionIndex", "TableSections", "TableSupplementary", "TableUndoing"]
# Cases in another order, so that the same bits mean another case.
SWAPPED = [
    ("    case delete(RowReference)\n", "    /// Inserts a row with these cells"),
    ("  case integer(Int64)\n", "  case missing\n")]


class Unaltered(Exception):
    """The sources are not as this file expects."""


def copy(root: Path, to: Path):
    """Copies and alters the sources of the modules and of the contract's header."""
    for name in [*MODULES, "CTabella", "CTabellaSystem"]:
        shutil.copytree(root / "Sources" / name, to / name)
    # Its types come from TabellaFiles, which a provider without files does not need.
    (to / "TabellaSDK/Files.swift").unlink()
    files = {path: path.read_text() for name in MODULES for path in sorted((to / name).rglob("*.swift"))}
    for name in TYPES:
        replace(files, rf"^( *)((?:public |package |private |fileprivate )*(?:final )?(?:struct|class) {name}\b[^{{]*{{)$",
                rf'\1\2\n\1  public var alteredFirst = "another layout"')
    for name in PROTOCOLS:
        replace(files, rf"^(public protocol {name}\b[^{{]*{{)$", rf"\1\n  func altered{name}() -> String")
        path = next(path for path, text in files.items() if f"  func altered{name}()" in text)
        files[path] += f'\nextension {name} {{\n  public func altered{name}() -> String {{ "{name}" }}\n}}\n'
    # Each cast calls the requirement that the other version does not have.
    replace(files, r"^  (public var \w+: \(any (\w+)\)\?) { self as\? any \2 }$",
            r'  \1 {\n    guard let ability = self as? any \2 else { return nil }\n'
            r'    precondition(ability.altered\2() == "\2")\n    return ability\n  }', at_least=14)
    for case, before in SWAPPED:
        path = next((path for path, text in files.items() if case in text and before in text), None)
        if path is None:
            raise Unaltered(f"no enumeration has the case {case.strip()}")
        text = files[path].replace(case, "", 1)
        files[path] = text.replace(before, case + before, 1)
    for path, text in files.items():
        path.write_text(text)
    header = to / "CTabella/include/tabella.h"
    text = header.read_text()
    later = re.sub(r"^(#define TABELLA_CONTRACT_VERSION 0x000000)09u", r"\g<1>0Au", text, flags=re.M)
    if later == text:
        raise Unaltered("tabella.h has another version")
    header.write_text(later)
    (to / "modules").mkdir()
    (to / "modules/module.modulemap").write_text("".join(
        f'module {name} {{ umbrella "../{name}/include" export * }}\n' for name in ["CTabella", "CTabellaSystem"]))


def replace(files: dict, pattern: str, by: str, at_least: int = 1):
    found = 0
    for path, text in files.items():
        files[path], number = re.subn(pattern, by, text, flags=re.M)
        found += number
    if found < at_least:
        raise Unaltered(f"{found} matches of {pattern}")
