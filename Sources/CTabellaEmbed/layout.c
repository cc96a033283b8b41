/*
 * layout.c: static assertions about the memory layout of libtabella.
 *
 * A program that was compiled yesterday loads the library of tomorrow. Never edit a number to make this
 * file compile: add a new struct and a new function.
 */
#include "tabella_embed.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, field, bytes) \
  _Static_assert(offsetof(type, field) == (bytes), "offset of " #type "." #field)

SIZE(struct ArrowArrayStream, 40);

SIZE(tabella_embed_settings, 56);
AT(tabella_embed_settings, provider_path, 0);
AT(tabella_embed_settings, worker, 16);
AT(tabella_embed_settings, receipts, 32);
AT(tabella_embed_settings, isolation, 48);
AT(tabella_embed_settings, flags, 52);

SIZE(tabella_embed_request, 56);
AT(tabella_embed_request, location, 0);
AT(tabella_embed_request, provider, 16);
AT(tabella_embed_request, options, 32);
AT(tabella_embed_request, option_count, 40);
AT(tabella_embed_request, flags, 48);
AT(tabella_embed_request, reserved, 52);

SIZE(tabella_embed_shape, 88);
AT(tabella_embed_shape, filters, 0);
AT(tabella_embed_shape, filter_count, 8);
AT(tabella_embed_shape, search, 16);
AT(tabella_embed_shape, section_by, 32);
AT(tabella_embed_shape, sort, 48);
AT(tabella_embed_shape, sections_by, 64);
AT(tabella_embed_shape, flags, 80);
AT(tabella_embed_shape, reserved, 84);

SIZE(tabella_embed_stream_request, 56);
AT(tabella_embed_stream_request, columns, 0);
AT(tabella_embed_stream_request, column_count, 8);
AT(tabella_embed_stream_request, section, 16);
AT(tabella_embed_stream_request, first, 24);
AT(tabella_embed_stream_request, count, 32);
AT(tabella_embed_stream_request, rows_per_batch, 40);
AT(tabella_embed_stream_request, flags, 48);
AT(tabella_embed_stream_request, reserved, 52);

SIZE(tabella_embed_edit, sizeof(tabella_edit_result) + 16);
AT(tabella_embed_edit, result, 0);
AT(tabella_embed_edit, receipt, sizeof(tabella_edit_result));
