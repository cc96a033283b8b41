// The floor of a start: a Swift program that does nothing.
