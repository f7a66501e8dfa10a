/* SPDX-License-Identifier: BSD-3-Clause */
/* Random reductions, each drawn from a seed and its number: operations on types they are defined
 * on, what the host accepts beyond that, and users' operations. Results are compared with what is
 * worked out here, exactly where arithmetic is exact, else within the bound of the rounding errors
 * against long double; and with what the host MPI's own function leaves. The bits of an inexact
 * result must be the same on every rank, for every root, at every address, and in repeated calls to
 * which ranks come at random times. What MPI calls insignificant is garbage; what a call must not
 * write stays as it was.
 *
 * usage: reductions --seed S --cases N [--first K] [--max-bytes B] [--only NAME] [--op NAME]
 *                   [--types beyond] */
#include "cases.h"

#include <complex.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 64, ELEMENT_MOST = 160, REPEATS = 20 };

enum which { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, WHICH };
enum entry { PROGRAM, PROGRAM_LARGE, HOST, ENTRIES };

static const char *const NAMES[WHICH] = {
    "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan",
};

static struct cases options = {.seed = 1, .cases = 100, .max_bytes = 16384, .comms = COMMS_SPLIT};

/* Whether Sobor serves it; else the host is tested: alone, or where all calls are left to it. */
static bool served[WHICH];

/* ---- operations ---- */

enum op {
    SUM,
    PROD,
    MIN,
    MAX,
    LAND,
    LOR,
    LXOR,
    BAND,
    BOR,
    BXOR,
    MINLOC,
    MAXLOC,
    PLUS,   /* users': commutative, on MPI_INT */
    WIDE,   /* commutative, on elements of 160 bytes */
    AFFINE, /* maps x -> ax + b, one after the other: not commutative */
    OPS
};

static const char *const OP_NAMES[OPS] = {
    "sum", "prod", "min",    "max",    "land", "lor",  "lxor",   "band",
    "bor", "bxor", "minloc", "maxloc", "plus", "wide", "affine",
};

static MPI_Op ops[OPS];

#define NUMERIC (1u << SUM | 1u << PROD | 1u << MIN | 1u << MAX)
#define LOGICAL_OPS (1u << LAND | 1u << LOR | 1u << LXOR)
#define BITWISE (1u << BAND | 1u << BOR | 1u << BXOR)
#define LOCATED (1u << MINLOC | 1u << MAXLOC)

/* ---- types ---- */

/* An element in memory is `type`; a op= b. */
typedef void combine_function(enum op op, void *a, const void *b);
/* Draws an element. */
typedef void draw_function(enum op op, void *at, uint64_t random);

#define INTEGER(name, type)                                                                        \
    static void combine_##name(enum op op, void *to, const void *from)                             \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        uint64_t x = (uint64_t)a, y = (uint64_t)b;                                                 \
        a = (type)(op == SUM    ? x + y                                                            \
                   : op == PROD ? x * y                                                            \
                   : op == MIN  ? (uint64_t)(a < b ? a : b)                                        \
                   : op == MAX  ? (uint64_t)(a > b ? a : b)                                        \
                   : op == LAND ? (uint64_t)(a && b)                                               \
                   : op == LOR  ? (uint64_t)(a || b)                                               \
                   : op == LXOR ? (uint64_t)(!a != !b)                                             \
                   : op == BAND ? (x & y)                                                          \
                   : op == BOR  ? (x | y)                                                          \
                                : (x ^ y));                                                         \
        memcpy(to, &a, sizeof a);                                                                  \
    }                                                                                              \
    static void draw_##name(enum op op, void *at, uint64_t random)                                 \
    {                                                                                              \
        type a = (type)random;                                                                     \
        if (1u << op & LOGICAL_OPS)                                                                \
            a = (type)(random % 3 == 0);                                                           \
        memcpy(at, &a, sizeof a);                                                                  \
    }                                                                                              \
    /* Sums have room: where they leave their type, hosts do not agree with themselves. */         \
    static void draw_beyond_##name(enum op op, void *at, uint64_t random)                          \
    {                                                                                              \
        type a = (type)random;                                                                     \
        draw_##name(op, at, random);                                                               \
        a = (type)(a / 16);                                                                        \
        if (op == SUM)                                                                             \
            memcpy(at, &a, sizeof a);                                                              \
    }

INTEGER(char, signed char)
INTEGER(short, short)
INTEGER(int, int)
INTEGER(long, long)
INTEGER(uchar, unsigned char)
INTEGER(ushort, unsigned short)
INTEGER(uint, unsigned)
INTEGER(ulong, unsigned long)

/* Sums and products of these are inexact: they are compared by what `get` takes apart. */
#define REAL(name, type)                                                                           \
    static void combine_##name(enum op op, void *to, const void *from)                             \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        a = (op == MIN ? b < a : b > a) ? b : a;                                                   \
        memcpy(to, &a, sizeof a);                                                                  \
    }                                                                                              \
    static void draw_##name(enum op op, void *at, uint64_t random)                                 \
    {                                                                                              \
        type a = (type)(random >> 11) / (type)((uint64_t)1 << 53);                                 \
        a = op == PROD ? a + (type)0.5 : op == SUM ? a - (type)0.5 : (type)(random % 7 + 1) / 3;   \
        memset(at, 0, sizeof a);                                                                   \
        memcpy(at, &a, sizeof(type) > 8 && LDBL_MANT_DIG == 64 ? 10 : sizeof a);                   \
    }                                                                                              \
    static long double _Complex get_##name(const void *at)                                         \
    {                                                                                              \
        type a;                                                                                    \
        memcpy(&a, at, sizeof a);                                                                  \
        return a;                                                                                  \
    }                                                                                              \
    static void draw_complex_##name(enum op op, void *at, uint64_t random)                         \
    {                                                                                              \
        draw_##name(op, at, random);                                                               \
        draw_##name(SUM, (char *)at + sizeof(type), mix(random, 1));                               \
    }                                                                                              \
    static long double _Complex get_complex_##name(const void *at)                                 \
    {                                                                                              \
        type a[2];                                                                                 \
        memcpy(a, at, sizeof a);                                                                   \
        return (long double)a[0] + (long double)a[1] * 1.0iL;                                      \
    }

