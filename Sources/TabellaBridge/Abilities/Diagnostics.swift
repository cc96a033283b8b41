import CTabella
import Tabella

nonisolated(unsafe) let diagnosticsTable = immortal(
  tabella_diagnostics(next: { source, out in
    withBox(source) { box in
      guard let diagnostic = box.base.diagnostics?.nextDiagnostic() else { return 0 }
      out.pointee = tabella_diagnostic(
        severity: diagnostic.severity.rawValue, reserved: 0,
        message: box.lend().string(diagnostic.message.utf8))
      return 1
    } ?? 0
  }))

func importDiagnostics(_ foreign: ForeignSource) throws(TableError) -> (any TableDiagnostics)? {
  let table = try foreign.ability(TABELLA_DIAGNOSTICS_ID, tabella_diagnostics.self) {
    [("next", $0.next != nil)]
  }
  return table.map { ImportedDiagnostics(foreign: foreign, table: $0) }
}

private final class ImportedDiagnostics: TableDiagnostics {
  let foreign: ForeignSource
  let table: tabella_diagnostics

  init(foreign: ForeignSource, table: tabella_diagnostics) {
    self.foreign = foreign
    self.table = table
  }

  func nextDiagnostic() -> Diagnostic? {
    var raw = tabella_diagnostic()
    guard table.next!(foreign.source, &raw) == 1 else { return nil }
    let message = try? raw.message.text("the remark")
    return Diagnostic(
      Diagnostic.Severity(rawValue: raw.severity) ?? .warning, message ?? "an unreadable remark")
  }
}
