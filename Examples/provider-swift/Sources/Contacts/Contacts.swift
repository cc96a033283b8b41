import TabellaSDK

/// A provider for contacts in vCard files: `contacts.vcf`, or `vcard:PATH` for files with another name.
struct ContactsProvider: Provider {
  static let id = "vcard"
  static let version = "1.0"
  static let options: [OptionDeclaration] =
    EditableFile.options + [
      OptionDeclaration(
        "placeholders", .boolean, default: "false",
        summary: "end each section with a row that stands for a new contact")
    ]

  func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    let hasPlaceholders = request.options["placeholders"].flatMap(OptionDeclaration.boolean)
    return try ContactsSource(
      try EditableFile(path: request.location, options: request.options),
      hasPlaceholders: hasPlaceholders ?? false)
  }
}

// The contract fixes this name.
// swift-format-ignore: AlwaysUseLowerCamelCase
@c @implementation
public func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
  ContactsProvider.export(to: entry)
}
