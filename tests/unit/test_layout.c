/* SPDX-License-Identifier: BSD-3-Clause */
/* Random layouts against a list that names the place of every byte. The seed is printed when a case
 * fails; `test_layout SEED` repeats it. */
#include "../long_form.h"
#include "testing.h"

#include "base/compiler.h"
#include "data/view.h"
#include "machine/sim/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;
static uint64_t state;

static size_t below(size_t limit)
{
    return (size_t)(sb_random_next(&state) % limit);
}

/* The reference: one place for each packed byte, in order. */
typedef struct places {
    ptrdiff_t *at;
    size_t n;
} places_t;

#define PLACES_MOST ((size_t)1 << 16)

static places_t places_of_bytes(size_t bytes)
{
    places_t places = {malloc((bytes + 1) * sizeof(ptrdiff_t)), bytes};

    for (size_t i = 0; i < bytes; i++)
        places.at[i] = (ptrdiff_t)i;
    return places;
}

static void places_add(places_t *all, ptrdiff_t offset, size_t count, ptrdiff_t stride,
                       const places_t *inner)
{
    all->at = realloc(all->at, (all->n + count * inner->n + 1) * sizeof *all->at);
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < inner->n; i++)
            all->at[all->n++] = offset + (ptrdiff_t)k * stride + inner->at[i];
    }
}

static void places_span(const places_t *places, ptrdiff_t *low, ptrdiff_t *high)
{
    *low = PTRDIFF_MAX;
    *high = PTRDIFF_MIN;
    for (size_t i = 0; i < places->n; i++) {
        *low = places->at[i] < *low ? places->at[i] : *low;
        *high = places->at[i] + 1 > *high ? places->at[i] + 1 : *high;
    }
    if (places->n == 0)
        *low = *high = 0;
}

typedef struct sample {
    sb_layout_t *layout;
    places_t places;
} sample_t;

static void sample_free(sample_t *sample)
{
    sb_layout_release(sample->layout);
    free(sample->places.at);
}

static sample_t sample_bytes(void)
{
    static const size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 20, 24, 31, 32, 48, 64, 100};
    size_t bytes = lengths[below(SB_COUNT_OF(lengths))];

    return (sample_t){sb_layout_bytes(bytes), places_of_bytes(bytes)};
}

static size_t draw_count(void)
{
    switch (below(8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return 15 + below(4);
    case 3:
        return 1 + below(400);
    default:
        return 1 + below(6);
    }
}

/* A distance that keeps the copies of `places` apart, forward or backward; at times none at all. */
static ptrdiff_t draw_stride(const places_t *places)
{
    ptrdiff_t low, high;

    places_span(places, &low, &high);
    ptrdiff_t stride = high - low + (ptrdiff_t)(below(3) == 0 ? 0 : below(20));
    return below(4) == 0 ? -stride : stride;
}

static sample_t draw(unsigned depth);

static sample_t draw_repeat(unsigned depth)
{
    sample_t inner = draw(depth - 1), outer = {0};
    size_t count = draw_count();
    ptrdiff_t stride = draw_stride(&inner.places), offset = (ptrdiff_t)below(9) - 4;

    while (count * inner.places.n > PLACES_MOST)
        count /= 2;
    places_add(&outer.places, offset, count, stride, &inner.places);
    outer.layout = sb_layout_repeat(offset, count, stride, inner.layout);
    sample_free(&inner);
    return outer;
}

/* Pieces of one to three inner layouts, one behind the other or in an order that goes back. */
static sample_t draw_sequence(unsigned depth)
{
    sample_t inner[3], outer = {0};
    size_t kinds = 1 + below(3), pieces = draw_count();
    sb_builder_t builder;
    ptrdiff_t place = 0;
    bool even = below(3) == 0, back = below(3) == 0;
    size_t length = 1 + below(3);

    for (size_t i = 0; i < kinds; i++)
        inner[i] = draw(depth - 1);
    sb_builder_start(&builder);
    for (size_t i = 0; i < pieces && outer.places.n < PLACES_MOST; i++) {
        sample_t *piece = &inner[below(kinds)];
        ptrdiff_t low, high;
        places_span(&piece->places, &low, &high);
        size_t count = even ? length : 1 + below(4);
        ptrdiff_t span = (ptrdiff_t)count * (high - low) + (ptrdiff_t)(even ? 3 : below(5));
        ptrdiff_t offset = back ? -place - span : place;
        places_add(&outer.places, offset - low, count, high - low, &piece->places);
        sb_builder_add(&builder, offset - low, count, high - low, piece->layout);
        place += span;
    }
    outer.layout = sb_builder_end(&builder);
    for (size_t i = 0; i < kinds; i++)
        sample_free(&inner[i]);
    return outer;
}

static sample_t draw(unsigned depth)
{
    if (depth == 0)
        return sample_bytes();
    switch (below(5)) {
    case 0:
    case 1:
        return draw_repeat(depth);
    case 2:
    case 3:
        return draw_sequence(depth);
    default:
        return draw(depth - 1);
    }
}

/* Data of a call in memory of its own, and where each byte of the stream lies. */
typedef struct call {
    sample_t element;
    places_t places;
    sb_view_t view;
    unsigned char *memory;
    size_t memory_bytes;
    ptrdiff_t low;
} call_t;

#define GUARD 64

static void fill(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)sb_random_next(&state);
}

