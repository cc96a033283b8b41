import Glibc
import Tabella
import TabellaSystem

/// A mounted procfs and the single buffer for reading its files.
final class Procfs {
  /// The maximum number of bytes to read from a file. `exec` allows 6 MiB of arguments, but a process can declare any
  /// part of its memory as its arguments.
  private static let largestFile = 16 << 20

  private let root: String
  private let folder: Descriptor
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)

  /// Opens a procfs. Throws ``TableError`` with `.io` if `root` does not exist.
  init(root: String) throws(TableError) {
    self.root = root
    guard let folder = Descriptor(opening: root, O_RDONLY | O_DIRECTORY) else {
      throw TableError(.io, "\(root) cannot be opened: \(errorText(errno))")
    }
    self.folder = folder
  }

  deinit { buffer.deallocate() }

  fileprivate var descriptor: Int32 { folder.raw }

  // Listing

  /// The pids in ascending order. Throws ``TableError`` with `.io` if there are none.
  func pids() throws(TableError) -> [Int32] {
    guard var entries = FolderEntries(of: ".", in: descriptor) else { throw unlisted(errno) }
    var pids: [Int32] = []
    while let name = entries.next() {
      if let pid = pid(UnsafeRawBufferPointer(name)) { pids.append(pid) }
    }
    if errno != 0 { throw unlisted(errno) }
    guard !pids.isEmpty else {
      throw TableError(.io, "\(root) lists no processes; is procfs mounted there?")
    }
    pids.sort()
    return pids
  }

  /// Whether a process exists.
  func has(_ pid: Int32) -> Bool {
    String(pid).withCString { stat(of: $0, in: descriptor) != nil }
  }

  private func unlisted(_ number: Int32) -> TableError {
    TableError(.io, "\(root) cannot be listed: \(errorText(number))")
  }

  private func pid(_ name: UnsafeRawBufferPointer) -> Int32? {
    // The kernel writes no leading zero or sign; such a name belongs to another file.
    guard name.first != UInt8(ascii: "0"), name.first != UInt8(ascii: "-"),
      let pid = decimal(name)
    else { return nil }
    return Int32(exactly: pid)
  }

  // System facts

  /// The time of the boot in seconds of Unix time; nil if unknown.
  func bootSecond() throws(TableError) -> Int64? {
    try withContents(of: "stat", in: descriptor) { file in
      var words = Words(file)
      while let word = words.next() {
        if word.elementsEqual("btime".utf8) { return words.next().flatMap { decimal($0) } }
      }
      return nil
    }
  }

  /// The first 16 hexadecimal digits of the boot id; zeros if the kernel does not report it.
  func bootDigits() throws(TableError) -> [UInt8] {
    let digits = try withContents(of: "sys/kernel/random/boot_id", in: descriptor) { file in
      Array(file.lazy.filter { isHexadecimal($0) }.prefix(16))
    }
    guard let digits, digits.count == 16 else { return Array(repeating: 48, count: 16) }
    return digits
  }

  /// The pid of this process in the namespace of this procfs.
  func ownPID() throws(TableError) -> Int32 {
    let link = try target(of: "self", in: descriptor)
    if case .read(let name) = link, let pid = decimal(name).flatMap(Int32.init(exactly:)) {
      return pid
    }
    return getpid()
  }

  /// The pid, in the namespace of this procfs, of the process behind a descriptor; nil once another process may have
  /// the pid.
  func pid(ofDescriptor number: Int32) throws(TableError) -> Int32? {
    let pid = try withContents(of: "self/fdinfo/\(number)", in: descriptor) { file in
      DetailFields(file).number("Pid")
    }
    guard let pid else {
      throw TableError(
        .notSupported,
        "\(root)/self/fdinfo does not show the process of a descriptor; nothing was done")
    }
    // The kernel writes -1 for an ended process, and 0 for a process outside this procfs.
    return pid > 0 ? Int32(exactly: pid) : nil
  }

  /// Whether this process may set any nice value, as root may. Unknown counts as true.
  func mayReniceAny() throws(TableError) -> Bool {
    // The bit of `CAP_SYS_NICE`, from capabilities(7).
    let bit: UInt64 = 1 << 23
    let capabilities = try withContents(of: "thread-self/status", in: descriptor) { file in
      DetailFields(file).hexadecimal("CapEff")
    }
    return capabilities.map { $0 & bit != 0 } ?? true
  }

  // Files

  /// Calls `body` with the content of a file and returns the result, or nil if the file cannot be read. The content is
  /// valid only inside `body`.
  ///
  /// Throws ``TableError`` with `.io` if descriptors or memory are exhausted.
  fileprivate func withContents<R>(
    of name: String, in folder: Int32, isOneRecord: Bool = false,
    _ body: (UnsafeRawBufferPointer) -> R?
  ) throws(TableError) -> R? {
    guard case .read(let file) = try load(name, in: folder, isOneRecord: isOneRecord) else {
      return nil
    }
    return body(file)
  }

  /// Reads a file. The content is valid until the next read.
  ///
  /// For a file with a single record, one read is enough if the buffer has room; the second read, which finds the end,
  /// is omitted.
  fileprivate func load(
    _ name: String, in folder: Int32, isOneRecord: Bool = false
  ) throws(TableError) -> ReadResult<UnsafeRawBufferPointer> {
    guard let file = Descriptor(opening: name, in: folder, O_RDONLY) else {
      return try failed(errno, name)
    }
    var count = 0
    while count < Procfs.largestFile {
      if count == buffer.count { grow() }
      let result = read(file.raw, buffer.baseAddress! + count, buffer.count - count)
      if result == 0 { break }
      if result < 0 {
        if errno == EINTR { continue }
        return try failed(errno, name)
      }
      count += result
      if isOneRecord, count < buffer.count { break }
    }
    return .read(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }

  /// The target of a link, which is not followed.
  fileprivate func target(
    of name: String, in folder: Int32
  ) throws(TableError) -> ReadResult<[UInt8]> {
    // The kernel reports no longer targets.
    let longest = 4096
    var count = 0
    let target = [UInt8](unsafeUninitializedCapacity: longest) { buffer, filled in
      count = buffer.withMemoryRebound(to: CChar.self) {
        readlinkat(folder, name, $0.baseAddress!, longest)
      }
      filled = max(0, count)
    }
    return count < 0 ? try failed(errno, name) : .read(target)
  }

  fileprivate func failed<R>(_ number: Int32, _ name: String) throws(TableError) -> ReadResult<R> {
    try throwIfResourcesExhausted(number, name)
    return number == EACCES || number == EPERM ? .denied : .absent
  }

  private func grow() {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: buffer.count * 2, alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
    buffer.deallocate()
    buffer = larger
  }

  /// Throws for errors that do not concern the process. Otherwise the process would appear to have ended.
  fileprivate func throwIfResourcesExhausted(_ number: Int32, _ name: String) throws(TableError) {
    guard number == EMFILE || number == ENFILE || number == ENOMEM else { return }
    var error = TableError(
      .io, "\(name) under \(root) cannot be read: \(errorText(number))")
    error.isRetryable = true
    throw error
  }
}

