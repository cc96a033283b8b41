import CTabella
import Tabella

nonisolated(unsafe) let displayTable = immortal(
  tabella_display(
    will_display: { source, section, first, count in
      notice(source, first, count) {
        $0.base.display?.willDisplay(rows: $1, inSection: Int(section))
      }
    },
    did_end_displaying: { source, section, first, count in
      notice(source, first, count) {
        $0.base.display?.didEndDisplaying(rows: $1, inSection: Int(section))
      }
    }))

nonisolated(unsafe) let prefetchingTable = immortal(
  tabella_prefetching(
    prefetch: { source, section, first, count in
      notice(source, first, count) {
        $0.base.prefetching?.prefetch(rows: $1, inSection: Int(section))
      }
    },
    cancel_prefetch: { source, section, first, count in
      notice(source, first, count) {
        $0.base.prefetching?.cancelPrefetching(rows: $1, inSection: Int(section))
      }
    }))

/// Passes on a notice. Ignores an impossible range, because notices cannot fail.
private func notice(
  _ source: UnsafeMutableRawPointer, _ first: Int64, _ count: Int64,
  _ body: (SourceBox, Range<Int>) -> Void
) {
  guard let rows = try? range(first, count) else { return }
  _ = withBox(source) { body($0, rows) }
}

func importDisplay(_ foreign: ForeignSource) throws(TableError) -> (any TableDisplay)? {
  let table = try foreign.ability(TABELLA_DISPLAY_ID, tabella_display.self) {
    [
      ("will_display", $0.will_display != nil),
      ("did_end_displaying", $0.did_end_displaying != nil),
    ]
  }
  return table.map { ImportedDisplay(foreign: foreign, table: $0) }
}

private final class ImportedDisplay: TableDisplay {
  let foreign: ForeignSource
  let table: tabella_display

  init(foreign: ForeignSource, table: tabella_display) {
    self.foreign = foreign
    self.table = table
  }

  func willDisplay(rows: Range<Int>, inSection section: Int) {
    table.will_display!(foreign.source, Int64(section), Int64(rows.lowerBound), Int64(rows.count))
  }

  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    table.did_end_displaying!(
      foreign.source, Int64(section), Int64(rows.lowerBound), Int64(rows.count))
  }
}

func importPrefetching(_ foreign: ForeignSource) throws(TableError) -> (any TablePrefetching)? {
  let table = try foreign.ability(TABELLA_PREFETCHING_ID, tabella_prefetching.self) {
    [("prefetch", $0.prefetch != nil), ("cancel_prefetch", $0.cancel_prefetch != nil)]
  }
  return table.map { ImportedPrefetching(foreign: foreign, table: $0) }
}

private final class ImportedPrefetching: TablePrefetching {
  let foreign: ForeignSource
  let table: tabella_prefetching

  init(foreign: ForeignSource, table: tabella_prefetching) {
    self.foreign = foreign
    self.table = table
  }

  func prefetch(rows: Range<Int>, inSection section: Int) {
    table.prefetch!(foreign.source, Int64(section), Int64(rows.lowerBound), Int64(rows.count))
  }

  func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    table.cancel_prefetch!(
      foreign.source, Int64(section), Int64(rows.lowerBound), Int64(rows.count))
  }
}
