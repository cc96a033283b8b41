# `make` builds the library, `make test` tests it. pkg-config names the folder of tabella.h.
LIBRARY = @NAME@.so
TABELLA_CFLAGS ?= $(or $(shell pkg-config --cflags tabella 2> /dev/null),-I"@INCLUDE@")
CFLAGS ?= -O2 -g
WARNINGS = -std=c11 -Wall -Wextra -Wpedantic

$(LIBRARY): provider.c
	$(CC) $(WARNINGS) $(CFLAGS) $(TABELLA_CFLAGS) -fPIC -shared -fvisibility=hidden -Wl,-z,nodelete -o $@ $<
	chmod go-w $@

test: $(LIBRARY)
	./test

clean:
	$(RM) $(LIBRARY)

distclean: clean

.PHONY: test clean distclean