static call_t place_elements(sample_t element, size_t count, ptrdiff_t extent)
{
    call_t call = {.element = element};
    ptrdiff_t high;

    places_add(&call.places, 0, count, extent, &call.element.places);
    places_span(&call.places, &call.low, &high);
    call.memory_bytes = (size_t)(high - call.low) + 2 * GUARD;
    call.memory = malloc(call.memory_bytes);
    fill(call.memory, call.memory_bytes);
    call.view = (sb_view_t){call.memory + GUARD - call.low, count, extent, call.element.layout};
    return call;
}

static call_t place_call(sample_t element)
{
    size_t count = 1 + below(below(3) == 0 ? 100 : 4);

    while (count > 1 && count * element.places.n > PLACES_MOST)
        count /= 2;
    return place_elements(element, count, draw_stride(&element.places));
}

static void call_free(call_t *call)
{
    sample_free(&call->element);
    free(call->places.at);
    free(call->memory);
}

static unsigned char *byte_at(const call_t *call, size_t position)
{
    return call->memory + GUARD - call->low + call->places.at[position];
}

/* The stream, by the reference. */
static unsigned char *expected_stream(const call_t *call)
{
    unsigned char *stream = calloc(call->places.n + 1, 1);

    for (size_t i = 0; i < call->places.n; i++)
        stream[i] = *byte_at(call, i);
    return stream;
}

static void check(bool right, const char *what, unsigned case_number)
{
    if (!right)
        fail_msg("%s differs: seed %llu, case %u", what, (unsigned long long)seed, case_number);
}

static void check_numbers(const call_t *call, unsigned number)
{
    ptrdiff_t low, high;
    const sb_layout_t *layout = call->view.layout;

    check(layout->bytes == call->element.places.n, "number of bytes", number);
    places_span(&call->element.places, &low, &high);
    check(layout->low == low && layout->high == high, "span", number);
}

static size_t draw_fragment(size_t most)
{
    return below(4) == 0 ? 1 + below(most) : 1 + below(most < 40 ? most : 40);
}

/* In order, in fragments of any size, then single ranges from anywhere. */
static void check_pack(const call_t *call, unsigned number)
{
    size_t bytes = call->places.n;
    unsigned char *stream = expected_stream(call), *packed = calloc(bytes + GUARD, 1);

    for (size_t at = 0, some; at < bytes; at += some) {
        some = draw_fragment(bytes - at);
        sb_view_pack(&call->view, at, packed + at, some);
    }
    check(memcmp(packed, stream, bytes) == 0, "packing in fragments", number);
    for (size_t i = 0; i < 20 && bytes > 0; i++) {
        size_t at = below(bytes), some = draw_fragment(bytes - at);
        memset(packed, 0x5a, bytes + GUARD);
        sb_view_pack(&call->view, at, packed, some);
        check(memcmp(packed, stream + at, some) == 0, "packing a range", number);
        check(packed[some] == 0x5a, "what lies behind a packed range", number);
    }
    free(stream);
    free(packed);
}

