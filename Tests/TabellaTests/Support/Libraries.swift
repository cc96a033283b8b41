import Tabella
import TabellaBridge
import TabellaHost
import TabellaLoading

/// Loads the library at a path.
func loadLibrary(
  at path: String, pins: Pins = .standard
) throws(TableError) -> ImportedProvider {
  try Library.load(checkLibrary(at: path, pins: pins), name: path)
}

/// Checks the library at a path like a host before loading.
@discardableResult
func checkLibrary(
  at path: String, pins: Pins = .standard
) throws(TableError) -> CheckedLibrary {
  try Host(searchPath: SearchPath([]), pins: pins).report(onLibraryAt: path).library
}
