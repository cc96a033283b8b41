import Tabella

// Sections and their index.

extension Calls {
  static let numberOfSections = Call<Count, Int>(
    .numberOfSections, asked: { $0.tracedMinimum },
    make: { source, minimum throws(TableError) in
      try ability(source.sections).numberOfSections(knowing: minimum)
    })

  static let title = Call<String?, TitlePlace, Int>(
    .title, asked: { "\($1) \($0)" }, answered: { $0?.tracedLength ?? "none" },
    make: { source, place, section throws(TableError) in
      try ability(source.sections).title(place, ofSection: section)
    })

  static let sectionIndexTitles = Call<[String]>(
    .sectionIndexTitles, answered: { "\($0.count) titles" },
    make: { source throws(TableError) in try ability(source.sectionIndex).sectionIndexTitles() })

  static let indexPathForTitle = Call<IndexPath, String, Int>(
    .indexPathForTitle, asked: { "\($1)" },
    make: { source, title, index throws(TableError) in
      try ability(source.sectionIndex).indexPath(forIndexTitle: title, at: index)
    })
}

extension ForwardingSource {
  package func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try call(Calls.numberOfSections, minimum)
  }

  package func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try call(Calls.title, place, section)
  }

  package func sectionIndexTitles() throws(TableError) -> [String] {
    try call(Calls.sectionIndexTitles)
  }

  package func indexPath(
    forIndexTitle title: String, at index: Int
  ) throws(TableError) -> IndexPath { try call(Calls.indexPathForTitle, title, index) }
}
