/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/predefined.h"

#include <stdatomic.h>

#define TABLE 512 /* a power of two, several times the number of predefined types */
#define TABLE_MOST (TABLE / 4 * 3)

typedef struct entry {
    _Atomic bool used; /* set last: the rest never changes then */
    MPI_Datatype type;
    sb_type_t description;
} entry_t;

static entry_t table[TABLE];
static size_t table_used;

static entry_t *find(MPI_Datatype type)
{
    uint64_t bits = (uint64_t)SB_HANDLE_BITS(type) * 0x9e3779b97f4a7c15u;
    entry_t *entry = &table[(size_t)(bits >> 32) % TABLE];

    /* Acquire: pairs with the store in sb_predefined_add(). */
    while (atomic_load_explicit(&entry->used, memory_order_acquire) && entry->type != type)
        entry = entry + 1 < table + TABLE ? entry + 1 : table;
    return entry;
}

const sb_type_t *sb_predefined_find(MPI_Datatype type)
{
    entry_t *entry = find(type);

    /* Acquire: as in find(). */
    return atomic_load_explicit(&entry->used, memory_order_acquire) ? &entry->description : NULL;
}

/* A short, a gap, an int: the only pair whose gap lies between its two values. */
static sb_layout_t *short_int_layout(size_t end)
{
    sb_layout_t *number = sb_layout_bytes(sizeof(int)), *half = sb_layout_bytes(sizeof(short));
    sb_builder_t builder;

    if (number == NULL || half == NULL) {
        sb_layout_release(number);
        sb_layout_release(half);
        return NULL;
    }
    sb_builder_start(&builder);
    sb_builder_add(&builder, 0, 1, 0, half);
    sb_builder_add(&builder, (ptrdiff_t)(end - sizeof(int)), 1, 0, number);
    sb_layout_release(number);
    sb_layout_release(half);
    return sb_builder_end(&builder);
}

/* A type without gaps before its end is its bytes in order. */
static sb_layout_t *find_layout(MPI_Datatype type, size_t size)
{
    MPI_Aint lower, extent;

    if (sb_host.Type_get_true_extent(type, &lower, &extent) != MPI_SUCCESS)
        return NULL;
    if (size == 0 || (lower == 0 && extent == (MPI_Aint)size))
        return sb_layout_bytes(size);
    if (type == MPI_SHORT_INT && lower == 0 && size == sizeof(short) + sizeof(int))
        return short_int_layout((size_t)extent);
    return NULL;
}

const sb_type_t *sb_predefined_add(MPI_Datatype type)
{
    MPI_Count size = 0;
    MPI_Aint lower, extent;
    entry_t *entry = find(type);

    /* Relaxed: nobody else adds. */
    if (atomic_load_explicit(&entry->used, memory_order_relaxed))
        return &entry->description;
    if (table_used == TABLE_MOST || sb_host.Type_size_x(type, &size) != MPI_SUCCESS || size < 0 ||
        sb_host.Type_get_extent(type, &lower, &extent) != MPI_SUCCESS)
        return NULL;
    sb_layout_t *layout = find_layout(type, (size_t)size);
    entry->type = type;
    entry->description = (sb_type_t){
        .size = (size_t)size,
        .extent = extent,
        .contiguous = layout != NULL && sb_layout_is_one_run(layout) && extent == size,
        .layout = layout,
    };
    table_used++;
    /* Release: pairs with the loads in find() and sb_predefined_find(). */
    atomic_store_explicit(&entry->used, true, memory_order_release);
    return &entry->description;
}

/* What lies in memory, as types.def says it. */
typedef enum form {
    FORM_NONE,
    FORM_SIGNED,
    FORM_UNSIGNED,
    FORM_LOGICAL,
    FORM_REAL,
    FORM_LONG_REAL,
    FORM_COMPLEX,
    FORM_LONG_COMPLEX,
    FORM_PAIR_SHORT,
    FORM_PAIR_INT,
    FORM_PAIR_LONG,
    FORM_PAIR_FLOAT,
    FORM_PAIR_DOUBLE,
    FORM_PAIR_LONG_DOUBLE,
    FORM_PAIR_2FLOAT,
    FORM_PAIR_2DOUBLE,
} form_t;

