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
    entry_t *entry = &table[sb_hash(SB_HANDLE_BITS(type)) % TABLE];

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
        .permanent = true,
        .layout = layout,
    };
    table_used++;
    /* Release: pairs with the loads in find() and sb_predefined_find(). */
    atomic_store_explicit(&entry->used, true, memory_order_release);
    return &entry->description;
}

/* The element from the first to the last that has this size; none: Sobor has no operators for it.
 */
static sb_element_t element_of(sb_element_t first, sb_element_t last, size_t size)
{
    for (sb_element_t element = first; element <= last; element++) {
        if (sb_element_bytes[element] == size)
            return element;
    }
    return SB_NO_ELEMENT;
}

/* Types that this host was built without are the null type, or have no size. */
static void learn(MPI_Datatype type, sb_type_group_t group, sb_element_t first, sb_element_t last)
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
    description->element = element_of(first, last, (size_t)size);
}

void sb_predefined_start(void)
{
#define SB_TYPE(name, group, first, last) learn(name, SB_GROUP_##group, SB_##first, SB_##last);
#include "mpi/types.def"
#undef SB_TYPE
}
