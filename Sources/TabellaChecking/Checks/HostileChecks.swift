import Glibc
import Tabella
import TabellaHost
import TabellaSystem

// Checks with unusual and hostile locations. The result must be an error or a table, never a crash, a hang or wrong
// data.

extension Check {
  static let missingLocation = Check(
    "missing-location", .required, .location, "A location that does not exist is refused.",
    hint: "return not-found with the path; do not create the missing file",
    .kind { run, place in
      try requirePath(place)
      let absent = run.folder.place("no-such-file")
      let paths: [(String, [UInt8])] = [
        ("a file that does not exist", absent),
        ("a file in a folder that does not exist", absent + Array("/file".utf8)),
        ("a file below a file", try ordinaryFile(run) + Array("/file".utf8)),
        ("a name of 300 bytes", run.folder.place([UInt8](repeating: 0x61, count: 300))),
        (
          "a path of 5000 bytes",
          run.folder.path + [UInt8](repeating: UInt8(ascii: "/"), count: 4900) + Array("x".utf8)
        ),
      ]
      for (what, path) in paths {
        try expectTableOrRefusal(run, place.request(path), what, mayOpen: false)
      }
      guard stat(at: absent, followsLink: false) == nil else {
        throw Problem.failed("it created the missing file")
      }
    })

  static let otherKind = Check(
    "other-kind", .required, .location,
    "A location that is neither a file nor a folder is refused or shown.",
    hint:
      "check the kind with fstat before reading; open with O_NONBLOCK, because a pipe may have no writer",
    .kind { run, place in
      try requirePath(place)
      let folder = try run.freshFolder()
      let socket = folder + Array("/socket".utf8)
      guard socket.withCString({ mknod($0, S_IFSOCK | 0o600, 0) }) == 0 else {
        throw Problem.skipped("a socket cannot be created: \(errorText(errno))")
      }
      let link = folder + Array("/link".utf8)
      _ = link.withCString { symlink("link", $0) }
      var others: [(String, [UInt8])] = [
        ("a socket", socket), ("a device", Array("/dev/null".utf8)),
        ("a link to itself", link),
      ]
      others.append(
        place.kind == .directory
          ? ("a file instead of a folder", try ordinaryFile(run))
          : ("a folder instead of a file", folder))
      for (what, path) in others { try expectTableOrRefusal(run, place.request(path), what) }
    })

  static let oddNames = Check(
    "odd-names", .required, .location,
    "A file or a folder opens with any name: all bytes except NUL and the slash.",
    hint: "a location is bytes with a length, not text and not a C string",
    .kind { run, place in
      try requirePath(place)
      let plain = try run.open(place.request).columns
      let last = place.request.location.split(separator: UInt8(ascii: "/")).last ?? []
      for name in breakingNames(ending: Array(last.suffix(20))) {
        let path = try run.freshFolder() + [UInt8(ascii: "/")] + name
        do throws(TableError) {
          try TreeCopy.make(place.request.location, path)
        } catch {
          throw Problem.skipped(error.message)
        }
        let what = shown(name).debugDescription
        do throws(TableError) {
          let source = try run.open(place.request(path))
          try look(at: source)
          guard source.columns.count == plain.count else {
            throw TableError(.internal, "its columns differ from those of a file with a plain name")
          }
        } catch {
          throw Problem(status: .of(error) ?? .failed, text: "\(what): \(error.message)")
        }
      }
    })

  static let emptyFile = Check(
    "empty-file", .required, .location, "An empty file is shown as a table or refused.",
    hint: "the end of a file may come before its first byte",
    .kind { run, place in
      try requireFile(place)
      try expectTableOrRefusal(run, try run.sample([], like: place), "an empty file")
      try expectTableOrRefusal(run, try run.sample([10], like: place), "an empty line")
    })

