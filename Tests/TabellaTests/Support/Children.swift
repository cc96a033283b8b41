import Glibc
import Testing

/// Starts a program. The caller ends it, and calls ``reap(_:)``.
func spawn(_ words: String...) throws -> pid_t { try spawn(words) }

func spawn(_ words: [String]) throws -> pid_t {
  var child: pid_t = 0
  // Test threads block signals, and children would inherit that.
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var none = sigset_t()
  sigemptyset(&none)
  posix_spawnattr_setsigmask(&attributes, &none)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
  var arguments = words.map { strdup($0) } + [nil]
  defer { for argument in arguments { free(argument) } }
  try #require(posix_spawn(&child, words[0], nil, &attributes, &arguments, nil) == 0)
  return child
}

/// Waits for the end of a child.
func reap(_ child: pid_t) {
  while waitpid(child, nil, 0) < 0, errno == EINTR {}
}
