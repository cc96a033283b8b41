@_exported import TabellaHost

/// A host for programs with several threads: an actor that owns a `Host` and all tables that it opens.
///
/// ```swift
/// let host = try HostActor()
/// let table = try await host.open("sales.csv").shaped(filter: "amount > 300")
/// let sales = try await table.decode(Sale.self)
/// ```
///
/// Calls of a host wait for disks and for other processes. The threads that Swift shares among all tasks must not wait.
/// So the actor has one thread of its own, on which all calls of its host and its tables run, one after the other.
/// Programs that want two calls at the same time make two actors. A change of the thread takes about 6 microseconds:
/// do the work of many rows in one ``AsyncTable/run(_:)``.
public actor HostActor {
  private let host: Host
  nonisolated let thread: TableThread

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    thread.asUnownedSerialExecutor()
  }

  /// Takes over a host. The caller sets its properties before, and no longer uses it.
  ///
  /// Throws `TableError` with `.io` if no thread can be started.
  public init(_ host: sending Host = Host()) throws(TableError) {
    thread = try TableThread()
    self.host = host
  }

  /// Opens a location. The parameters and errors are those of `Host.open`. An opening that has begun is not cancelled.
  public func open(
    _ location: Location, provider: String? = nil, options: [String: String] = [:],
    access: Host.Access = .editing
  ) throws(TableError) -> AsyncTable {
    guard !Task.isCancelled else { throw .taskCancelled }
    let table = try host.open(location, provider: provider, options: options, access: access)
    return AsyncTable(table, of: self, following: FollowState())
  }

  /// Calls `body` with the host on the thread of the actor, for example to undo an edit with a `ReceiptStore`.
  ///
  /// `body` must not pass on the host, or a table that it opened. Throws the errors of `body`.
  public func run<R: Sendable>(_ body: @Sendable (Host) throws -> R) throws -> R {
    guard !Task.isCancelled else { throw TableError.taskCancelled }
    return try body(host)
  }

  /// Calls `body` with a table, if nobody cancelled the call before.
  func call<R: Sendable>(
    _ box: TableBox, _ cancellation: CallCancellation, _ body: @Sendable (OpenedTable) throws -> R
  ) throws -> R {
    guard let table = box.table, cancellation.begin() else { throw TableError.taskCancelled }
    defer { cancellation.end() }
    return try body(table)
  }
}

extension TableError {
  static let taskCancelled = TableError(.cancelled, "cancelled")
}
