// The floor of a program start: a Swift program that does nothing.