/* The element of this form and size; none: Sobor has no operators for it. */
static sb_element_t element_of(form_t form, size_t size)
{
    static const struct {
        form_t form;
        size_t size;
        sb_element_t element;
    } elements[] = {
        {FORM_SIGNED, 1, SB_INT8},
        {FORM_SIGNED, 2, SB_INT16},
        {FORM_SIGNED, 4, SB_INT32},
        {FORM_SIGNED, 8, SB_INT64},
        {FORM_UNSIGNED, 1, SB_UINT8},
        {FORM_UNSIGNED, 2, SB_UINT16},
        {FORM_UNSIGNED, 4, SB_UINT32},
        {FORM_UNSIGNED, 8, SB_UINT64},
        {FORM_LOGICAL, 1, SB_LOGICAL8},
        {FORM_LOGICAL, 2, SB_LOGICAL16},
        {FORM_LOGICAL, 4, SB_LOGICAL32},
        {FORM_LOGICAL, 8, SB_LOGICAL64},
        {FORM_REAL, sizeof(float), SB_FLOAT},
        {FORM_REAL, sizeof(double), SB_DOUBLE},
        {FORM_LONG_REAL, sizeof(long double), SB_LONG_DOUBLE},
        {FORM_COMPLEX, 2 * sizeof(float), SB_COMPLEX_FLOAT},
        {FORM_COMPLEX, 2 * sizeof(double), SB_COMPLEX_DOUBLE},
        {FORM_LONG_COMPLEX, 2 * sizeof(long double), SB_COMPLEX_LONG_DOUBLE},
        {FORM_PAIR_SHORT, sizeof(short) + sizeof(int), SB_PAIR_SHORT},
        {FORM_PAIR_INT, 2 * sizeof(int), SB_PAIR_INT},
        {FORM_PAIR_LONG, sizeof(long) + sizeof(int), SB_PAIR_LONG},
        {FORM_PAIR_FLOAT, sizeof(float) + sizeof(int), SB_PAIR_FLOAT},
        {FORM_PAIR_DOUBLE, sizeof(double) + sizeof(int), SB_PAIR_DOUBLE},
        {FORM_PAIR_LONG_DOUBLE, sizeof(long double) + sizeof(int), SB_PAIR_LONG_DOUBLE},
        {FORM_PAIR_2FLOAT, 2 * sizeof(float), SB_PAIR_2FLOAT},
        {FORM_PAIR_2DOUBLE, 2 * sizeof(double), SB_PAIR_2DOUBLE},
    };

    for (size_t i = 0; i < SB_COUNT_OF(elements); i++) {
        if (elements[i].form == form && elements[i].size == size)
            return elements[i].element;
    }
    return SB_NO_ELEMENT;
}

/* Types that this host was built without are the null type, or have no size. */
static void learn(MPI_Datatype type, sb_type_group_t group, form_t form)
{
    static uint8_t learned;
    MPI_Count size = 0;

    if (SB_HANDLE_BITS(type) == 0 || type == sb_host.datatype_null ||
        sb_host.Type_size_x(type, &size) != MPI_SUCCESS || size <= 0 ||
        sb_predefined_add(type) == NULL)
        return;
    /* Nobody else looks at the table yet. Two names may mean one type: the first one counts. */
    sb_type_t *description = &find(type)->description;
    if (description->group != SB_GROUP_NONE)
        return;
    description->group = group;
    description->number = ++learned;
    description->element = element_of(form, (size_t)size);
}

void sb_predefined_start(void)
{
#define SB_TYPE(name, group, form) learn(name, SB_GROUP_##group, FORM_##form);
#include "mpi/types.def"
#undef SB_TYPE
}
