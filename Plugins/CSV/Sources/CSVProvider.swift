import Tabella
import TabellaSDK

/// The provider for delimited text. docs/providers/csv.md describes it.
public struct CSVProvider: Provider {
  public static let id = "csv"
  public static let version = "0.1.0"
  public static var options: [OptionDeclaration] { Options.declarations }

  public init() {}

  public func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    try CSVSource(path: request.location, options: Options(request.options))
  }
}
