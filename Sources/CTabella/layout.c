/*
 * layout.c: static assertions about the memory layout of the contract.
 *
 * A provider that was compiled yesterday is loaded tomorrow. If a size or offset changes, the provider
 * breaks silently. These assertions make the build fail instead. Never edit a number to make this file
 * compile: add a new field as a new table (docs/contract.md, "How it may change").
 */
#include "tabella.h"

#if UINTPTR_MAX != UINT64_MAX
#error "Contract 0.9 is defined for 64-bit platforms"
#endif

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, field, bytes) \
  _Static_assert(offsetof(type, field) == (bytes), "offset of " #type "." #field)

_Static_assert(sizeof(void *) == 8 && sizeof(double) == 8, "a 64-bit platform");

SIZE(tabella_string, 16);
AT(tabella_string, bytes, 0);
AT(tabella_string, length, 8);

SIZE(tabella_index_path, 16);
AT(tabella_index_path, section, 0);
AT(tabella_index_path, row, 8);

SIZE(tabella_count, 16);
AT(tabella_count, value, 0);
AT(tabella_count, exact, 8);
AT(tabella_count, reserved, 12);

SIZE(tabella_error, 64);
AT(tabella_error, message, 0);
AT(tabella_error, path, 16);
AT(tabella_error, column, 32);
AT(tabella_error, located, 40);
AT(tabella_error, retryable, 44);
AT(tabella_error, release, 48);
AT(tabella_error, private_data, 56);

SIZE(struct ArrowSchema, 72);
AT(struct ArrowSchema, format, 0);
AT(struct ArrowSchema, name, 8);
AT(struct ArrowSchema, metadata, 16);
AT(struct ArrowSchema, flags, 24);
AT(struct ArrowSchema, n_children, 32);
AT(struct ArrowSchema, children, 40);
AT(struct ArrowSchema, dictionary, 48);
AT(struct ArrowSchema, release, 56);
AT(struct ArrowSchema, private_data, 64);

SIZE(struct ArrowArray, 80);
AT(struct ArrowArray, length, 0);
AT(struct ArrowArray, null_count, 8);
AT(struct ArrowArray, offset, 16);
AT(struct ArrowArray, n_buffers, 24);
AT(struct ArrowArray, n_children, 32);
AT(struct ArrowArray, buffers, 40);
AT(struct ArrowArray, children, 48);
AT(struct ArrowArray, dictionary, 56);
AT(struct ArrowArray, release, 64);
AT(struct ArrowArray, private_data, 72);

SIZE(tabella_row_request, 48);
AT(tabella_row_request, section, 0);
AT(tabella_row_request, first, 8);
AT(tabella_row_request, count, 16);
AT(tabella_row_request, columns, 24);
AT(tabella_row_request, column_count, 32);
AT(tabella_row_request, flags, 40);
AT(tabella_row_request, reserved, 44);

SIZE(tabella_batch, 88);
AT(tabella_batch, array, 0);
AT(tabella_batch, flags, 80);

SIZE(tabella_source_table, 64);
AT(tabella_source_table, release, 0);
AT(tabella_source_table, cancel, 8);
AT(tabella_source_table, ability, 16);
AT(tabella_source_table, flags, 24);
AT(tabella_source_table, version, 32);
AT(tabella_source_table, schema, 40);
AT(tabella_source_table, row_count, 48);
AT(tabella_source_table, rows, 56);

SIZE(tabella_source, 16);
AT(tabella_source, table, 0);
AT(tabella_source, source, 8);

SIZE(tabella_sections, 16);
AT(tabella_sections, count, 0);
AT(tabella_sections, title, 8);

SIZE(tabella_section_index, 16);
AT(tabella_section_index, titles, 0);
AT(tabella_section_index, path, 8);

SIZE(tabella_identity, 8);
AT(tabella_identity, find, 0);

SIZE(tabella_gather_request, 40);
AT(tabella_gather_request, paths, 0);
AT(tabella_gather_request, path_count, 8);
AT(tabella_gather_request, columns, 16);
AT(tabella_gather_request, column_count, 24);
AT(tabella_gather_request, flags, 32);
AT(tabella_gather_request, reserved, 36);

SIZE(tabella_gathering, 8);
AT(tabella_gathering, rows, 0);

SIZE(tabella_change, 40);
AT(tabella_change, kind, 0);
AT(tabella_change, reserved, 4);
AT(tabella_change, from, 8);
AT(tabella_change, to, 24);

SIZE(tabella_changes, 72);
AT(tabella_changes, from_version, 0);
AT(tabella_changes, to_version, 16);
AT(tabella_changes, changes, 32);
AT(tabella_changes, change_count, 40);
AT(tabella_changes, flags, 48);
AT(tabella_changes, reserved, 52);
AT(tabella_changes, release, 56);
AT(tabella_changes, private_data, 64);

SIZE(tabella_changes_table, 16);
AT(tabella_changes_table, listen, 0);
AT(tabella_changes_table, pull, 8);

SIZE(tabella_value, 40);
AT(tabella_value, type, 0);
AT(tabella_value, reserved, 4);
AT(tabella_value, integer, 8);
AT(tabella_value, real, 16);
AT(tabella_value, bytes, 24);

SIZE(tabella_cell, 48);
AT(tabella_cell, column, 0);
AT(tabella_cell, value, 8);

SIZE(tabella_edit, 72);
AT(tabella_edit, kind, 0);
AT(tabella_edit, reserved, 4);
AT(tabella_edit, id, 8);
AT(tabella_edit, from, 24);
AT(tabella_edit, target, 40);
AT(tabella_edit, cells, 56);
AT(tabella_edit, cell_count, 64);

SIZE(tabella_edit_batch, 40);
AT(tabella_edit_batch, version, 0);
AT(tabella_edit_batch, edits, 16);
AT(tabella_edit_batch, edit_count, 24);
AT(tabella_edit_batch, flags, 32);
AT(tabella_edit_batch, reserved, 36);

SIZE(tabella_edit_outcome, 40);
AT(tabella_edit_outcome, code, 0);
AT(tabella_edit_outcome, flags, 4);
AT(tabella_edit_outcome, message, 8);
AT(tabella_edit_outcome, id, 24);

SIZE(tabella_edit_result, 120);
AT(tabella_edit_result, outcomes, 0);
AT(tabella_edit_result, outcome_count, 8);
AT(tabella_edit_result, receipt, 16);
AT(tabella_edit_result, changes, 32);
AT(tabella_edit_result, release, 104);
AT(tabella_edit_result, private_data, 112);

SIZE(tabella_editing, 24);
AT(tabella_editing, editable, 0);
AT(tabella_editing, editable_columns, 8);
AT(tabella_editing, commit, 16);

SIZE(tabella_section_editing, 16);
AT(tabella_section_editing, editable, 0);
AT(tabella_section_editing, insertable, 8);

SIZE(tabella_moving, 16);
AT(tabella_moving, movable, 0);
AT(tabella_moving, target, 8);

SIZE(tabella_undo, 8);
AT(tabella_undo, undo, 0);

SIZE(tabella_text_span, 24);
AT(tabella_text_span, start, 0);
AT(tabella_text_span, length, 8);
AT(tabella_text_span, style, 16);
AT(tabella_text_span, reserved, 20);

SIZE(tabella_element, 72);
AT(tabella_element, form, 0);
AT(tabella_element, reserved, 4);
AT(tabella_element, text, 8);
AT(tabella_element, spans, 24);
AT(tabella_element, span_count, 32);
AT(tabella_element, table, 40);
AT(tabella_element, release, 56);
AT(tabella_element, private_data, 64);

SIZE(tabella_supplementary, 16);
AT(tabella_supplementary, kinds, 0);
AT(tabella_supplementary, element, 8);

SIZE(tabella_accessories, 8);
AT(tabella_accessories, location, 0);

SIZE(tabella_display, 16);
AT(tabella_display, will_display, 0);
AT(tabella_display, did_end_displaying, 8);

SIZE(tabella_prefetching, 16);
AT(tabella_prefetching, prefetch, 0);
AT(tabella_prefetching, cancel_prefetch, 8);

SIZE(tabella_diagnostic, 24);
AT(tabella_diagnostic, severity, 0);
AT(tabella_diagnostic, reserved, 4);
AT(tabella_diagnostic, message, 8);

SIZE(tabella_diagnostics, 8);
AT(tabella_diagnostics, next, 0);

SIZE(tabella_option_value, 32);
AT(tabella_option_value, name, 0);
AT(tabella_option_value, value, 16);

SIZE(tabella_open_request, 56);
AT(tabella_open_request, location, 0);
AT(tabella_open_request, scheme, 16);
AT(tabella_open_request, options, 32);
AT(tabella_open_request, option_count, 40);
AT(tabella_open_request, flags, 48);
AT(tabella_open_request, reserved, 52);

SIZE(tabella_provider, 56);
AT(tabella_provider, provider, 0);
AT(tabella_provider, id, 8);
AT(tabella_provider, version, 24);
AT(tabella_provider, ability, 40);
AT(tabella_provider, open, 48);

SIZE(tabella_option, 72);
AT(tabella_option, name, 0);
AT(tabella_option, type, 16);
AT(tabella_option, reserved, 20);
AT(tabella_option, default_value, 24);
AT(tabella_option, choices, 40);
AT(tabella_option, summary, 56);

SIZE(tabella_options, 8);
AT(tabella_options, declared, 0);

SIZE(tabella_host, 24);
AT(tabella_host, host, 0);
AT(tabella_host, log, 8);
AT(tabella_host, ability, 16);

SIZE(tabella_entry, 136);
AT(tabella_entry, contract_version, 0);
AT(tabella_entry, provider_contract, 4);
AT(tabella_entry, host, 8);
AT(tabella_entry, provider, 16);
AT(tabella_entry, error, 72);