REAL(float, float)
REAL(double, double)
REAL(long_double, long double)

#define PAIR(name, value_type, index_type)                                                         \
    struct pair_##name {                                                                           \
        value_type value;                                                                          \
        index_type index;                                                                          \
    };                                                                                             \
    static void combine_pair_##name(enum op op, void *to, const void *from)                        \
    {                                                                                              \
        struct pair_##name a, b;                                                                   \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        if ((op == MINLOC ? b.value < a.value : b.value > a.value) ||                              \
            (a.value == b.value && b.index < a.index))                                             \
            a = b;                                                                                 \
        memcpy(to, &a, sizeof a);                                                                  \
    }                                                                                              \
    static void draw_pair_##name(enum op op, void *at, uint64_t random)                            \
    {                                                                                              \
        value_type value = (value_type)(random % 3);                                               \
        index_type index = (index_type)(random / 3 % 100);                                         \
        (void)op;                                                                                  \
        memset(at, 0, sizeof value);                                                               \
        memcpy(at, &value, sizeof value > 8 && LDBL_MANT_DIG == 64 ? 10 : sizeof value);           \
        memcpy((char *)at + offsetof(struct pair_##name, index), &index, sizeof index);            \
    }

PAIR(short, short, int)
PAIR(int, int, int)
PAIR(long, long, int)
PAIR(float, float, int)
PAIR(double, double, int)
PAIR(long_double, long double, int)
PAIR(2float, float, float)
PAIR(2double, double, double)

/* Where the data of an element lies. */
struct place {
    size_t at;
    size_t bytes;
};

struct type {
    MPI_Datatype type;
    const char *name;
    unsigned ops;
    size_t extent;
    struct place places[2];
    combine_function *combine;
    draw_function *draw;
    long double _Complex (*get)(const void *at); /* inexact for sums and products */
    long double epsilon;
    bool padded;      /* bytes within a value mean nothing */
    unsigned doubted; /* operations that this host is known to get wrong */
    bool beyond;      /* MPI does not define the operations on it */
};

static struct type types[80];
static size_t type_count;

/*
 * Hosts are known that saturate sums of narrow numbers, or take unsigned ones for signed: their own
 * results are then not looked at.
 */
static bool host_is_wrong(const struct type *type, enum op op, MPI_Op handle)
{
    enum { MANY = 67 };
    static char left[MANY * 32], right[MANY * 32], expected[MANY * 32];
    int (*reduce_local)(const void *, void *, int, MPI_Datatype, MPI_Op) = NULL;
    bool wrong = false;
    *(void **)&reduce_local = host_function("PMPI_Reduce_local");
    for (size_t i = 0; i < MANY; i++) {
        type->draw(op, left + i * type->extent, mix(i, 1));
        type->draw(op, right + i * type->extent, mix(i, 2));
    }
    memcpy(expected, left, sizeof expected);
    for (size_t i = 0; i < MANY; i++)
        type->combine(op, expected + i * type->extent, right + i * type->extent);
    CALL(reduce_local(left, right, MANY, type->type, handle));
    for (size_t i = 0; i < MANY * type->extent; i += type->extent)
        wrong = wrong || memcmp(expected + i, right + i, type->places[0].bytes) != 0;
    return wrong;
}

static void add(struct type type)
{
    MPI_Aint lower, extent = 0;
    int size = 0;
    if (type.type == MPI_DATATYPE_NULL || MPI_Type_size(type.type, &size) != MPI_SUCCESS ||
        size <= 0)
        return;
    CALL(MPI_Type_get_extent(type.type, &lower, &extent));
    if ((size_t)extent != type.extent)
        return;
    for (int op = SUM; op < MINLOC && type.get == NULL; op++)
        if ((type.ops & 1u << op) && host_is_wrong(&type, (enum op)op, ops[op]))
            type.doubted |= 1u << op;
    types[type_count++] = type;
}

/* ---- what MPI does not define, and this host may know ---- */

static bool is_accepted(MPI_Datatype type, enum op op)
{
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm) = NULL;
    char from[32] = {0}, to[32];
    MPI_Comm self;
    *(void **)&allreduce = host_function("PMPI_Allreduce");
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &self));
    CALL(MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN));
    bool accepted = allreduce(from, to, 1, type, ops[op], self) == MPI_SUCCESS;
    CALL(MPI_Comm_free(&self));
    return accepted;
}

