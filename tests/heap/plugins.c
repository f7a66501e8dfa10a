/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin's blocks are the heap's, or the C library's where it is loaded with RTLD_DEEPBIND; the
 * program may free and resize either. Word: the plugin. To be run with the heap preloaded.
 */
#include "support.h"

#define BYTES ((size_t)1 << 20)

typedef void *make_function_t(size_t bytes);
typedef void free_function_t(void *block);

static void check_bytes(const unsigned char *block, unsigned char value)
{
    for (size_t i = 0; i < BYTES; i++)
        CHECK(block[i] == value, "byte %zu is %u, not %u", i, block[i], value);
}

static void use(const char *path, int how, bool shared)
{
    void *plugin = dlopen(path, how);

    CHECK(plugin != NULL, "%s", dlerror());
    make_function_t *make = (make_function_t *)(uintptr_t)dlsym(plugin, "plugin_make");
    free_function_t *give = (free_function_t *)(uintptr_t)dlsym(plugin, "plugin_free");
    CHECK(make != NULL && give != NULL, "%s has not what is wanted", path);
    for (int i = 0; i < 100; i++) {
        unsigned char *block = make(BYTES);
        CHECK(is_shared(block) == shared, "the block is %s", shared ? "not shared" : "shared");
        check_bytes(block, 0);
        memset(block, 7, BYTES);
        if (i % 3 == 0) {
            give(block);
        } else {
            block = i % 3 == 1 ? realloc(block, 4 * BYTES) : block;
            CHECK(block != NULL, "no room");
            check_bytes(block, 7);
            free(block);
        }
    }
    CHECK(dlclose(plugin) == 0, "%s", dlerror());
}

int main(int count, char **words)
{
    CHECK(count == 2, "expected the path of a plugin");
    use(words[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, false);
    use(words[1], RTLD_NOW | RTLD_LOCAL, true);
    return 0;
}
