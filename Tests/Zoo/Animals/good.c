/* The animal that does no harm: what the others are compared with, and what is served after them. */
#include "zoo_editing.h"

ANIMAL { zoo_may_edit(); }
