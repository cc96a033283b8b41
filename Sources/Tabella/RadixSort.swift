/// Sorts numbers by keys: from the lowest digit of the keys up, over the bits in which they differ.
///
/// `keys[i]` is the key of `rows[i]`; both are sorted, and equal keys keep their order. If
/// `isCancelled` says so, both are left in some order.
/// - Complexity: O(rows); another 12 bytes a row while it sorts.
public func radixSort(
  _ keys: inout [UInt64], _ rows: inout [UInt32], isCancelled: () -> Bool = { false }
) {
  precondition(keys.count == rows.count, "every row has a key")
  guard let first = keys.first else { return }
  let differing = keys.reduce(0) { $0 | ($1 ^ first) }
  if differing == 0 { return }
  var otherKeys = [UInt64](unsafeUninitializedCapacity: keys.count) { $1 = keys.count }
  var otherRows = [UInt32](unsafeUninitializedCapacity: rows.count) { $1 = rows.count }
  var shift = UInt64(differing.trailingZeroBitCount)
  while shift < 64, differing >> shift != 0, !isCancelled() {
    pass(keys, rows, &otherKeys, &otherRows, shift)
    swap(&keys, &otherKeys)
    swap(&rows, &otherRows)
    shift += digitBits
    // Bits that are the same everywhere need no pass.
    if shift < 64 {
      shift += UInt64(min(64 - Int(shift), (differing >> shift).trailingZeroBitCount))
    }
  }
}

private let digitBits: UInt64 = 11

/// Moves keys and rows to where one digit of the keys puts them.
private func pass(
  _ keys: [UInt64], _ rows: [UInt32], _ newKeys: inout [UInt64], _ newRows: inout [UInt32],
  _ shift: UInt64
) {
  let mask: UInt64 = 1 << digitBits - 1
  keys.withUnsafeBufferPointer { keys in
    rows.withUnsafeBufferPointer { rows in
      newKeys.withUnsafeMutableBufferPointer { newKeys in
        newRows.withUnsafeMutableBufferPointer { newRows in
          withUnsafeTemporaryAllocation(of: Int.self, capacity: 1 << Int(digitBits)) { places in
            places.initialize(repeating: 0)
            for key in keys { places[Int(key >> shift & mask)] += 1 }
            var place = 0
            for digit in places.indices {
              let count = places[digit]
              places[digit] = place
              place += count
            }
            for index in keys.indices {
              let digit = Int(keys[index] >> shift & mask)
              newKeys[places[digit]] = keys[index]
              newRows[places[digit]] = rows[index]
              places[digit] += 1
            }
          }
        }
      }
    }
  }
}
