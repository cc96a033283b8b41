import CTabellaSystem
import Glibc

// Descriptors 0 to 2 must be open, or a data file could become standard output. The replacement of a closed output is
// open for reading only, so a write fails and the loss is reported.
StandardInput.isClosed = fcntl(0, F_GETFD) < 0
for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
  // Without /dev: a folder can be neither read nor written.
  if open("/dev/null", O_RDONLY) < 0 { _ = open("/", O_RDONLY | O_DIRECTORY) }
}

tabella_system_end_cleanly()
tabella_system_survive_broken_pipe()
tabella_system_survive_file_limit()
raiseFileLimit()
tabella_system_keep_memory()

// Arguments as bytes: a file's name need not be UTF-8.
end(with: CommandTable.run(Array(readArguments(tabella_system_arguments()).dropFirst())))

/// Allows as many open files as the hard limit allows, because each location of a command is an open file.
private func raiseFileLimit() {
  let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  var limit = rlimit()
  guard getrlimit(files, &limit) == 0 else { return }
  // Some systems have no limit. A process that a command starts may visit each possible descriptor.
  limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 1 << 18))
  setrlimit(files, &limit)
}

private func end(with status: ExitStatus) -> Never {
  if status == .brokenPipe { tabella_system_end_by_broken_pipe() }
  exit(status.code)
}

private func readArguments(_ list: UnsafePointer<UnsafeMutablePointer<CChar>?>) -> [Argument] {
  var arguments: [Argument] = []
  var next = list
  while let text = next.pointee {
    arguments.append(Argument(UnsafeRawBufferPointer(start: text, count: strlen(text)).map { $0 }))
    next += 1
  }
  return arguments
}
