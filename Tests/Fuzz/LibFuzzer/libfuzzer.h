// The functions of libFuzzer that the fuzzer calls; the toolchain has the library but no header.
#ifndef LIBFUZZER_H
#define LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// Calls `run` until the limits in the arguments are reached, and then returns.
int LLVMFuzzerRunDriver(int *_Nonnull count, char *_Nullable *_Nullable *_Nonnull arguments,
                        int (*_Nonnull run)(const uint8_t *_Nullable bytes, size_t count));

/// Mutates the bytes at random, up to `limit` bytes. Returns the new length.
size_t LLVMFuzzerMutate(uint8_t *_Nonnull bytes, size_t count, size_t limit);

#endif
