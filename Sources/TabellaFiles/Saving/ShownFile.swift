import Tabella

/// The file behind a table, as it was opened or last saved.
public final class ShownFile {
  public let path: [UInt8]
  public private(set) var file: OpenFile
  private let options: SaveOptions

  /// A file that was opened by this path.
  public init(path: [UInt8], _ file: OpenFile, _ options: SaveOptions) {
    self.path = path
    self.file = file
    self.options = options
  }

  /// A save of the file as it is shown. Taking back keeps no backup: that of the edit stays.
  func save(cancel: CancelFlag, isUndo: Bool = false) -> FileSave {
    var options = options
    if isUndo { options.backupSuffix = nil }
    return FileSave(path: path, file, options, cancel: cancel)
  }

  /// From now on the file is shown as it was saved.
  func show(_ saved: OpenFile) { file = saved }
}
