# `make` builds the library, `make test` tests it. It needs only rustc, and no cargo.
LIBRARY = @NAME@.so
RUSTC ?= rustc
RUSTFLAGS ?= -O -g

$(LIBRARY): $(wildcard *.rs)
	$(RUSTC) --edition 2021 --crate-type cdylib --crate-name provider $(RUSTFLAGS) -C link-arg=-Wl,-z,nodelete -o $@ rows.rs
	chmod go-w $@

test: $(LIBRARY)
	./test

clean:
	$(RM) $(LIBRARY)

distclean: clean

.PHONY: test clean distclean
