import TabellaFiles

/// A file that a provider reads as a whole, and saves by pieces, with the promises of docs/saving.md.
public typealias EditableFile = TabellaFiles.EditableFile
