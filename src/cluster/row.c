/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/row.h"

uint32_t sb_items_add(sb_item_t *item, uint32_t count, const sb_stream_t *stream, size_t from,
                      size_t bytes)
{
    sb_item_t *last = count > 0 ? &item[count - 1] : NULL;

    if (last != NULL && last->stream->base != NULL && stream->base != NULL &&
        last->stream->base + last->from + last->bytes == stream->base + from) {
        last->bytes += bytes;
        return count;
    }
    item[count] = (sb_item_t){stream, from, bytes};
    return count + 1;
}

/* Moves bytes of the row to `to`, or from `from`: one of them is NULL. */
static sb_status_t move(sb_row_t *row, size_t offset, char *to, const char *from, size_t bytes)
{
    sb_status_t status = SB_OK;

    if (offset < row->before)
        row->at = row->before = 0;
    while (bytes > 0 && row->at < row->count && status == SB_OK) {
        const sb_item_t *item = &row->item[row->at];
        size_t inside = offset - row->before;
        if (inside >= item->bytes) {
            row->before += item->bytes;
            row->at++;
            continue;
        }
        size_t now = sb_min(bytes, item->bytes - inside);
        status = to != NULL ? sb_stream_read(item->stream, item->from + inside, to, now)
                            : sb_stream_write(item->stream, item->from + inside, from, now);
        to = to != NULL ? to + now : NULL;
        from = from != NULL ? from + now : NULL;
        offset += now;
        bytes -= now;
    }
    return status;
}

static sb_status_t read(void *context, size_t offset, void *to, size_t bytes)
{
    return move(context, offset, to, NULL, bytes);
}

static sb_status_t write(void *context, size_t offset, const void *from, size_t bytes)
{
    return move(context, offset, NULL, from, bytes);
}

sb_stream_t sb_row_stream(sb_row_t *row, const sb_item_t *item, uint32_t count)
{
    sb_stream_t stream = {.read = read, .write = write, .context = row};

    *row = (sb_row_t){.item = item, .count = count};
    for (uint32_t i = 0; i < count; i++)
        stream.bytes += item[i].bytes;
    return stream;
}

sb_stream_t sb_item_stream(sb_row_t *row, const sb_item_t *item)
{
    sb_stream_t stream = sb_row_stream(row, item, 1);

    if (item->stream->base != NULL)
        stream.base = item->stream->base + item->from;
    return stream;
}
