import Tabella
import TabellaSystem

/// The state of following a file of records: digests of the shown records, and the time of the next look.
///
/// The object belongs to the thread of its source. Only ``FileWatch`` has a thread of its own.
public final class LiveFile {
  /// Times in seconds. Only tests use other ones.
  struct Pace {
    /// A file is at rest if it has not changed for this time.
    var rest = 0.25
    /// An empty file that takes the place of a log waits for its first line, or until the log has been quiet so long.
    var patience = 1.0
    /// Reading the whole file again takes at most this part of the time.
    var share = 1.0 / 20
  }

  var pace = Pace()
  /// The maximum number of listed changes. Beyond it, reading everything again is cheaper.
  static let mostChanges = 1_000_000

  /// The digests of the shown records; nil before the first pull and after an edit.
  var digests: RecordDigests?
  /// The open file to which the digests belong.
  var followed: OpenFile?
  var frontier = RecordFrontier(at: 0)
  /// The digest of the bytes in front of the first record.
  var prefix: UInt64 = 0
  /// The state of the open file that the last pull has dealt with.
  var examined: Fingerprint?
  private var seen: (file: Fingerprint, since: Double)?
  /// Whether the shown records were read while the file was at rest.
  var isVerified = false
  private var check: DigestCheck?
  /// The earliest time for reading the whole file again, and the time at which a pull will find something.
  private var nextReading = 0.0
  private var due: Double?
  private var watch: FileWatch?

  /// Creates the state of a file that nobody follows yet.
  public init() {}

  deinit { watch?.stop() }

  // Listening

  func listen<Source: LiveRecords>(
    _ source: Source, _ notify: (@Sendable () -> Void)?
  ) throws(TableError) {
    watch?.stop()
    watch = nil
    guard let notify, let bytes = source.text.file as? FileBytes else { return }
    let look = try FileLook(of: bytes.file.descriptor, at: source.shownFile.path)
    if digests == nil, look.file == bytes.file.fingerprint { _ = try begin(source, bytes, look) }
    watch = try FileWatch(source.shownFile.lastingPath, notify)
    rearm(source)
  }

  /// Tells the watch what the last pull has seen.
  private func rearm<Source: LiveRecords>(_ source: Source, failed: Bool = false) {
    guard let watch, let bytes = source.text.file as? FileBytes else { return }
    watch.rearm(
      FileWatch.Known(
        file: bytes.file, look: known ?? FileLook(opened: bytes.file.fingerprint),
        due: failed ? now() + 1 : due, notBefore: failed ? now() + 1 : nextReading,
        readsGrowth: source.text.isExtensible && !failed))
  }

  /// The state of file and path that the last pull has dealt with.
  private var known: FileLook?

  // Pulling

  func pull<Source: LiveRecords>(_ source: Source) throws(TableError) -> [ChangeBatch.Change]? {
    guard let bytes = source.text.file as? FileBytes else { return [] }
    due = nil
    do throws(TableError) {
      let look = try FileLook(of: bytes.file.descriptor, at: source.shownFile.path)
      known = look
      let changes = try move(source, bytes, look)
      rearm(source)
      return changes
    } catch {
      rearm(source, failed: true)
      throw error
    }
  }

