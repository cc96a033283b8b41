/* A provider that performs only the first edit of a batch, and refuses the others. */
#include "zoo_editing.h"

static int32_t commit(void *self, const tabella_edit_batch *batch, tabella_edit_result *out, tabella_error *error) {
  tabella_edit_batch first = *batch;
  tabella_edit_outcome *outcomes;
  int32_t code;
  if (batch->edit_count != 2) return zoo_commit(self, batch, out, error);
  first.edit_count = 1;
  code = zoo_commit(self, &first, out, error);
  if (code != TABELLA_OK) return code;
  /* The list has a free entry. */
  outcomes = ((zoo_result *)out->private_data)->outcomes;
  outcomes[1].code = TABELLA_CONSTRAINT;
  outcomes[1].message = tabella_cstring("only one at a time");
  out->outcome_count = 2;
  return TABELLA_OK;
}

ANIMAL {
  zoo_may_edit();
  zoo_editing.commit = commit;
}
