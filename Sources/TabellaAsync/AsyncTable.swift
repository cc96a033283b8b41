import Synchronization

/// A table of a ``HostActor``, which any task may use.
///
/// All calls run on the thread of the actor. The actor releases the table there after the last use. If the task of a
/// call is cancelled, the running call of the source ends soon with a `TableError` with `.cancelled`.
public final class AsyncTable: Sendable {
  /// The columns when the table was opened.
  public let columns: [Column]
  /// The location that was opened.
  public let location: Location

  let host: HostActor
  let box: TableBox
  let following: FollowState
  private let cancellation: (@Sendable () -> Void)?

  /// The caller runs on the thread of the actor.
  init(_ table: OpenedTable, of host: HostActor, following: FollowState) {
    self.host = host
    self.following = following
    box = TableBox(table)
    columns = table.columns
    location = table.location
    cancellation = table.source.cancellation
  }

  deinit {
    // The source belongs to the thread of the actor to its end.
    host.thread.perform { [box] in box.table = nil }
  }

  /// Calls `body` with the table on the thread of the actor.
  ///
  /// `body` must not pass on the table, its source, or a cursor; rows and batches may be kept where the compiler allows
  /// it. Throws the errors of `body`, and `TableError` with `.cancelled` if the task was cancelled before `body` began.
  public func run<R: Sendable>(
    _ body: @Sendable (OpenedTable) throws -> R
  ) async throws -> R {
    let call = CallCancellation(cancellation)
    return try await withTaskCancellationHandler {
      try await host.call(box, call, body)
    } onCancel: {
      call.cancel()
    }
  }

  /// A view of this table, shaped by texts that name columns, as in the command line. See `OpenedTable.shaped`.
  ///
  /// A view and its table show the same source. Edit and follow only one of them.
  public func shaped(
    filter: String..., search: String? = nil, sectionBy: String? = nil, sort: String? = nil,
    sectionsBy: String? = nil, dates: DateContext = .utc
  ) async throws -> AsyncTable {
    try await run { [host, following] table in
      let shape = try TableShape(
        filters: filter, search: search, sectionBy: sectionBy, sort: sort, sectionsBy: sectionsBy,
        ColumnNames(table.columns))
      return AsyncTable(
        try table.shaped(by: shape, dates: dates), of: host, following: following)
    }
  }

  /// Decodes all rows into values. See `OpenedTable.decode(_:columns:inSection:)`.
  public func decode<T: Decodable & Sendable>(
    _ type: T.Type, columns: [String]? = nil, inSection section: Int? = nil
  ) async throws -> [T] {
    try await run { try $0.decode(type, columns: columns, inSection: section) }
  }

  /// Collects edits in `make`, commits them, and stores their receipt. A sequence of ``changes(columns:keepsIDs:)``
  /// lists the edits, too.
  ///
  /// Throws the errors of `make`, and `ReceiptError` as `ReceiptStore.commit` does. An edit that has begun is cancelled
  /// only as far as its source allows it.
  @discardableResult
  public func edit(
    in store: ReceiptStore, version: Version? = nil, isDryRun: Bool = false,
    _ make: @Sendable (inout TableEdits) throws -> Void
  ) async throws -> RecordedEdit {
    defer { following.wake() }
    return try await run { table in
      var edits = table.edits(version: version)
      try make(&edits)
      return try store.commit(edits, to: table, isDryRun: isDryRun)
    }
  }
}

/// A table that only the thread of its actor uses, from its creation to its end.
final class TableBox: @unchecked Sendable {
  var table: OpenedTable?

  init(_ table: OpenedTable) { self.table = table }
}

/// Whether somebody follows an opened location, and how to wake the follower. All views of the location share it.
final class FollowState: Sendable {
  private let waker = Mutex<(@Sendable () -> Void)?>(nil)

  /// Begins to follow. Returns false if somebody follows already.
  func begin(_ wake: @escaping @Sendable () -> Void) -> Bool {
    waker.withLock { waker in
      guard waker == nil else { return false }
      waker = wake
      return true
    }
  }

  func end() { waker.withLock { $0 = nil } }
  func wake() { waker.withLock { $0 }?() }
}
