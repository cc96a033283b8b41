import Synchronization

/// The changes of a table, as they happen: each element leads from the rows of the element before it to newer ones.
///
/// ```swift
/// let changes = try await table.changes()
/// for try await change in changes {
///   for item in change.list { print(item) }
/// }
/// ```
///
/// The sequence can be iterated once. It ends without an error when its task is cancelled. It ends with an error if the
/// source throws one: `.conflict` means that the columns changed. When the iteration ends, the actor removes the
/// listener from the source; after `break`, it does so soon.
public struct TableChangeSequence: AsyncSequence, Sendable {
  public typealias Element = TableFollower.Changes
  public typealias Failure = TableError

  let following: Following

  public func makeAsyncIterator() -> Iterator { Iterator(following) }

  /// Waits for changes, and pulls them.
  public struct Iterator: AsyncIteratorProtocol {
    /// Ends the following with the last copy of the iterator.
    private final class Lifetime: Sendable {
      let following: Following

      init(_ following: Following) { self.following = following }

      deinit { following.end() }
    }

    private let lifetime: Lifetime
    private var notices: AsyncStream<Void>.Iterator

    init(_ following: Following) {
      lifetime = Lifetime(following)
      notices = following.notices.makeAsyncIterator()
    }

    /// The next changes, of which there is at least one; nil after the end.
    public mutating func next() async throws(TableError) -> TableFollower.Changes? {
      try await next(isolation: nil)
    }

    /// The next changes, of which there is at least one; nil after the end.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(TableError) -> TableFollower.Changes? {
      let following = lifetime.following
      while await notices.next(isolation: actor) != nil {
        do throws(TableError) {
          let changes = try await following.pull()
          if !changes.list.isEmpty { return changes }
        } catch {
          await following.endAndWait()
          if error.code == .cancelled, Task.isCancelled { return nil }
          throw error
        }
      }
      await following.endAndWait()
      return nil
    }
  }
}

extension AsyncTable {
  /// Reads the table, and follows it from then on: the sequence lists every change after this call.
  ///
  /// `columns` are the names of the columns whose cells matter; nil means all columns except those on request. With
  /// `keepsIDs`, an element has the ids of deleted rows. Between two elements, calls of this table show the rows of the
  /// last element, or of an edit after it.
  ///
  /// Throws `TableError`: `.notSupported` if the source reports no changes, `.invalidState` if this table, or a view
  /// of it, is followed already, and the errors of the source.
  /// - Complexity: O(cells). Memory: 24 bytes per row.
  public func changes(
    columns: [String]? = nil, keepsIDs: Bool = false
  ) async throws(TableError) -> TableChangeSequence {
    let following = try Following(self)
    do {
      try await run { table in
        let follower = try TableFollower(
          table.source, columns: try table.source.numbers(ofColumns: columns), keepsIDs: keepsIDs)
        try follower.listen(following.notify)
        following.box.follower = follower
      }
    } catch {
      following.end()
      throw error as? TableError ?? TableError(.internal, "\(error)")
    }
    // A change before the listener was set is found, too.
    following.notify()
    return TableChangeSequence(following: following)
  }
}

/// The following of one table: its follower, and the notices of its source.
final class Following: Sendable {
  let table: AsyncTable
  let box = FollowerBox()
  let notices: AsyncStream<Void>
  let notify: @Sendable () -> Void
  private let continuation: AsyncStream<Void>.Continuation
  private let isEnded = Atomic(false)

  /// Throws `TableError` with `.invalidState` if the table is followed already.
  init(_ table: AsyncTable) throws(TableError) {
    let (notices, continuation) = AsyncStream<Void>.makeStream(
      bufferingPolicy: .bufferingNewest(1))
    self.table = table
    self.notices = notices
    self.continuation = continuation
    notify = { continuation.yield() }
    guard table.following.begin(notify) else {
      // Another following of the table must not end.
      isEnded.store(true, ordering: .relaxed)
      throw TableError(.invalidState, "the table is followed already")
    }
  }

  deinit { end() }

  func pull() async throws(TableError) -> TableFollower.Changes {
    do {
      return try await table.run { [box] _ in
        guard let follower = box.follower else { throw TableError.taskCancelled }
        return try follower.pull()
      }
    } catch {
      throw error as? TableError ?? TableError(.internal, "\(error)")
    }
  }

  /// Removes the listener soon. Any thread may call it, any number of times.
  func end() {
    guard !isEnded.exchange(true, ordering: .relaxed) else { return }
    continuation.finish()
    table.host.thread.perform { [box] in
      try? box.follower?.listen(nil)
      box.follower = nil
    }
    // A later following starts on the same thread after that.
    table.following.end()
  }

  /// Removes the listener, and returns when it is removed.
  func endAndWait() async {
    end()
    await withCheckedContinuation { continuation in
      table.host.thread.perform { continuation.resume() }
    }
  }
}

/// A follower that only the thread of its actor uses.
final class FollowerBox: @unchecked Sendable {
  var follower: TableFollower?
}