  static let longLine = Check(
    "long-line", .required, .location, "A line of 10 MB is shown as a table or refused.",
    hint: "lines can be longer than any buffer; a batch may have fewer rows than requested",
    .kind { run, place in
      try requireFile(place)
      let line = [UInt8](repeating: 0x61, count: 10_000_000)
      for (what, bytes) in [
        ("a line of 10 MB", line),
        ("a million separators", [UInt8](repeating: 0x2C, count: 1_000_000)),
        ("10 MB after a quote", [0x22] + line),
      ] { try expectTableOrRefusal(run, try run.sample(bytes, like: place), what) }
    })

  static let hugeFile = Check(
    "huge-file", .recommended, .location,
    "The first rows of a file of 1 TiB arrive at once, or the file is refused.",
    hint: "read only the requested rows, not the whole file; row_count says how far to count",
    .kind { run, place in
      try requireFile(place)
      let lines = [[UInt8]](repeating: Sample.small, count: 100).joined()
      let request = try run.sample(Array(lines), like: place)
      let size = off_t(1) << 40
      guard request.location.withCString({ truncate($0, size) }) == 0 else {
        throw Problem.skipped("a sparse file cannot be created here")
      }
      try expectTableOrRefusal(run, request, "a sparse file of 1 TiB")
    })

  static let noPermission = Check(
    "no-permission", .required, .location, "A file without read permission is refused.",
    hint: "return denied with the path",
    .kind { run, place in
      try requirePath(place)
      guard geteuid() != 0 else { throw Problem.skipped("this user may read everything") }
      let path = try run.freshFolder() + Array("/locked".utf8)
      if place.kind == .directory {
        guard path.withCString({ mkdir($0, 0o000) }) == 0 else {
          throw Problem.skipped("no folder can be created")
        }
      } else {
        try write(Sample.small, to: path, mode: 0o000)
      }
      try expectTableOrRefusal(
        run, place.request(path), "a file with mode 0", mayOpen: false)
    })

  static let strangeRests = Check(
    "strange-rests", .required, .location,
    "A location with any text after the scheme opens or is refused.",
    hint: "a location is bytes with a length; check it before you use it",
    .kind { run, place in
      guard let scheme = place.request.scheme else {
        throw Problem.skipped("\(place.name) has no scheme")
      }
      let rests: [[UInt8]] = [
        [], [UInt8(ascii: " ")], Array("\n".utf8), Array("\u{1B}[31m".utf8), [0xFF, 0xFE, 0x80],
        Array("-1".utf8), Array("99999999999999999999".utf8), Array("../../../../etc/passwd".utf8),
        Array("\(scheme):\(scheme):".utf8), Array("%00%n%s".utf8),
        Array("é\u{202E}\u{0}".utf8.dropLast()),
        [UInt8](repeating: 0x61, count: 100_000),
      ]
      for rest in rests {
        var request = place.request
        request.location = rest
        let name = shown(Array(rest.prefix(40))).debugDescription
        try expectTableOrRefusal(run, request, "\(scheme): followed by \(name)")
      }
    })
}

/// Skips the check unless the location is a path.
private func requirePath(_ place: CheckedLocation) throws {
  guard place.isPath else { throw Problem.skipped("\(place.name) is not a path") }
}

private func requireFile(_ place: CheckedLocation) throws {
  try requirePath(place)
  guard place.kind == .file else { throw Problem.skipped("\(place.name) is not a file") }
}

/// Creates an ordinary text file.
private func ordinaryFile(_ run: CheckRun) throws(TableError) -> [UInt8] {
  let path = try run.freshFolder() + Array("/ordinary.txt".utf8)
  try write(Sample.small, to: path, mode: 0o600)
  return path
}

/// Names that break programs. They end like the usual name, because the end can determine the file type.
private func breakingNames(ending: [UInt8]) -> [[UInt8]] {
  let starts: [[UInt8]] = [
    Array("with space ".utf8), Array("new\nline".utf8), Array("\u{1B}]0;title\u{7}".utf8),
    [0xFF, 0xFE], Array("-rf".utf8), Array("\"quoted' `$(x)".utf8), Array("é\u{202E}عربى".utf8),
    Array("%s%n".utf8), Array("csv:".utf8),
  ]
  let long = [UInt8](repeating: 0x78, count: 255 - ending.count)
  return (starts + [long]).map { $0 + ending }
}
