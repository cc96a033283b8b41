/* The kernel for any machine. */
#define NARROW /* A block is several vectors: masks are made of comparisons and nothing else. */
#define VERSION tabella_scan_base
#include "cells.h"
#include "kernel.h"
