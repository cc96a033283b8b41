# `make` builds the library, `make test` tests it. It needs only rustc, and no cargo.
LIBRARY = @NAME@.so
RUSTC ?= rustc
# A panic ends the process, because it must not cross the contract.
RUSTFLAGS ?= -O -g -C panic=abort

$(LIBRARY): provider.rs batch.rs tabella.rs
	$(RUSTC) --edition 2021 --crate-type cdylib --crate-name provider $(RUSTFLAGS) -C link-arg=-Wl,-z,nodelete -o $@ provider.rs
	chmod go-w $@

test: $(LIBRARY)
	./test

clean:
	$(RM) $(LIBRARY)

.PHONY: test clean
