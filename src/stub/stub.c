/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The preloaded object. It depends on libc alone, so it is safe in any process: a shell, Python
 * without MPI, a launcher. It exports MPI_X and PMPI_X for each function of functions.def as a
 * trampoline that jumps through a table; arguments are not touched, so no MPI's header is needed.
 *
 * The first call through a trampoline finds the MPI that this process uses, starting from the
 * object that called, and loads the back end for its ABI from this object's own folder. If there is
 * none the trampolines lead to the MPI itself (narrow.h: where that lacks one).
 *
 * A second object of this source, for profiles, also counts the calls of what Sobor does not stand
 * in for (base/counted.def), and passes them on.
 *
 * MPI_X leads to a profiling tool's MPI_X where the process has one behind this object; the tool's
 * call of PMPI_X then arrives here. So Sobor sits below profiling tools, whatever the order.
 */
#include "base/collectives.h"
#include "base/compiler.h"
#include "base/forms.h"
#include "base/pages.h"
#include "stub/complain.h"
#include "stub/narrow.h"

#include <sobor/sobor.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define SB_FUNCTION(name) #name,
#include "base/functions.def"
#ifdef SB_COUNTING
#define SB_FUNCTION(name) #name,
#include "base/counted.def"
#endif
};

#define FUNCTIONS SB_COUNT_OF(names)

/* Where the trampolines lead: MPI_X in the first half, PMPI_X in the second. NULL: not known yet.
 */
__attribute__((visibility("hidden"))) void *sb_stub_targets[2 * FUNCTIONS];

#ifdef SB_COUNTING
/* Of each trampoline, in the order of the targets. */
__attribute__((visibility("hidden"))) uint64_t sb_stub_counts[2 * FUNCTIONS];
#endif

/* Called by the trampolines; returns the target. */
__attribute__((visibility("hidden"))) void *sb_stub_resolve(size_t index, void *caller);

/* The back end's side. */
typedef int start_function_t(void *libmpi);
typedef void *function_function_t(const char *name);
typedef const char *last_function_t(void);
typedef void counters_function_t(uint64_t counters[3]);
typedef int node_function_t(uint32_t node[3]);
typedef void *around_function_t(const char *name, void *tool);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *libmpi;
static function_function_t *backend_function;
static around_function_t *backend_around;
static last_function_t *backend_last;
static counters_function_t *backend_counters;
static node_function_t *backend_node;

static bool is_own(const void *address)
{
    Dl_info theirs, ours;

    return dladdr(address, &theirs) && dladdr((void *)(uintptr_t)sb_stub_resolve, &ours) &&
           theirs.dli_fbase == ours.dli_fbase;
}

/* In every MPI, and never in this object. */
#define MARK "PMPI_Initialized"

static void *find_in(void *handle)
{
    void *found = handle == NULL ? NULL : dlsym(handle, MARK);

    return found != NULL && !is_own(found) ? found : NULL;
}

/* The program itself has the empty name: its scope is what RTLD_NEXT searches. */
static void *find_in_object(const struct link_map *map)
{
    void *handle = map->l_name[0] != '\0' ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = find_in(handle);

    if (handle != NULL)
        dlclose(handle);
    return found;
}

static void *find_by_caller(void *caller)
{
    Dl_info info;
    struct link_map *map = NULL;

    return dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map != NULL
               ? find_in_object(map)
               : NULL;
}