static void write_expected(const call_t *call, unsigned char *memory, const unsigned char *stream,
                           size_t at, size_t some)
{
    for (size_t i = at; i < at + some; i++)
        memory[byte_at(call, i) - call->memory] = stream[i];
}

static void check_unpack(const call_t *call, unsigned number)
{
    size_t bytes = call->places.n;
    unsigned char *stream = malloc(bytes + 1), *memory = malloc(call->memory_bytes);

    for (size_t i = 0; i < 20 && bytes > 0; i++) {
        size_t at = below(bytes), some = i == 0 ? bytes - at : draw_fragment(bytes - at);
        fill(stream + at, some);
        memcpy(memory, call->memory, call->memory_bytes);
        write_expected(call, memory, stream, at, some);
        sb_view_unpack(&call->view, at, stream + at, some);
        check(memcmp(memory, call->memory, call->memory_bytes) == 0, "unpacking", number);
    }
    free(stream);
    free(memory);
}

static void random_layouts(void **unused)
{
    (void)unused;
    for (unsigned number = 0; number < drawn(4000); number++) {
        state = seed * 1000003 + number;
        call_t call = place_call(draw(1 + (unsigned)below(4)));
        check_numbers(&call, number);
        check_pack(&call, number);
        check_unpack(&call, number);
        call_free(&call);
    }
}

/* A long list of short runs of few lengths, which is kept by length too. */
static sample_t draw_sorted(void)
{
    sample_t sample = {0};
    sb_layout_t *byte = sb_layout_bytes(1);
    places_t place = places_of_bytes(1);
    sb_builder_t builder;
    size_t runs = 128 + below(2000), lengths = 2 + below(7);

    sb_builder_start(&builder);
    for (ptrdiff_t at = 0; runs > 0; runs--, at += 1 + (ptrdiff_t)below(9)) {
        size_t length = 1 + below(lengths);
        sb_builder_add(&builder, at, length, 1, byte);
        places_add(&sample.places, at, length, 1, &place);
        at += (ptrdiff_t)length;
    }
    sample.layout = sb_builder_end(&builder);
    sb_layout_release(byte);
    free(place.at);
    assert_non_null(sample.layout->sorted);
    return sample;
}

static void sorted_lists(void **unused)
{
    (void)unused;
    for (unsigned number = 0; number < drawn(500); number++) {
        state = seed * 2000003 + number;
        call_t call = place_call(draw_sorted());
        check_numbers(&call, number);
        check_pack(&call, number);
        check_unpack(&call, number);
        call_free(&call);
    }
}

/* Columns of a matrix of long rows, side by side. */
static call_t draw_columns(void)
{
    size_t length = 1 + below(40), rows = 20 + below(80), count = 2 + below(20);
    ptrdiff_t row = (ptrdiff_t)(count * length + below(1500));
    sb_layout_t *bytes = sb_layout_bytes(length);
    places_t run = places_of_bytes(length);
    sample_t sample = {0};

    row = below(4) == 0 ? -row : row;
    sample.layout = sb_layout_repeat(0, rows, row, bytes);
    places_add(&sample.places, 0, rows, row, &run);
    sb_layout_release(bytes);
    free(run.at);
    return place_elements(sample, count, (ptrdiff_t)length);
}

static void columns_side_by_side(void **unused)
{
    (void)unused;
    for (unsigned number = 0; number < drawn(20); number++) {
        state = seed * 3000017 + number;
        call_t call = draw_columns();
        check_numbers(&call, number);
        check_pack(&call, number);
        check_unpack(&call, number);
        call_free(&call);
    }
}

static sb_layout_t *bytes_of(size_t bytes)
{
    sb_layout_t *layout = sb_layout_bytes(bytes);

    assert_non_null(layout);
    return layout;
}

/* repeat, taking over the inner layout */
static sb_layout_t *repeat(size_t count, ptrdiff_t stride, sb_layout_t *inner)
{
    sb_layout_t *layout = sb_layout_repeat(0, count, stride, inner);

    sb_layout_release(inner);
    return layout;
}

