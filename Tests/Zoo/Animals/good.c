/* The harmless animal. The others are compared with it, and it is served after them. */
#include "zoo_editing.h"

ANIMAL { zoo_may_edit(); }
