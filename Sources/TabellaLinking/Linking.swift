// This target has no code: its linker settings in Package.swift apply to each library that depends on it. The library
// then exports only the entry, and is never unmapped. Code of Swift cannot be unmapped.
