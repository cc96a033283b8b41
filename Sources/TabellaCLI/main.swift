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
tabella_system_keep_memory()

// Arguments as bytes: a file's name need not be UTF-8.
end(with: CommandTable.run(Array(readArguments(tabella_system_arguments()).dropFirst())))

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
