import CTabellaSystem

/// The libraries of the Swift runtime that come with this program.
///
/// A provider in Swift needs some of them. Its own run path names folders of the machine that built it. On a machine
/// without a Swift toolchain, these folders do not exist, but the runtime in `lib/tabella/runtime` does. So this program
/// loads the needed libraries first, by its own run path. The loader then uses them for the provider, because it knows
/// them by their names. All code of a process must use the same runtime anyway.
enum SwiftRuntime {
  /// Whether a needed library, given by its plain name, belongs to the runtime.
  static func contains(_ name: String) -> Bool {
    name.hasPrefix("libswift") || name == "libdispatch.so" || name == "libBlocksRuntime.so"
  }

  /// The libraries that every program of an installation needs.
  private static let always = ["libswiftCore.so", "libswiftGlibc.so", "libswiftSynchronization.so"]

  /// Loads libraries by this program's run path. If one is missing, the loader searches it again for the provider, and
  /// reports it.
  ///
  /// An installed `tabella` contains the libraries that every program needs. For the loader, empty libraries with their
  /// names stand in for them (`Sources/Packaging/link`). These come first, so that the loader uses them for the others.
  static func load(_ names: [String]) {
    guard !names.isEmpty else { return }
    for name in always + names { _ = tabella_system_load(name) }
  }
}