static void dense_memory_is_one_run(void **unused)
{
    (void)unused;
    sb_layout_t *layout = repeat(7, 4000, repeat(1000, 4, bytes_of(4)));
    assert_true(sb_layout_is_one_run(layout));
    assert_int_equal(layout->bytes, 28000);
    char memory[1];
    sb_view_t view = {memory, 5, 28000, layout}, apart = {memory, 5, 28001, layout};
    assert_ptr_equal(sb_view_plain(&view), memory);
    assert_null(sb_view_plain(&apart));
    apart.count = 1;
    assert_ptr_equal(sb_view_plain(&apart), memory);
    sb_layout_release(layout);
}

/* What is regular stays small, however it was described. */
static void regular_memory_is_a_loop(void **unused)
{
    sb_builder_t builder;
    sb_layout_t *eight = bytes_of(8);

    (void)unused;
    sb_builder_start(&builder);
    for (ptrdiff_t i = 0; i < 100000; i++)
        sb_builder_add(&builder, i * 24, 1, 8, eight);
    sb_layout_t *indexed = sb_builder_end(&builder);
    sb_layout_t *vector = repeat(1000, 2400, repeat(100, 24, bytes_of(8)));
    assert_true(indexed->memory <= 64 && vector->memory <= 64);
    assert_int_equal(indexed->parts[0].count, 100000);
    assert_int_equal(vector->parts[0].count, 100000);
    sb_layout_release(indexed);
    sb_layout_release(vector);
    sb_layout_release(eight);
}

static void bounds_are_kept(void **unused)
{
    sb_builder_t builder;
    sb_layout_t *four = bytes_of(4), *deep = bytes_of(1);

    (void)unused;
    sb_builder_start(&builder);
    for (ptrdiff_t i = 0; i < (5 << 20); i++)
        sb_builder_add(&builder, i * i % 1000003 * 8, 1 + (size_t)i % 2, 4, four);
    assert_null(sb_builder_end(&builder));
    for (size_t i = 0; deep != NULL && i <= SB_LAYOUT_DEPTH_MOST; i++)
        deep = repeat(20, deep->high * 2, deep);
    assert_null(deep);
    assert_null(sb_layout_repeat(0, SIZE_MAX / 2, 1, four));
    assert_null(sb_layout_repeat(PTRDIFF_MAX - 2, 1, 0, four));
    assert_null(sb_layout_repeat(0, 3, PTRDIFF_MAX / 2, four));
    sb_layout_release(four);
}

/* Runs too far apart for the numbers of one list, as absolute addresses may be. */
static void runs_far_apart(void **unused)
{
    const ptrdiff_t far = (ptrdiff_t)5 << 30;
    const ptrdiff_t places[6] = {0, 3 * far, -far, 3 * far + 16, 5, -far - 9};
    const size_t lengths[6] = {4, 2, 1, 3, 4, 2};
    sb_layout_t *byte = bytes_of(1);
    sb_builder_t builder;
    size_t position = 0;

    (void)unused;
    sb_builder_start(&builder);
    for (size_t i = 0; i < 6; i++)
        sb_builder_add(&builder, places[i], lengths[i], 1, byte);
    sb_layout_t *layout = sb_builder_end(&builder);
    assert_int_equal(layout->bytes, 16);
    assert_int_equal(layout->low, -far - 9);
    assert_int_equal(layout->high, 3 * far + 19);
    for (size_t i = 0; i < 6; i++) {
        /* The base brings this run, and no other, to the number. */
        char number[4] = {1, 2, 3, 4}, packed[4] = {0};
        sb_view_t view = {(void *)((uintptr_t)number - (uintptr_t)places[i]), 1, 0, layout};
        sb_view_pack(&view, position, packed, lengths[i]);
        assert_memory_equal(packed, number, lengths[i]);
        position += lengths[i];
    }
    sb_layout_release(layout);
    sb_layout_release(byte);
}

