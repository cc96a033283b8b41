import CTabellaSystem
import Glibc
import Testing

@testable import TabellaTestSupport

/// The growing memory for the records of a folder.
@Suite struct GrowingPagesTests {
  /// The old content survives moves of the memory. New memory is zero and writable.
  @Test func nothingIsLost() throws {
    var count = 1 << 20
    var pages = try #require(tabella_system_grow_pages(nil, 0, count))
    fill(pages, 0..<count)
    while count < 32 << 20 {
      pages = try #require(tabella_system_grow_pages(pages, count, 2 * count))
      #expect(stride(from: count, to: 2 * count, by: 4096).allSatisfy { byte(pages, $0) == 0 })
      fill(pages, count..<2 * count)
      count *= 2
      #expect(
        stride(from: 0, to: count, by: 1021).allSatisfy { byte(pages, $0) == expected($0) })
    }
    // A failed growth keeps the old memory.
    #expect(tabella_system_grow_pages(pages, count, 1 << 60) == nil)
    #expect(byte(pages, 1021) == expected(1021))
    munmap(pages, count)
  }

  private func expected(_ place: Int) -> UInt8 { UInt8(truncatingIfNeeded: place / 1021 + 1) }

  private func byte(_ pages: UnsafeMutableRawPointer, _ place: Int) -> UInt8 {
    pages.load(fromByteOffset: place, as: UInt8.self)
  }

  private func fill(_ pages: UnsafeMutableRawPointer, _ range: Range<Int>) {
    let first = (range.lowerBound + 1020) / 1021 * 1021
    for place in stride(from: first, to: range.upperBound, by: 1021) {
      pages.storeBytes(of: expected(place), toByteOffset: place, as: UInt8.self)
    }
  }
}