/* Whether the host's elements are signed or not, the host's own result says, for each operation. */
static void add_beyond(struct type type, combine_function *combine, draw_function *draw)
{
    struct type readings[] = {type, type};
    readings[1].combine = combine;
    readings[1].draw = draw;
    for (int op = SUM; op < MINLOC; op++) {
        bool open = (type.ops & 1u << op) && is_accepted(type.type, (enum op)op);
        for (int i = 0; i < 2; i++) {
            bool taken = open && !host_is_wrong(&readings[i], (enum op)op, ops[op]);
            readings[i].ops &= taken ? ~0u : ~(1u << op);
            open = open && !taken;
        }
    }
    for (int i = 0; i < 2; i++)
        if (readings[i].ops != 0)
            add(readings[i]);
}

#define WHOLE(type) .extent = sizeof(type), .places = {{0, sizeof(type)}}
#define ADD_INTEGER(mpi, c, function, allowed)                                                     \
    add((struct type){mpi, #mpi, allowed, WHOLE(c), combine_##function, draw_##function, NULL, 0,  \
                      false, 0})
#define ADD_BEYOND(mpi, c, allowed)                                                                \
    add_beyond((struct type){mpi, #mpi, allowed, WHOLE(c), combine_##c, draw_beyond_##c, NULL, 0,  \
                             false, 0, true},                                                      \
               combine_u##c, draw_beyond_u##c)
#define ADD_REAL(mpi, c, function, bits)                                                           \
    add((struct type){mpi, #mpi, NUMERIC, WHOLE(c), combine_##function, draw_##function,           \
                      get_##function, bits, sizeof(c) > 8, 0})
#define ADD_COMPLEX(mpi, c, function, bits)                                                        \
    add((struct type){mpi, #mpi, 1u << SUM | 1u << PROD, WHOLE(c[2]), NULL,                        \
                      draw_complex_##function, get_complex_##function, bits, sizeof(c) > 8, 0})
#define ADD_PAIR(mpi, function, value)                                                             \
    add((struct type){                                                                             \
        mpi,                                                                                       \
        #mpi,                                                                                      \
        LOCATED,                                                                                   \
        sizeof(struct pair_##function),                                                            \
        {{0, sizeof(value)},                                                                       \
         {offsetof(struct pair_##function, index), sizeof(((struct pair_##function *)0)->index)}}, \
        combine_pair_##function,                                                                   \
        draw_pair_##function,                                                                      \
        NULL,                                                                                      \
        0,                                                                                         \
        sizeof(value) > 8,                                                                         \
        0,                                                                                         \
        false})

static void add_integers(void)
{
    const unsigned c = NUMERIC | LOGICAL_OPS | BITWISE, other = NUMERIC | BITWISE;
    ADD_INTEGER(MPI_SIGNED_CHAR, signed char, char, c);
    ADD_INTEGER(MPI_SHORT, short, short, c);
    ADD_INTEGER(MPI_INT, int, int, c);
    ADD_INTEGER(MPI_LONG, long, long, c);
    ADD_INTEGER(MPI_LONG_LONG, long, long, c);
    ADD_INTEGER(MPI_UNSIGNED_CHAR, unsigned char, uchar, c);
    ADD_INTEGER(MPI_UNSIGNED_SHORT, unsigned short, ushort, c);
    ADD_INTEGER(MPI_UNSIGNED, unsigned, uint, c);
    ADD_INTEGER(MPI_UNSIGNED_LONG, unsigned long, ulong, c);
    ADD_INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long, ulong, c);
    ADD_INTEGER(MPI_INT8_T, signed char, char, c);
    ADD_INTEGER(MPI_INT16_T, short, short, c);
    ADD_INTEGER(MPI_INT32_T, int, int, c);
    ADD_INTEGER(MPI_INT64_T, long, long, c);
    ADD_INTEGER(MPI_UINT8_T, unsigned char, uchar, c);
    ADD_INTEGER(MPI_UINT16_T, unsigned short, ushort, c);
    ADD_INTEGER(MPI_UINT32_T, unsigned, uint, c);
    ADD_INTEGER(MPI_UINT64_T, unsigned long, ulong, c);
    ADD_INTEGER(MPI_AINT, long, long, other);
    ADD_INTEGER(MPI_OFFSET, long, long, other);
    ADD_INTEGER(MPI_COUNT, long, long, other);
    ADD_INTEGER(MPI_INTEGER, int, int, other);
    ADD_INTEGER(MPI_BYTE, unsigned char, uchar, BITWISE);
    ADD_INTEGER(MPI_C_BOOL, unsigned char, uchar, LOGICAL_OPS);
    ADD_INTEGER(MPI_LOGICAL, int, int, LOGICAL_OPS);
}

static void add_all_beyond(void)
{
    ADD_BEYOND(MPI_CHAR, char, NUMERIC | LOGICAL_OPS | BITWISE);
    ADD_BEYOND(MPI_CHARACTER, char, NUMERIC | LOGICAL_OPS | BITWISE);
    ADD_BEYOND(MPI_BYTE, char, NUMERIC | LOGICAL_OPS);
    ADD_BEYOND(MPI_AINT, long, LOGICAL_OPS);
    ADD_BEYOND(MPI_OFFSET, long, LOGICAL_OPS);
    ADD_BEYOND(MPI_COUNT, long, LOGICAL_OPS);
    ADD_BEYOND(MPI_INTEGER, int, LOGICAL_OPS);
    ADD_BEYOND(MPI_INTEGER1, char, LOGICAL_OPS);
    ADD_BEYOND(MPI_INTEGER2, short, LOGICAL_OPS);
    ADD_BEYOND(MPI_INTEGER8, long, LOGICAL_OPS);
#if defined(MPI_LOGICAL1)
    ADD_BEYOND(MPI_LOGICAL1, char, NUMERIC | BITWISE);
#endif
#if defined(MPI_LOGICAL2)
    ADD_BEYOND(MPI_LOGICAL2, short, NUMERIC | BITWISE);
#endif
#if defined(MPI_LOGICAL8)
    ADD_BEYOND(MPI_LOGICAL8, long, NUMERIC | BITWISE);
#endif
}

static void add_others(void)
{
    ADD_REAL(MPI_FLOAT, float, float, FLT_EPSILON);
    ADD_REAL(MPI_DOUBLE, double, double, DBL_EPSILON);
    ADD_REAL(MPI_LONG_DOUBLE, long double, long_double, LDBL_EPSILON);
    ADD_REAL(MPI_REAL, float, float, FLT_EPSILON);
    ADD_REAL(MPI_DOUBLE_PRECISION, double, double, DBL_EPSILON);
    ADD_COMPLEX(MPI_C_FLOAT_COMPLEX, float, float, FLT_EPSILON);
    ADD_COMPLEX(MPI_C_DOUBLE_COMPLEX, double, double, DBL_EPSILON);
    ADD_COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, long double, long_double, LDBL_EPSILON);
    ADD_COMPLEX(MPI_COMPLEX, float, float, FLT_EPSILON);
    ADD_COMPLEX(MPI_DOUBLE_COMPLEX, double, double, DBL_EPSILON);
    ADD_PAIR(MPI_SHORT_INT, short, short);
    ADD_PAIR(MPI_2INT, int, int);
    ADD_PAIR(MPI_LONG_INT, long, long);
    ADD_PAIR(MPI_FLOAT_INT, float, float);
    ADD_PAIR(MPI_DOUBLE_INT, double, double);
    ADD_PAIR(MPI_LONG_DOUBLE_INT, long_double, long double);
    ADD_PAIR(MPI_2INTEGER, int, int);
    ADD_PAIR(MPI_2REAL, 2float, float);
    ADD_PAIR(MPI_2DOUBLE_PRECISION, 2double, double);
}

/* ---- users' operations ---- */

static void combine_plus(enum op op, void *to, const void *from)
{
    (void)op;
    combine_uint(SUM, to, from);
}

static void combine_wide(enum op op, void *to, const void *from)
{
    (void)op;
    for (size_t i = 0; i < ELEMENT_MOST; i += 8)
        combine_ulong(SUM, (char *)to + i, (const char *)from + i);
}

static void draw_wide(enum op op, void *at, uint64_t random)
{
    (void)op;
    for (size_t i = 0; i < ELEMENT_MOST; i += 8)
        draw_ulong(SUM, (char *)at + i, mix(random, i));
}

/* Where a and b of an affine map lie here: it may be another place on each rank. */
enum affine_kind {
    AFFINE_PLAIN,
    AFFINE_GAPS,
    AFFINE_SWAPPED,
    AFFINE_LOWER,
    AFFINE_WIDE, /* most of it is a gap at its end */
    AFFINE_KINDS
};

static const struct {
    MPI_Aint at[2];
    MPI_Aint lower;
    MPI_Aint extent;
} AFFINES[AFFINE_KINDS] = {
    {{0, 8}, 0, 16}, {{0, 16}, 0, 32}, {{8, 0}, 0, 16}, {{8, 24}, -8, 40}, {{0, 8}, 0, 144}};

static enum affine_kind affine_kind;
static MPI_Datatype affine_types[AFFINE_KINDS], wide_type;

/* The user's function was given operands that share memory, with their gaps. */
static bool overlapped;

/* First a, then b: b after a. */
static void combine_affine_at(enum affine_kind kind, void *to, const void *from, void *result)
{
    uint64_t first[2], second[2];
    for (int i = 0; i < 2; i++) {
        memcpy(&first[i], (char *)to + AFFINES[kind].at[i], 8);
        memcpy(&second[i], (const char *)from + AFFINES[kind].at[i], 8);
    }
    uint64_t map[2] = {first[0] * second[0], second[0] * first[1] + second[1]};
    for (int i = 0; i < 2; i++)
        memcpy((char *)result + AFFINES[kind].at[i], &map[i], 8);
}

static void combine_affine(enum op op, void *to, const void *from)
{
    (void)op;
    combine_affine_at(affine_kind, to, from, to);
}

static void draw_affine(enum op op, void *at, uint64_t random)
{
    uint64_t map[2] = {random | 1, mix(random, 7)};
    (void)op;
    for (int i = 0; i < 2; i++)
        memcpy((char *)at + AFFINES[affine_kind].at[i], &map[i], 8);
}

static void user_plus(void *in, void *inout, int *count, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT, "the user's function gets another type");
    for (int i = 0; i < *count; i++)
        combine_plus(PLUS, (int *)inout + i, (int *)in + i);
}

static void user_wide(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count * ELEMENT_MOST; i += ELEMENT_MOST)
        combine_wide(WIDE, (char *)inout + i, (char *)in + i);
}

/* A function may move whole structures. In Open MPI's own calls the last one's end has no room. */
static void combine_whole(char *in, char *inout)
{
    char result[ELEMENT_MOST];
    size_t bytes = (size_t)AFFINES[AFFINE_WIDE].extent;
    memcpy(result, in, bytes);
    combine_affine_at(AFFINE_WIDE, in, inout, result);
    memcpy(inout, result, bytes);
}

static bool moves_whole(void)
{
#if defined(MPICH_NUMVERSION)
    return affine_kind == AFFINE_WIDE;
#else
    return false;
#endif
}

static void user_affine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint extent = AFFINES[affine_kind].extent, bytes = *count * extent;
    (void)type;
    overlapped = overlapped || llabs((char *)inout - (char *)in) < bytes;
    for (MPI_Aint at = bytes - extent; at >= 0; at -= extent) {
        char *left = (char *)in + at, *right = (char *)inout + at;
        if (moves_whole())
            combine_whole(left, right);
        else
            combine_affine_at(affine_kind, left, right, right);
    }
}

static MPI_Datatype make_affine(enum affine_kind kind)
{
    const int one[2] = {1, 1};
    const MPI_Datatype parts[2] = {MPI_UINT64_T, MPI_UINT64_T};
    MPI_Datatype inner, type;
    CALL(MPI_Type_create_struct(2, one, AFFINES[kind].at, parts, &inner));
    CALL(MPI_Type_create_resized(inner, AFFINES[kind].lower, AFFINES[kind].extent, &type));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Type_free(&inner));
    return type;
}

static void create_all(void)
{
    const MPI_Op known[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                            MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    memcpy(ops, known, sizeof known);
    CALL(MPI_Op_create(user_plus, 1, &ops[PLUS]));
    CALL(MPI_Op_create(user_wide, 1, &ops[WIDE]));
    CALL(MPI_Op_create(user_affine, 0, &ops[AFFINE]));
    for (int kind = 0; kind < AFFINE_KINDS; kind++)
        affine_types[kind] = make_affine((enum affine_kind)kind);
    CALL(MPI_Type_contiguous(ELEMENT_MOST / 8, MPI_UINT64_T, &wide_type));
    CALL(MPI_Type_commit(&wide_type));
    add_integers();
    add_others();
    add_all_beyond();
}

static void free_all(void)
{
    for (int op = PLUS; op < OPS; op++)
        CALL(MPI_Op_free(&ops[op]));
    for (int kind = 0; kind < AFFINE_KINDS; kind++)
        CALL(MPI_Type_free(&affine_types[kind]));
    CALL(MPI_Type_free(&wide_type));
}

/* ---- what is drawn ---- */

struct draw {
    long number;
    enum which which;
    enum entry entry;
    enum op op;
    struct type type;
    int comm;
    int root;
    bool in_place;
    bool repeats;
    bool uneven; /* counts of reduce_scatter */
    bool mixed;  /* layouts differ between ranks */
    bool doubted;
    size_t base; /* elements of a contribution, or of a part */
    size_t shift;
    uint64_t data;
    int late_rank;
};

static size_t find(const char *wanted, const char *const *names, size_t count, size_t otherwise)
{
    for (size_t i = 0; wanted != NULL && i < count; i++)
        if (strcmp(wanted, names[i]) == 0)
            return i;
    return otherwise;
}

static bool is_drawn_from(const struct type *type, enum op op)
{
    return (type->ops & 1u << op) != 0 && (options.types == NULL || type->beyond);
}

static struct type draw_type(struct draw *draw, uint64_t *random)
{
    size_t pick = random_below(random, type_count);
    uint64_t mine = draw->data + (uint64_t)rank_of(MPI_COMM_WORLD);
    if (draw->op == PLUS)
        return (struct type){MPI_INT,   "MPI_INT", 0, WHOLE(int), combine_plus,
                             draw_uint, NULL,      0, false,      0};
    if (draw->op == WIDE)
        return (struct type){wide_type,    "wide",    0,    WHOLE(char[ELEMENT_MOST]),
                             combine_wide, draw_wide, NULL, 0,
                             false,        0};
    while (draw->op < PLUS && !is_drawn_from(&types[pick], draw->op))
        pick = (pick + 1) % type_count;
    if (draw->op < PLUS)
        return types[pick];
    affine_kind = (enum affine_kind)(mix(draw->mixed ? mine : draw->data, 3) % AFFINE_KINDS);
    return (struct type){
        affine_types[affine_kind],
        "affine",
        0,
        (size_t)AFFINES[affine_kind].extent,
        {{(size_t)AFFINES[affine_kind].at[0], 8}, {(size_t)AFFINES[affine_kind].at[1], 8}},
        combine_affine,
        draw_affine,
        NULL,
        0,
        false,
        0,
        false};
}

/* The same on every rank, but for the layout of affine maps. */
static struct draw draw_case(long number)
{
    uint64_t random = mix(options.seed ^ 0x4ed, (uint64_t)number);
    int size = size_of(MPI_COMM_WORLD);
    struct draw draw = {.number = number};
    draw.which = (enum which)find(options.only, NAMES, WHICH, random_below(&random, WHICH));
    draw.entry = random_below(&random, 2) == 0 ? PROGRAM : PROGRAM_LARGE;
    draw.op = (enum op)find(options.op, OP_NAMES, OPS,
                            random_below(&random, options.types == NULL ? OPS : MINLOC));
    draw.comm = (int)random_below(&random, COMMS_SPLIT);
    draw.root = (int)random_below(&random, 1 << 20);
    draw.in_place = random_below(&random, 4) == 0;
    draw.repeats = random_below(&random, 40) == 0;
    draw.uneven = random_below(&random, 2) == 0;
    draw.mixed = random_below(&random, 2) == 0 && served[draw.which];
    draw.shift = random_below(&random, 2) == 0 ? 0 : random_below(&random, 16);
    draw.data = next_random(&random);
    draw.late_rank = random_below(&random, 40) == 0 ? (int)random_below(&random, (size_t)size) : -1;
    size_t bytes = cases_bytes(&options, &random);
    draw.type = draw_type(&draw, &random);
    draw.doubted = draw.type.doubted & 1u << draw.op;
    draw.base = bytes / (draw.op == AFFINE ? 16 : draw.type.extent);
    return draw;
}

/* ---- one case ---- */

struct call {
    struct draw draw;
    MPI_Comm comm;
    int rank;
    int size;
    int root;
    int *counts;     /* of each rank's part */
    size_t elements; /* of a contribution */
    size_t first;    /* of the result, among them */
    size_t received; /* elements of the result */
    int until;       /* the result is that of ranks before this one */
    bool in_place;
    size_t bytes; /* of each of these memories */
    char *out;
    char *in;
    char *before;   /* what `in` was */
    char *expected; /* the elements of the result, where it is exact */
};

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes > 0 ? bytes : 1, 1);
    CHECK(memory != NULL, "no memory for %zu bytes", bytes);
    return memory;
}

static char *origin(const struct call *call, char *memory)
{
    return memory + MARGIN + call->draw.shift;
}

static void draw_element(const struct call *call, char *at, int rank, size_t i)
{
    call->draw.type.draw(call->draw.op, at, mix(call->draw.data, ((uint64_t)rank << 32) + i));
}

/* The parts of reduce_scatter: equal, or some of them empty. */
static void lay_out(struct call *call)
{
    const struct draw *draw = &call->draw;
    bool deals = draw->which == REDUCE_SCATTER || draw->which == REDUCE_SCATTER_BLOCK;
    size_t part = deals ? draw->base / (size_t)call->size : draw->base;
    call->counts = allocate((size_t)call->size * sizeof *call->counts);
    call->elements = deals ? 0 : draw->base;
    for (int i = 0; i < call->size && deals; i++) {
        bool uneven = draw->which == REDUCE_SCATTER && draw->uneven;
        call->counts[i] = (int)(uneven ? mix(draw->data, 50 + (uint64_t)i) % (2 * part + 2) : part);
        call->counts[i] = uneven && i % 3 == 1 ? 0 : call->counts[i];
        call->first += i < call->rank ? (size_t)call->counts[i] : 0;
        call->elements += (size_t)call->counts[i];
    }
    call->received = deals ? (size_t)call->counts[call->rank] : draw->base;
    call->until = draw->which == SCAN     ? call->rank + 1
                  : draw->which == EXSCAN ? call->rank
                                          : call->size;
    call->in_place = draw->in_place;
    if (draw->which == REDUCE && call->rank != call->root) {
        call->in_place = false;
        call->received = 0;
    }
    if (draw->which == EXSCAN && call->rank == 0)
        call->received = 0;
    call->bytes = 2 * MARGIN + 16 + call->elements * draw->type.extent;
}

static void work_out(const struct call *call)
{
    size_t extent = call->draw.type.extent;
    char other[ELEMENT_MOST];
    if (call->draw.type.combine == NULL)
        return;
    for (size_t i = 0; i < call->received; i++) {
        char *at = call->expected + i * extent;
        draw_element(call, at, 0, call->first + i);
        for (int rank = 1; rank < call->until; rank++) {
            draw_element(call, other, rank, call->first + i);
            call->draw.type.combine(call->draw.op, at, other);
        }
    }
}

static void prepare(struct call *call)
{
    char *given = origin(call, call->in_place ? call->in : call->out);
    fill(call->out, call->bytes, call->draw.data + 1);
    fill(call->in, call->bytes, call->draw.data + 2);
    for (size_t i = 0; i < call->elements; i++)
        draw_element(call, given + i * call->draw.type.extent, call->rank, i);
    memcpy(call->before, call->in, call->bytes);
}

/* ---- calling ---- */

typedef int plain(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int plain_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int dealt(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int dealt_c(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int rooted(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
typedef int rooted_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);

static void *functions[ENTRIES][WHICH];

static void find_functions(void)
{
    for (int which = 0; which < WHICH; which++) {
        char name[48];
        snprintf(name, sizeof name, "PMPI_%s", NAMES[which]);
        functions[HOST][which] = host_function(name);
        functions[PROGRAM][which] = dlsym(RTLD_DEFAULT, name + 1);
        snprintf(name, sizeof name, "MPI_%s_c", NAMES[which]);
        functions[PROGRAM_LARGE][which] = dlsym(RTLD_DEFAULT, name);
        CHECK(functions[PROGRAM][which] != NULL, "no MPI_%s", NAMES[which]);
    }
}

static int call_large(const struct call *call, const void *out, void *in, int count)
{
    enum which which = call->draw.which;
    void *function = functions[PROGRAM_LARGE][which];
    MPI_Datatype type = call->draw.type.type;
    MPI_Op op = ops[call->draw.op];
    if (which == REDUCE)
        return ((rooted_c *)function)(out, in, count, type, op, call->root, call->comm);
    if (which != REDUCE_SCATTER)
        return ((plain_c *)function)(out, in, count, type, op, call->comm);
    MPI_Count *counts = allocate((size_t)call->size * sizeof *counts);
    for (int i = 0; i < call->size; i++)
        counts[i] = call->counts[i];
    int status = ((dealt_c *)function)(out, in, counts, type, op, call->comm);
    free(counts);
    return status;
}

static int call_by(const struct call *call, enum entry entry)
{
    enum which which = call->draw.which;
    bool receives = which != REDUCE || call->rank == call->root;
    void *in = receives ? origin(call, call->in) : (void *)16;
    const void *out = call->in_place ? MPI_IN_PLACE : origin(call, call->out);
    int count = which == REDUCE_SCATTER_BLOCK ? call->counts[0] : (int)call->elements;
    MPI_Datatype type = call->draw.type.type;
    MPI_Op op = ops[call->draw.op];
    if (entry == PROGRAM_LARGE && functions[PROGRAM_LARGE][which] != NULL)
        return call_large(call, out, in, count);
    void *function = functions[entry == HOST ? HOST : PROGRAM][which];
    if (which == REDUCE)
        return ((rooted *)function)(out, in, count, type, op, call->root, call->comm);
    if (which == REDUCE_SCATTER)
        return ((dealt *)function)(out, in, call->counts, type, op, call->comm);
    return ((plain *)function)(out, in, count, type, op, call->comm);
}

/* Whether Sobor served this rank's last call; all ranks of the call know alike. */
static bool was_served(void)
{
    static const char *(*last)(void);
    if (last == NULL)
        last = (const char *(*)(void))dlsym(RTLD_DEFAULT, "sobor_last_algorithm");
    const char *name = last == NULL ? NULL : last();
    return name != NULL && strcmp(name, "host") != 0;
}

/* One small call tells. Collective. */
static bool serves(MPI_Comm comm, enum which which)
{
    struct call call = {
        .comm = comm,
        .rank = rank_of(comm),
        .size = size_of(comm),
        .draw = {.which = which,
                 .op = SUM,
                 .type = {.type = MPI_INT, .extent = sizeof(int)},
                 .base = (size_t)size_of(comm)},
    };
    lay_out(&call);
    call.out = allocate(call.bytes);
    call.in = allocate(call.bytes);
    CALL(call_by(&call, PROGRAM));
    free(call.counts);
    free(call.out);
    free(call.in);
    return was_served();
}

/* ---- comparing ---- */

static void fail(const struct call *call, const char *what, size_t place)
{
    const struct draw *draw = &call->draw;
    test_fail(
        __FILE__, __LINE__,
        "MPI_%s, %s on %s: %s: %zu; comm %d, rank %d of %d, root %d, %zu elements, in place "
        "%d, shift %zu; replay: --seed %llu --first %ld --cases 1 --max-bytes %zu%s%s%s%s%s%s",
        NAMES[draw->which], OP_NAMES[draw->op], draw->type.name, what, place, draw->comm,
        call->rank, call->size, call->root, call->elements, call->in_place, draw->shift,
        (unsigned long long)options.seed, draw->number, options.max_bytes,
        options.only ? " --only " : "", options.only ? options.only : "",
        options.op ? " --op " : "", options.op ? options.op : "", options.types ? " --types " : "",
        options.types ? options.types : "");
}

static bool is_inexact(const struct draw *draw)
{
    return draw->type.get != NULL && (draw->op == SUM || draw->op == PROD);
}

/* Whether an element lies within the bound of the rounding errors of any order of combination. */
static bool is_near(const struct call *call, const char *at, size_t i)
{
    const struct type *type = &call->draw.type;
    bool sum = call->draw.op == SUM;
    long double _Complex right = sum ? 0 : 1;
    long double size = 0;
    char other[ELEMENT_MOST];
    for (int rank = 0; rank < call->until; rank++) {
        draw_element(call, other, rank, i);
        long double _Complex value = type->get(other);
        right = sum ? right + value : right * value;
        size += cabsl(value);
    }
    size = sum ? size : cabsl(right);
    return cabsl(type->get(at) - right) <= 8 * call->until * type->epsilon * size;
}

static void compare_result(const struct call *call, const char *what)
{
    const struct type *type = &call->draw.type;
    const char *result = origin(call, call->in);
    for (size_t i = 0; i < call->received; i++) {
        const char *at = result + i * type->extent, *right = call->expected + i * type->extent;
        if (is_inexact(&call->draw)) {
            if (!is_near(call, at, call->first + i))
                fail(call, what, i);
            continue;
        }
        for (int p = 0; p < 2; p++) {
            size_t bytes = type->places[p].bytes;
            bytes = type->padded && p == 0 && bytes == 16 && LDBL_MANT_DIG == 64 ? 10 : bytes;
            if (memcmp(at + type->places[p].at, right + type->places[p].at, bytes) != 0)
                fail(call, what, i);
        }
    }
}

static bool is_data(const struct call *call, size_t byte)
{
    size_t start = MARGIN + call->draw.shift, extent = call->draw.type.extent;
    if (byte < start || byte >= start + call->received * extent)
        return false;
    size_t at = (byte - start) % extent;
    for (int p = 0; p < 2; p++)
        if (at >= call->draw.type.places[p].at &&
            at < call->draw.type.places[p].at + call->draw.type.places[p].bytes)
            return true;
    return false;
}

/* What is no result stays as it was; in place of a reduce_scatter the rest is nobody's. */
static void compare_rest(const struct call *call)
{
    size_t start = MARGIN + call->draw.shift, extent = call->draw.type.extent;
    for (size_t i = 0; i < call->bytes; i++) {
        bool inside = i >= start && i < start + call->elements * extent;
        if (call->in[i] != call->before[i] && !is_data(call, i) && !(call->in_place && inside))
            fail(call, "wrote where it must not, byte", i);
    }
}

/* The result of every rank that has one, if it is the same for all, as the first has it. */
static void compare_ranks(const struct call *call, const char *what)
{
    size_t bytes = call->elements * call->draw.type.extent;
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm) = NULL;
    if (call->draw.which != ALLREDUCE)
        return;
    char *other = allocate(bytes);
    *(void **)&bcast = host_function("PMPI_Bcast");
    memcpy(other, origin(call, call->in), bytes);
    CALL(bcast(other, (int)bytes, MPI_BYTE, 0, call->comm));
    if (memcmp(other, origin(call, call->in), bytes) != 0)
        fail(call, what, 0);
    free(other);
}

/* The same contributions again and again: at other addresses, for other roots, in any order of
 * arrival. The bits must stay. */
static void repeat(struct call *call)
{
    size_t bytes = call->received * call->draw.type.extent;
    uint64_t random = mix(call->draw.data, 400 + (uint64_t)call->rank);
    char *kept = allocate(bytes);
    int root = call->root;
    bool in_place = call->in_place;
    memcpy(kept, origin(call, call->in), bytes);
    for (int i = 0; i < REPEATS; i++) {
        call->root = call->draw.which == REDUCE ? (root + i) % call->size : root;
        call->in_place = in_place && (call->draw.which != REDUCE || call->rank == call->root);
        call->draw.shift = random_below(&random, 16);
        prepare(call);
        if (random_below(&random, 3) == 0)
            sleep_ms(1);
        CALL(call_by(call, PROGRAM));
        if (call->root == root && memcmp(kept, origin(call, call->in), bytes) != 0)
            fail(call, "other bits in repetition", (size_t)i);
    }
    free(kept);
    call->root = root;
    call->in_place = in_place;
}

/* ---- all of it ---- */

/* For another root the bits are those of the first. */
static void compare_roots(struct call *call)
{
    size_t bytes = call->elements * call->draw.type.extent;
    int root = call->root, next = (root + 1) % call->size;
    bool in_place = call->in_place;
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm) = NULL;
    char *kept = allocate(bytes);
    *(void **)&bcast = host_function("PMPI_Bcast");
    memcpy(kept, origin(call, call->in), bytes);
    CALL(bcast(kept, (int)bytes, MPI_BYTE, root, call->comm));
    call->root = next;
    call->in_place = false;
    prepare(call);
    CALL(call_by(call, PROGRAM));
    if (call->rank == next && memcmp(kept, origin(call, call->in), bytes) != 0)
        fail(call, "other bits at another root", 0);
    call->root = root;
    call->in_place = in_place;
    free(kept);
}

/* The host alone promises less, and has communicators of one rank on each node. */
static void check_bits(struct call *call, bool by_sobor)
{
    if (!by_sobor || !is_inexact(&call->draw))
        return;
    compare_ranks(call, "bits differ from rank 0's");
    if (call->draw.which == REDUCE && !call->draw.repeats)
        compare_roots(call);
    if (call->draw.repeats)
        repeat(call);
}

/* What this host is known to get wrong, or not to survive. */
static bool is_beyond_host(const struct call *call)
{
    const struct draw *draw = &call->draw;
#if defined(MPICH_NUMVERSION)
    if (draw->which == REDUCE && draw->in_place && call->root != 0)
        return true;
    if (draw->op == AFFINE &&
        (draw->which == REDUCE_SCATTER || draw->which == REDUCE_SCATTER_BLOCK))
        return true;
#endif
    return draw->doubted || (draw->op == AFFINE && draw->mixed);
}

static void run_case(long number, MPI_Comm const *comms)
{
    struct call call = {.draw = draw_case(number)};
    call.comm = comms[call.draw.comm];
    if (call.draw.late_rank == rank_of(MPI_COMM_WORLD))
        sleep_ms(1);
    if (call.comm == MPI_COMM_NULL)
        return;
    call.rank = rank_of(call.comm);
    call.size = size_of(call.comm);
    call.root = call.draw.root % call.size;
    bool beyond = is_beyond_host(&call);
    /* Between nodes the host has communicators of one rank on each, whatever Sobor serves else. */
    if (beyond && (call.size == 1 || call.draw.op == WIDE || !serves(call.comm, call.draw.which)))
        return;
    lay_out(&call);
    call.out = allocate(call.bytes);
    call.in = allocate(call.bytes);
    call.before = allocate(call.bytes);
    call.expected = allocate(call.bytes);
    work_out(&call);
    prepare(&call);
    overlapped = false;
    CALL(call_by(&call, call.draw.entry));
    bool by_sobor = was_served();
    if (by_sobor && overlapped)
        fail(&call, "the user's function has operands that overlap", 0);
    if (by_sobor || !beyond)
        compare_result(&call, "differs from what must be there");
    if (by_sobor && !call.draw.type.padded)
        compare_rest(&call);
    check_bits(&call, by_sobor);
    if (!beyond) {
        prepare(&call);
        CALL(call_by(&call, HOST));
        compare_result(&call, "the host's own result differs");
    }
    free(call.counts);
    free(call.out);
    free(call.in);
    free(call.before);
    free(call.expected);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    cases_parse(&options, argc, argv);
    find_functions();
    create_all();
    for (int which = 0; which < WHICH; which++)
        served[which] = serves(MPI_COMM_WORLD, (enum which)which);
    cases_run(&options, run_case);
    free_all();
    return test_end();
}
