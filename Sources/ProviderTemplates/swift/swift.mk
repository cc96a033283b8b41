# `make` builds the library, `make test` tests it. The first build also compiles the SDK, for some minutes.
LIBRARY = @NAME@.so
SWIFT ?= swift

$(LIBRARY): Package.swift $(wildcard Sources/*.swift)
	$(SWIFT) build -c release
	install -m 755 .build/release/lib@MODULE@.so $@

test: $(LIBRARY)
	./test

clean:
	$(RM) -r $(LIBRARY) .build

.PHONY: test clean
