import Tabella
import TabellaBridge
import TabellaHost
import TabellaLoading

/// Loads a library by its path.
func loadLibrary(
  at path: String, pins: Pins = .standard
) throws(TableError) -> ImportedProvider {
  try Library.load(checkLibrary(at: path, pins: pins), name: path)
}

/// Checks a library by its path, as a host does before it loads it.
@discardableResult
func checkLibrary(
  at path: String, pins: Pins = .standard
) throws(TableError) -> CheckedLibrary {
  try Host(searchPath: SearchPath([]), pins: pins).report(onLibraryAt: path).library
}
