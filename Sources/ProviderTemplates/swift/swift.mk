# `make` builds the library, `make test` tests it. The first build also compiles the SDK, for some minutes.
LIBRARY = @NAME@.so
SWIFT ?= swift

$(LIBRARY): Package.swift $(wildcard Sources/*.swift)
	$(SWIFT) build -c release
	install -m 755 .build/release/lib@MODULE@.so $@

test: $(LIBRARY)
	./test

# Removes what was built of this provider, but not the SDK. `make distclean` also removes the SDK.
clean:
	$(RM) -r $(LIBRARY) .build/release/lib@MODULE@.so .build/release/@MODULE@.build

distclean: clean
	$(RM) -r .build

.PHONY: test clean distclean