  private func move<Source: LiveRecords>(
    _ source: Source, _ bytes: FileBytes, _ look: FileLook
  ) throws(TableError) -> [ChangeBatch.Change]? {
    note(look.file)
    if digests == nil || followed !== bytes.file {
      guard try begin(source, bytes, look) else {
        // Rows were read before, and nothing is known about them.
        _ = try reread(source, try newest(source, bytes, look), holds: false)
        return nil
      }
    }
    if look.path == .missing {
      source.warn("missing", "the file does not exist any more; waiting for it")
    }
    if let examined, !look.file.isOfSameContent(as: examined) {
      let changes = try takeChange(source, bytes, look)
      guard let changes, changes.isEmpty, source.text.file === bytes else { return changes }
    } else {
      examined = look.file
    }
    if case .other(let isEmpty) = look.path {
      return try takeOther(source, bytes, look, isEmpty: isEmpty)
    }
    let shown = source.shownFile.file.fingerprint
    if look.path == .same, look.file != shown, look.file.isOfSameContent(as: shown) {
      // Its permissions or names have changed. An edit of the shown state would be a conflict.
      return try reread(
        source, try OpenFile(duplicating: bytes.file.descriptor), holds: isHolding(bytes))
    }
    if isHolding(bytes) {
      if hasEnded(look.file, bytes.file) { return try extend(source, bytes, holds: false) }
      expect(in: age(look.file) < pace.rest ? pace.rest : pace.patience)
    }
    return try verify(source, bytes, look)
  }

  /// Deals with another content of the open file.
  private func takeChange<Source: LiveRecords>(
    _ source: Source, _ bytes: FileBytes, _ look: FileLook
  ) throws(TableError) -> [ChangeBatch.Change]? {
    var (isReplaced, isFinal) = (false, false)
    if case .other(let isEmpty) = look.path { (isReplaced, isFinal) = (true, !isEmpty) }
    var hasGrown =
      source.text.isExtensible && look.file.size > (examined?.size ?? .max)
      && look.file.continues(bytes.file.fingerprint)
    if hasGrown { hasGrown = try bytes.hasSameEnd() }
    // Another content of a deleted file is no row any more. A log that was truncated, written and then renamed has lines
    // that nobody has seen.
    if isReplaced, !hasGrown, !look.hasName { return [] }
    if isReplaced { expect(in: 0) }
    guard !hasGrown else { return try extend(source, bytes, holds: !isFinal) }
    return try reread(source, try OpenFile(duplicating: bytes.file.descriptor), holds: !isFinal)
  }

  /// Moves to the file that has taken the name of the shown one.
  private func takeOther<Source: LiveRecords>(
    _ source: Source, _ bytes: FileBytes, _ look: FileLook, isEmpty: Bool
  ) throws(TableError) -> [ChangeBatch.Change]? {
    // An old log that was also edited has nothing more to show.
    let isIntact = look.hasName && examined?.continues(look.file) == true
    if isEmpty, isIntact, age(look.file) < pace.patience {
      expect(in: 0.1)
      return []
    }
    // The rest of a log that was renamed comes first, so that each of its lines is inserted once.
    if isIntact, isHolding(bytes), let changes = try extend(source, bytes, holds: false),
      !changes.isEmpty
    {
      expect(in: 0)
      return changes
    }
    return try reread(
      source, try newest(source, bytes, look), holds: look.hasName, isAnother: look.hasName)
  }

  /// The file that the path names; the open one if the path names none.
  private func newest<Source: LiveRecords>(
    _ source: Source, _ bytes: FileBytes, _ look: FileLook
  ) throws(TableError) -> OpenFile {
    if case .other = look.path {
      do throws(TableError) {
        return try ShownFile.open(source.shownFile.path)
      } catch {
        guard error.code == .notFound else { throw error }
      }
    }
    return try OpenFile(duplicating: bytes.file.descriptor)
  }

  /// Makes digests of the shown records. Returns false if the file has changed since they were opened.
  private func begin<Source: LiveRecords>(
    _ source: Source, _ bytes: FileBytes, _ look: FileLook
  ) throws(TableError) -> Bool {
    let fingerprint = bytes.file.fingerprint
    guard look.file.isOfSameContent(as: fingerprint) else { return false }
    note(look.file)
    let (began, isAtRest) = (now(), age(look.file) >= pace.rest)
    let digests = try source.text.digests(source.cancel)
    guard try Fingerprint(of: bytes.file.descriptor).isOfSameContent(as: fingerprint) else {
      return false
    }
    try adopt(source, digests, bytes.file, began: began, isAtRest: isAtRest)
    return true
  }

