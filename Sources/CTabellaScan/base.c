/* The kernel for all machines. */
#define NARROW /* A block consists of several vectors. Masks are made from comparisons only. */
#define VERSION tabella_scan_base
#include "cells.h"
#include "kernel.h"
