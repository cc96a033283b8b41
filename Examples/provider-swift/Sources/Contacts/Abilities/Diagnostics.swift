import TabellaSDK

// Warnings about the file, which are no failures.

extension ContactsSource: TableDiagnostics {
  func nextDiagnostic() -> Diagnostic? { warnings.isEmpty ? nil : warnings.removeFirst() }

  /// Notes the faults of the shown file.
  func noteWarnings() {
    let texts = [file.diagnostic, book.fault.map { "\($0); the contacts cannot be edited" }]
    warnings = texts.compactMap { $0 }.map { Diagnostic(.warning, $0) }
  }
}