/// The folder of one process. Reads through it never return data of a later process with the same pid.
struct ProcessFolder: ~Copyable {
  private let procfs: Procfs
  private let folder: Descriptor

  /// Opens the folder of a process. Returns nil if the process has ended.
  init?(_ pid: Int32, in procfs: Procfs) throws(TableError) {
    let name = String(pid)
    guard let folder = Descriptor(opening: name, in: procfs.descriptor, O_RDONLY | O_DIRECTORY)
    else {
      try procfs.throwIfResourcesExhausted(errno, name)
      return nil
    }
    self.procfs = procfs
    self.folder = folder
  }

  private var descriptor: Int32 { folder.raw }

  /// The effective user; root for an ended process.
  ///
  /// The folder, unlike the files in it, shows the user even for undumpable processes.
  var owner: uid_t? { stat(of: descriptor)?.st_uid }

  /// Calls `body` with the content of a file and returns the result, or nil if the file cannot be read. The content is
  /// valid only inside `body`.
  func withContents<R>(
    of name: String, _ body: (UnsafeRawBufferPointer) -> R?
  ) throws(TableError) -> R? {
    // The kernel returns these two files as a single record.
    let isOneRecord = name == "stat" || name == "statm"
    return try procfs.withContents(of: name, in: descriptor, isOneRecord: isOneRecord, body)
  }

  /// Calls `body` with the content of a file. Returns the result, or the reason why there is none. The content is valid
  /// only inside `body`.
  func read<R>(
    _ name: String, _ body: (UnsafeRawBufferPointer) -> R?
  ) throws(TableError) -> ReadResult<R> {
    try procfs.load(name, in: descriptor).map(body)
  }

  /// The target of a link, which is not followed.
  func target(of name: String) throws(TableError) -> ReadResult<[UInt8]> {
    try procfs.target(of: name, in: descriptor)
  }

  /// The number of entries of a folder. Counting stops at `limit`.
  func count(of name: String, upTo limit: Int) throws(TableError) -> ReadResult<Int> {
    guard var entries = FolderEntries(of: name, in: descriptor) else {
      return try procfs.failed(errno, name)
    }
    var count = 0
    errno = 0
    while count < limit, entries.next() != nil { count += 1 }
    return errno == 0 ? .read(count) : try procfs.failed(errno, name)
  }
}

private func isHexadecimal(_ byte: UInt8) -> Bool {
  switch byte {
  case 48...57, 65...70, 97...102: true
  default: false
  }
}
