import Tabella

/// One reading of the bytes of a file as records.
///
/// The object belongs to the thread of its source.
public protocol RecordText: AnyObject {
  /// The bytes of the file.
  var file: any ByteSource { get }
  /// The reader of the records.
  var reader: RecordReader { get }
  /// The offset of the first record.
  var start: Int { get }
  /// The columns that the reading found.
  var columns: [Column] { get }
  /// Whether the text consists of the file's own bytes, so that new bytes at its end can only add records.
  var isExtensible: Bool { get }

  /// The sections that were found with ``take(_:)``, in order; nil if all records are in one section.
  var foundSections: [RecordSection]? { get }
  /// Forgets all sections.
  func restart()
  /// Takes all records of a page, which follow the last ones that were taken.
  func take(_ page: RecordPage, _ numbers: Range<Int>)
  /// Remembers the sections as they are now.
  func mark()
  /// Returns to the sections of the last ``mark()``.
  func rewind()
  /// Notes that all records were taken.
  func finish()
}

/// A section of records: the numbers of its rows, and of its heading if it has one.
public struct RecordSection: Hashable, Sendable {
  /// The numbers of the records that are its rows.
  public var lines: Range<Int>
  /// The number of the record that is its heading.
  public var heading: Int?

  /// Creates a section.
  public init(lines: Range<Int>, heading: Int?) {
    self.lines = lines
    self.heading = heading
  }
}

extension RecordText {
  public var foundSections: [RecordSection]? { nil }
  public func restart() {}
  public func take(_ page: RecordPage, _ numbers: Range<Int>) {}
  public func mark() {}
  public func rewind() {}
  public func finish() {}
}

/// A source whose rows are records of a file that other programs change.
///
/// The source has a ``LiveFile``. The protocol provides the ability `changes`: it reads appended bytes alone, and
/// compares digests of the records after every other change. docs/providers/live-files.md states the rules.
public protocol LiveRecords: TableChanges {
  associatedtype Text: RecordText

  /// The file, with the path by which it was opened.
  var shownFile: ShownFile { get }
  /// The reading that the source shows.
  var text: Text { get }
  /// The flag that cancels the running call.
  var cancel: CancelFlag { get }
  /// The state of following the file.
  var live: LiveFile { get }

  /// Reads other bytes with the same options. The shown reading stays.
  func read(_ bytes: any ByteSource) throws(TableError) -> Text
  /// Shows another reading.
  func show(_ text: Text)
  /// Whether a new reading would find the same rules and columns, after the file of the shown reading has grown.
  ///
  /// `count` is the number of bytes that the last reading examined.
  func keepsRules(afterGrowthFrom count: Int) throws(TableError) -> Bool
  /// Queues a warning, unless one of this kind was queued before.
  func warn(_ kind: String, _ message: String)
}

extension LiveRecords {
  public func pull() throws(TableError) -> ChangeBatch {
    cancel.begin()
    let before = shownVersion
    let changes = try live.pull(self)
    return ChangeBatch(from: before, to: shownVersion, changes: changes)
  }

  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    cancel.begin()
    try live.listen(self, notify)
  }

  /// The version of the shown rows, even if the file has another one now.
  private var shownVersion: Version? { shownFile.version(of: text.file.version) }
}
