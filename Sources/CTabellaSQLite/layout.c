#include "tabella_sqlite.h"

/* The number of pointers in front of each member. These numbers never change. */
#define MEMBER(name, number)                                                                       \
  _Static_assert(offsetof(tabella_sqlite_api, name) == (number) * sizeof(void *), #name)

MEMBER(declare_vtab, 50);
MEMBER(free, 58);
MEMBER(libversion_number, 67);
MEMBER(result_double, 79);
MEMBER(result_int64, 83);
MEMBER(result_null, 84);
MEMBER(value_blob, 102);
MEMBER(value_bytes, 103);
MEMBER(value_double, 105);
MEMBER(value_int64, 107);
MEMBER(value_text, 109);
MEMBER(value_type, 113);
MEMBER(create_module_v2, 119);
MEMBER(vtab_config, 177);
MEMBER(malloc64, 197);
MEMBER(result_blob64, 201);
MEMBER(result_text64, 202);
MEMBER(vtab_nochange, 222);
MEMBER(value_nochange, 223);
MEMBER(vtab_collation, 224);
MEMBER(vtab_in, 259);
MEMBER(vtab_in_first, 260);
MEMBER(vtab_in_next, 261);