/* Bytes that a walk over all runs moves. */
static size_t bytes_of_runs(const sb_layout_t *layout)
{
    size_t bytes = 0;

    for (size_t i = 0; i < layout->n; i++)
        bytes += sb_layout_is_list(layout)
                     ? sb_run_length(layout, i)
                     : layout->parts[i].count * bytes_of_runs(layout->parts[i].inner);
    return bytes;
}

/* Runs too long for the numbers of one list: one block, or one that grows. */
static void runs_of_gigabytes(void **unused)
{
    const size_t gigabyte = (size_t)1 << 30, far = 16 * gigabyte;
    sb_layout_t *byte = bytes_of(1);

    (void)unused;
    for (size_t pieces = 1; pieces <= 5; pieces++) {
        sb_builder_t builder;
        sb_builder_start(&builder);
        sb_builder_add(&builder, 0, 4, 1, byte);
        for (size_t i = 0; i < pieces; i++)
            sb_builder_add(&builder, (ptrdiff_t)(8 + i * 5 * gigabyte / pieces),
                           5 * gigabyte / pieces, 1, byte);
        sb_builder_add(&builder, (ptrdiff_t)far, 3, 1, byte);
        sb_layout_t *layout = sb_builder_end(&builder);
        assert_non_null(layout);
        assert_int_equal(bytes_of_runs(layout), layout->bytes);
        assert_int_equal(layout->high, far + 3);
        sb_layout_release(layout);
    }
    sb_layout_release(byte);
}

/* Parts of one inner layout are joined only if they go on at the same distance. */
static void loops_are_joined_where_they_go_on(void **unused)
{
    sb_layout_t *eight = bytes_of(8);
    sb_builder_t builder;

    (void)unused;
    sb_builder_start(&builder);
    sb_builder_add(&builder, 0, 20, 16, eight);
    sb_builder_add(&builder, 320, 30, 16, eight);
    sb_builder_add(&builder, 800, 20, 24, eight);
    sb_layout_t *layout = sb_builder_end(&builder);
    assert_int_equal(layout->n, 2);
    assert_int_equal(layout->parts[0].count, 50);
    assert_int_equal(layout->parts[1].stride, 24);
    sb_layout_release(layout);
    sb_layout_release(eight);
}

static void nothing_is_a_layout(void **unused)
{
    (void)unused;
    sb_layout_t *nothing = repeat(1000, 8, bytes_of(0));
    assert_int_equal(nothing->bytes, 0);
    assert_int_equal(nothing->n, 0);
    sb_view_t view = {NULL, 10, 8, nothing};
    sb_view_pack(&view, 0, NULL, 0);
    assert_null(sb_view_plain(&view));
    sb_layout_release(nothing);
}

/* Addresses from 0 on, as MPI_BOTTOM has them. */
static void absolute_addresses(void **unused)
{
    int numbers[3] = {1, 2, 3}, packed[2];
    sb_layout_t *four = bytes_of(4);
    sb_builder_t builder;

    (void)unused;
    sb_builder_start(&builder);
    sb_builder_add(&builder, (ptrdiff_t)&numbers[2], 1, 4, four);
    sb_builder_add(&builder, (ptrdiff_t)&numbers[0], 1, 4, four);
    sb_layout_t *layout = sb_builder_end(&builder);
    sb_view_t view = {NULL, 1, 4, layout};
    sb_view_pack(&view, 0, packed, sizeof packed);
    assert_int_equal(packed[0], 3);
    assert_int_equal(packed[1], 1);
    sb_layout_release(layout);
    sb_layout_release(four);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_layouts),
        cmocka_unit_test(sorted_lists),
        cmocka_unit_test(columns_side_by_side),
        cmocka_unit_test(dense_memory_is_one_run),
        cmocka_unit_test(regular_memory_is_a_loop),
        cmocka_unit_test(bounds_are_kept),
        cmocka_unit_test(nothing_is_a_layout),
        cmocka_unit_test(absolute_addresses),
        cmocka_unit_test(runs_far_apart),
        cmocka_unit_test(runs_of_gigabytes),
        cmocka_unit_test(loops_are_joined_where_they_go_on),
    };

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
