#include "profiles/catalog/machine_names.h"

#include "base/text/closest.h"

#include <stdbool.h>
#include <string.h>

#define MOST 5

// p4d of p4d.24xlarge, a2-highgpu of a2-highgpu-1g.
static size_t family_length(const char *type)
{
    const size_t dot = strcspn(type, ".");
    if (type[dot])
        return dot;
    const char *last = strrchr(type, '-');
    return last ? (size_t)(last - type) : strlen(type);
}

static bool is_listed(const char *name, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

// The first n bytes are the same; with `whole`, the family ends there.
static int collect(const char *type, size_t n_bytes, bool whole, const char *const *names, int n, const char **found)
{
    int n_found = 0;
    for (int i = 0; i < n && n_found < MOST; i++) {
        const bool same = strncmp(names[i], type, n_bytes) == 0 && (!whole || family_length(names[i]) == n_bytes);
        if (same && !is_listed(names[i], found, n_found))
            found[n_found++] = names[i];
    }
    return n_found;
}

const char *rb_machine_names_like(const char *type, const char *const *names, int n, struct rb_arena *arena)
{
    const char *found[MOST], *text = "";
    const size_t family = family_length(type);
    const char *near = rb_closest(type, names, n);
    if (near && family_length(near) == family && strncmp(near, type, family) == 0)
        return near; // misspelt
    int n_found = family > 0 ? collect(type, family, true, names, n, found) : 0;
    if (n_found == 0 && family >= 2)
        n_found = collect(type, 2, false, names, n, found);
    if (n_found == 0)
        return near;
    for (int i = 0; i < n_found; i++)
        text = rb_arena_printf(arena, "%s%s%s", text, i == 0 ? "" : i + 1 < n_found ? ", " : " or ", found[i]);
    return text;
}