/* A library that was loaded apart from the program, by dlopen. */
static void *find_in_any_object(void)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    struct link_map *map = NULL;
    void *found = NULL;

    if (self == NULL || dlinfo(self, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    for (; map != NULL && found == NULL; map = map->l_next)
        found = find_in_object(map);
    dlclose(self);
    return found;
}

static void find_libmpi(void *caller)
{
    Dl_info info;
    void *mark = find_by_caller(caller);

    if (mark == NULL)
        mark = find_in(RTLD_NEXT);
    if (mark == NULL)
        mark = find_in_any_object();
    if (mark != NULL && dladdr(mark, &info))
        libmpi = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* Every family of MPI libraries has its mark; see the documentation, "How it works". NULL: it is of
 * none of them, with handles and constants that no back end knows. */
static const char *family(void)
{
    int major = -1, minor = -1;
    int (*abi_version)(int *, int *) =
        (int (*)(int *, int *))(uintptr_t)dlsym(libmpi, "MPI_Abi_get_version");

    if (dlsym(libmpi, "ompi_mpi_comm_world") != NULL)
        return "ompi40";
    if (abi_version != NULL && abi_version(&major, &minor) == 0 && major > 0)
        return "mpiabi1";
    return dlsym(libmpi, "MPIR_Dup_fn") != NULL ? "mpich12" : NULL;
}

#define TUNING_MOST ((size_t)1 << 20)

/* The text of the file of rules, which the back end will judge; NULL: there is none. */
static char *tuning_text(void)
{
    const char *path = getenv("SOBOR_TUNING");
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    char *text = file == NULL ? NULL : sb_pages_take(TUNING_MOST);

    if (text != NULL)
        text[fread(text, 1, TUNING_MOST - 1, file)] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

/* The brace that encloses this place, by steps of so much; or the text's end on that side. */
static const char *enclosing(const char *begin, const char *at, int step, char outer, char inner)
{
    size_t depth = 0;

    for (at += step; at > begin && *at != '\0'; at += step) {
        if (*at == outer && depth == 0)
            return at;
        depth += *at == inner ? 1 : *at == outer ? (size_t)-1 : 0;
    }
    return at;
}

/* Whether a word in quotes is what a rule of this collective has under "algorithm": other
 * collectives have algorithms of the same name, and rules have other words. */
static bool is_rule(const char *rules, const char *word, const char *collective)
{
    static const char key[] = "\"algorithm\"";
    const char *open = enclosing(rules, word, -1, '{', '}');
    const char *close = enclosing(rules, word, 1, '}', '{');
    const char *name = strstr(open, collective);
    const char *before = word;

    while (before > rules && strchr(" \t\r\n:", before[-1]) != NULL)
        before--;
    size_t length = sizeof key - 1;
    return name != NULL && name < close && (size_t)(before - rules) >= length &&
           strncmp(before - length, key, length) == 0;
}

static bool has_rule(const char *rules, const char *collective, const char *quoted)
{
    for (const char *at = rules; at != NULL && (at = strstr(at, quoted)) != NULL; at++) {
        if (is_rule(rules, at, collective))
            return true;
    }
    return false;
}

/* SOBOR_CLUSTER_BCAST names what is in those back ends alone: all that it may, but for one form. */
static bool wants_form(void)
{
    static const char *const forms[] = {"p", "cp",
#define SB_FORM_NAME(symbol, name) name,
                                        SB_EACH_FORM(SB_FORM_NAME)
#undef SB_FORM_NAME
    };
    const char *wish = getenv("SOBOR_CLUSTER_BCAST");
    bool wanted = false;

    for (size_t i = 0; wish != NULL && strcmp(wish, "cp-chain") != 0 && i < SB_COUNT_OF(forms); i++)
        wanted = wanted || strcmp(wish, forms[i]) == 0;
    return wanted;
}

/* A variable, or a rule, names an algorithm that only the back ends with the baselines have. */
static bool wants_baselines(void)
{
    static const char *const variables[SB_COLLECTIVES] = {
#define SB_VARIABLE_OF(enumerator, name, function) "SOBOR_" #enumerator "_ALGORITHM",
        SB_EACH_COLLECTIVE(SB_VARIABLE_OF)
#undef SB_VARIABLE_OF
    };
    enum {
#define SB_PLACE_OF(enumerator, name, function) of_##name = SB_##enumerator,
        SB_EACH_COLLECTIVE(SB_PLACE_OF)
#undef SB_PLACE_OF
    };
    static const struct {
        uint32_t collective;
        const char *of, *quoted;
    } baselines[] = {
#define SB_BASELINE(collective, name, text)                                                        \
    {of_##collective, "\"" #collective "\"", "\"" text "\""},
#include "base/baselines.def"
#undef SB_BASELINE
    };
    char *rules = tuning_text();
    bool wanted = wants_form();

    for (size_t b = 0; b < SB_COUNT_OF(baselines) && !wanted; b++) {
        const char *quoted = baselines[b].quoted;
        const char *wish = getenv(variables[baselines[b].collective]);
        size_t length = strlen(quoted) - 2;
        wanted = has_rule(rules, baselines[b].of, quoted) ||
                 (wish != NULL && strlen(wish) == length && strncmp(wish, quoted + 1, length) == 0);
    }
    sb_pages_give(rules, TUNING_MOST);
    return wanted;
}

static bool own_folder(char *folder, size_t room)
{
    Dl_info info;

    if (!dladdr((void *)(uintptr_t)sb_stub_resolve, &info))
        return false;
    char *path = realpath(info.dli_fname, NULL);
    char *slash = path == NULL ? NULL : strrchr(path, '/');
    if (slash != NULL)
        snprintf(folder, room, "%.*s", (int)(slash - path), path);
    free(path);
    return slash != NULL;
}

#ifdef SB_COUNTING
static bool has_tool[FUNCTIONS]; /* its call of PMPI_X is the one that counts */

static const char *counted(uint64_t index, uint64_t *calls)
{
    static const char *const functions[] = {
#define SB_FUNCTION(name) "MPI_" #name,
#include "base/counted.def"
    };
    uint64_t place = index + FUNCTIONS - SB_COUNT_OF(functions);

    if (index >= SB_COUNT_OF(functions))
        return NULL;
    /* Relaxed: sums. */
    *calls = __atomic_load_n(&sb_stub_counts[FUNCTIONS + place], __ATOMIC_RELAXED);
    if (!has_tool[place])
        *calls += __atomic_load_n(&sb_stub_counts[place], __ATOMIC_RELAXED);
    return functions[index];
}

static void hand_over_counts(void *backend)
{
    typedef void count_function_t(const char *(*)(uint64_t, uint64_t *));
    count_function_t *count = (count_function_t *)(uintptr_t)dlsym(backend, "sb_backend_count");

    if (count != NULL)
        count(counted);
}
#endif

static void load_backend(void)
{
    char folder[3072], path[4096];
    const char *abi = family();

    if (abi == NULL)
        sb_stub_complain_once(
            "this MPI is of a family that Sobor does not know, so every call goes to it", "");
    if (abi == NULL || !own_folder(folder, sizeof folder))
        return;
    snprintf(path, sizeof path, "%s/sobor-%s%s.so", folder, abi,
             wants_baselines() ? "-baselines" : "");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        sb_stub_complain_once("the back end cannot be loaded, so every call goes to the host MPI",
                              dlerror());
        return;
    }
    start_function_t *start = (start_function_t *)(uintptr_t)dlsym(handle, "sb_backend_start");
    if (start == NULL || start(libmpi) != 0) {
        sb_stub_complain_once(
            "the back end does not fit this MPI, so every call goes to the host MPI", path);
        return;
    }
    backend_last = (last_function_t *)(uintptr_t)dlsym(handle, "sb_backend_last_algorithm");
    backend_counters = (counters_function_t *)(uintptr_t)dlsym(handle, "sb_backend_counters");
    backend_node = (node_function_t *)(uintptr_t)dlsym(handle, "sb_backend_node");
    backend_function = (function_function_t *)(uintptr_t)dlsym(handle, "sb_backend_function");
    backend_around = (around_function_t *)(uintptr_t)dlsym(handle, "sb_backend_around");
#ifdef SB_COUNTING
    hand_over_counts(handle);
#endif
}

static void *host_function(const char *prefix, const char *name)
{
    char symbol[64];

    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    return dlsym(libmpi, symbol);
}

/* A tool's MPI_X: one that stands behind this object and is not the MPI's own. */
static void *tool_function(const char *name)
{
    char symbol[64];
    Dl_info tool, host;

    snprintf(symbol, sizeof symbol, "MPI_%s", name);
    void *next = dlsym(RTLD_NEXT, symbol);
    /* The usual case first: to find out where an address belongs takes long. */
    if (next == NULL || next == host_function("MPI_", name) || is_own(next) || !dladdr(next, &tool))
        return NULL;
    void *mark = dlsym(libmpi, MARK);
    return dladdr(mark, &host) && host.dli_fbase != tool.dli_fbase ? next : NULL;
}

static void set_target(size_t index, void *target)
{
    /* Release: pairs with the load in the trampoline, an acquire. */
    __atomic_store_n(&sb_stub_targets[index], target, __ATOMIC_RELEASE);
}

static void set_targets(void)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        void *target = backend_function == NULL ? NULL : backend_function(names[i]);
        if (target == NULL)
            target = host_function("PMPI_", names[i]);
        if (target == NULL)
            target = sb_stub_narrow(libmpi, names[i]);
        if (target == NULL)
            continue;
        void *tool = tool_function(names[i]);
#ifdef SB_COUNTING
        has_tool[i] = tool != NULL;
#endif
        if (tool != NULL && backend_around != NULL)
            tool = backend_around(names[i], tool);
        set_target(FUNCTIONS + i, target);
        set_target(i, tool != NULL ? tool : target);
    }
}

void *sb_stub_resolve(size_t index, void *caller)
{
    pthread_mutex_lock(&lock);
    if (libmpi == NULL) {
        find_libmpi(caller);
        if (libmpi != NULL) {
            load_backend();
            set_targets();
        }
    }
    void *target = __atomic_load_n(&sb_stub_targets[index], __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    if (target == NULL) {
        sb_stub_complain("called, but no MPI library of this process has it",
                         names[index % FUNCTIONS]);
        abort();
    }
    return target;
}

__attribute__((visibility("default"))) int sobor_counters(sobor_counters_t *counters)
{
    uint64_t values[3];

    if (backend_counters == NULL)
        return -1;
    backend_counters(values);
    *counters = (sobor_counters_t){values[0], values[1], values[2]};
    return 0;
}

__attribute__((visibility("default"))) int sobor_node(sobor_node_t *node)
{
    uint32_t values[3];

    if (backend_node == NULL || backend_node(values) != 0)
        return -1;
    *node = (sobor_node_t){values[0], values[1], (int)values[2]};
    return 0;
}

__attribute__((visibility("default"))) const char *sobor_last_algorithm(void)
{
    return backend_last == NULL ? NULL : backend_last();
}
