/* SPDX-License-Identifier: BSD-3-Clause */
#include "baseline/bundle.h"

static const sb_stream_t *part_of(const sb_bundle_t *bundle, uint32_t i)
{
    return i < bundle->count[0] ? &bundle->parts[bundle->first[0] + i]
                                : &bundle->parts[bundle->first[1] + i - bundle->count[0]];
}

typedef sb_status_t pass_t(const sb_stream_t *part, size_t offset, char *buffer, size_t bytes);

static sb_status_t pass_out(const sb_stream_t *part, size_t offset, char *buffer, size_t bytes)
{
    return sb_stream_read(part, offset, buffer, bytes);
}

static sb_status_t pass_in(const sb_stream_t *part, size_t offset, char *buffer, size_t bytes)
{
    return sb_stream_write(part, offset, buffer, bytes);
}

/* Goes through the parts that hold the bytes from `offset` on. */
static sb_status_t walk(const sb_bundle_t *bundle, size_t offset, char *buffer, size_t bytes,
                        pass_t *pass)
{
    sb_status_t status = SB_OK;

    for (uint32_t i = 0; bytes > 0 && status == SB_OK; i++) {
        const sb_stream_t *part = part_of(bundle, i);
        if (offset >= part->bytes) {
            offset -= part->bytes;
            continue;
        }
        size_t here = sb_min(part->bytes - offset, bytes);
        status = pass(part, offset, buffer, here);
        buffer += here;
        bytes -= here;
        offset = 0;
    }
    return status;
}

static sb_status_t read_bundle(void *context, size_t offset, void *to, size_t bytes)
{
    return walk(context, offset, to, bytes, pass_out);
}

static sb_status_t write_bundle(void *context, size_t offset, const void *from, size_t bytes)
{
    return walk(context, offset, (char *)(uintptr_t)from, bytes, pass_in);
}

sb_stream_t sb_bundle_stream(sb_bundle_t *bundle)
{
    sb_stream_t stream = {.read = read_bundle, .write = write_bundle, .context = bundle};

    for (uint32_t i = 0; i < bundle->count[0] + bundle->count[1]; i++)
        stream.bytes += part_of(bundle, i)->bytes;
    return stream;
}
