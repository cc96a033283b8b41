// The functions of libFuzzer that the fuzzer calls; the toolchain has the library but no header.
#ifndef LIBFUZZER_H
#define LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// Calls `run` until the arguments say it is enough; does not return before.
int LLVMFuzzerRunDriver(int *_Nonnull count, char *_Nullable *_Nullable *_Nonnull arguments,
                        int (*_Nonnull run)(const uint8_t *_Nullable bytes, size_t count));

/// Changes the bytes at random, within `limit`; returns the new length.
size_t LLVMFuzzerMutate(uint8_t *_Nonnull bytes, size_t count, size_t limit);

#endif
