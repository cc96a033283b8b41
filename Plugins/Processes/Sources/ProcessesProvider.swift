import Tabella
import TabellaSDK

/// Shows the running processes: docs/providers/processes.md.
public struct ProcessesProvider: Provider {
  public static let id = "processes"
  public static let version = "0.1.0"

  public init() {}

  public func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    guard request.location.isEmpty else {
      throw TableError(
        .invalidArgument,
        "the provider processes opens no path, only processes: with nothing behind it")
    }
    return try ProcessesSource()
  }
}
