import Tabella
import TabellaSDK

/// The provider for the running processes. docs/providers/processes.md describes it.
public struct ProcessesProvider: Provider {
  public static let id = "processes"
  public static let version = "0.1.0"
  public static let options: [OptionDeclaration] = [
    OptionDeclaration(
      "signal", default: "TERM", summary: "the signal that delete sends: a name or a number"),
    OptionDeclaration(
      "wait", .integer, default: "0",
      summary: "the number of seconds that delete waits for the process to end"),
  ]

  public init() {}

  public func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    guard request.location.isEmpty else {
      throw TableError(
        .invalidArgument,
        "the provider processes cannot open a path; the location is processes: without more text")
    }
    return try ProcessesSource(termination: TerminationOptions(request.options))
  }
}
