/// The names in a folder, in the order of the file system, read one at a time.
package struct FolderEntries: ~Copyable {
  private let stream: OpaquePointer
  private let includesDots: Bool

  /// Opens a folder (bytes without NUL). Returns nil with `errno` set on failure.
  ///
  /// The names `.` and `..` are left out unless `includesDots` is true.
  package init?(of path: [UInt8], includesDots: Bool = false) {
    guard let stream = path.withCString({ opendir($0) }) else { return nil }
    self.stream = stream
    self.includesDots = includesDots
  }

  /// Opens a folder by its name (a C string) in an open folder. Returns nil with `errno` set on failure.
  package init?(of name: UnsafePointer<CChar>, in folder: Int32) {
    guard let opened = Descriptor(opening: name, in: folder, O_RDONLY | O_DIRECTORY),
      let stream = fdopendir(opened.raw)
    else { return nil }
    // The stream closes the descriptor.
    _ = opened.release()
    self.stream = stream
    includesDots = false
  }

  deinit { closedir(stream) }

  /// The next name without its NUL, valid until the next call. Returns nil at the end with `errno` 0, or with `errno`
  /// set on failure.
  package mutating func next() -> UnsafeBufferPointer<UInt8>? {
    // The offset of a stored property is known.
    let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
    errno = 0
    while let entry = readdir(stream) {
      // An entry has only the memory that its name needs, so it must not be read as a whole `dirent`.
      let start = UnsafeRawPointer(entry) + offset
      let count = strlen(start.assumingMemoryBound(to: CChar.self))
      let name = UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
      if includesDots || !isDots(name) { return name }
    }
    return nil
  }

  private func isDots(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    name.count <= 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
  }
}