  /// Takes over the digests of the reading that is shown now.
  func adopt<Source: LiveRecords>(
    _ source: Source, _ digests: RecordDigests, _ file: OpenFile, began: Double, isAtRest: Bool
  ) throws(TableError) {
    let text = source.text
    prefix = try text.prefixDigest()
    (self.digests, followed, examined) = (digests, file, file.fingerprint)
    frontier = RecordFrontier(at: digests.end)
    (check, isVerified) = (nil, isAtRest)
    spend(since: began)
    if !isVerified { expect(in: pace.rest) }
  }

  // Verifying

  /// Reads the file again, one step per call, if it has grown since it was read as a whole.
  private func verify<Source: LiveRecords>(
    _ source: Source, _ bytes: FileBytes, _ look: FileLook
  ) throws(TableError) -> [ChangeBatch.Change]? {
    guard !isVerified, let digests else { return [] }
    let wait = max(pace.rest - age(look.file), nextReading - now())
    guard wait <= 0 else {
      expect(in: wait)
      return []
    }
    guard source.text.isExtensible else {
      return try reread(source, try OpenFile(duplicating: bytes.file.descriptor), holds: false)
    }
    let began = now()
    var check = check ?? DigestCheck(of: source.text)
    var isSame = try check.isSame(as: digests, textSize: bytes.count, source.cancel)
    if isSame == true { isSame = try source.text.prefixDigest() == prefix }
    self.check = isSame == nil ? check : nil
    spend(since: began)
    guard isSame != false else {
      return try reread(source, try OpenFile(duplicating: bytes.file.descriptor), holds: false)
    }
    if isSame == nil { expect(at: nextReading) } else { isVerified = true }
    return []
  }

  /// Forgets how far the file was verified, because it has grown.
  func beginVerifying() {
    (check, isVerified) = (nil, false)
    expect(in: max(pace.rest, nextReading - now()))
  }

  // Time

  /// Remembers when a state of the file was seen for the first time.
  func note(_ file: Fingerprint) {
    if seen?.file != file { seen = (file, now()) }
  }

  /// The seconds for which the file has had its present content.
  func age(_ file: Fingerprint) -> Double {
    let written = timespec(on: CLOCK_REALTIME).seconds - file.modificationTime
    return max(written, seen.map { $0.file == file ? now() - $0.since : 0 } ?? 0)
  }

  /// Whether the last record counts as complete although it has no end: the file is at rest, and nobody has it open for
  /// writing. A program that writes its output in blocks can pause in the middle of a line.
  ///
  /// Without events of inotify, only the rest counts. A confined process gets neither events nor leases.
  func hasEnded(_ fingerprint: Fingerprint, _ file: OpenFile) -> Bool {
    age(fingerprint) >= pace.rest && !(watch?.hasEvents == true && file.hasWriter)
  }

  /// Delays the next reading of the whole file, so that such readings take a small part of the time.
  func spend(since began: Double) {
    let end = now()
    nextReading = end + (end - began) / pace.share
  }

  /// Asks for another pull after some seconds.
  func expect(in seconds: Double) { expect(at: now() + seconds) }

  private func expect(at time: Double) { due = min(due ?? time, time) }

  /// Whether bytes of the file are not shown because the end of their record has not arrived.
  func isHolding(_ bytes: FileBytes) -> Bool { bytes.count < (examined?.size ?? 0) }

  /// Records the file that is shown from now on.
  func follow(_ file: OpenFile, isNew: Bool) {
    followed = file
    if isNew { known = FileLook(opened: file.fingerprint) } else { known?.file = file.fingerprint }
  }
}

extension RecordText {
  /// The digest of the bytes in front of the first record, such as a header.
  func prefixDigest() throws(TableError) -> UInt64 {
    guard isExtensible else { return 0 }
    return try file.bytes(at: 0, count: start).withUnsafeBytes { digest64($0) }
  }
}
