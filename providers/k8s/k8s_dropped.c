// What of an object that was sent is not in the one that was stored. Pure.
#include "providers/k8s/k8s_decode.h"

#include <stdio.h>
#include <string.h>

static void join(const char *path, const struct rb_node *node, char *out, size_t size)
{
    if (node->key)
        snprintf(out, size, "%s%s%s", path, *path ? "." : "", node->key);
    else
        snprintf(out, size, "%s[%d]", path, node->index);
}

static bool is_tree(const struct rb_node *n)
{
    return n->kind == RB_NODE_LIST || n->kind == RB_NODE_MAP;
}

static bool finds(const struct rb_node *sent, const struct rb_node *stored, const char *path, char *out, size_t size);

static const struct rb_node *find_named(const struct rb_node *list, const char *name)
{
    for (const struct rb_node *n = rb_node_first(list); n; n = n->next)
        if (strcmp(rb_node_member_text(n, "name"), name) == 0)
            return n;
    return NULL;
}

// One of a list: some element must have all that it has.
static bool finds_in_list(const struct rb_node *item, const struct rb_node *stored, const char *path, char *out,
                          size_t size)
{
    char ignored[200];
    if (!is_tree(item)) {
        for (const struct rb_node *n = rb_node_first(stored); n; n = n->next)
            if (n->text && strcmp(n->text, item->text) == 0)
                return false;
        snprintf(out, size, "%s", path);
        return true;
    }
    // The one of the same name says best what is missing.
    const char *name = rb_node_member_text(item, "name");
    const struct rb_node *same = *name ? find_named(stored, name) : NULL;
    if (same)
        return finds(item, same, path, out, size);
    for (const struct rb_node *n = rb_node_first(stored); n; n = n->next)
        if (!finds(item, n, path, ignored, sizeof ignored))
            return false;
    snprintf(out, size, "%s", path);
    return true;
}

static bool finds(const struct rb_node *sent, const struct rb_node *stored, const char *path, char *out, size_t size)
{
    for (const struct rb_node *child = is_tree(sent) ? sent->first : NULL; child; child = child->next) {
        char at[200];
        join(path, child, at, sizeof at);
        if (sent->kind == RB_NODE_LIST) {
            if (finds_in_list(child, stored, at, out, size))
                return true;
            continue;
        }
        const bool is_empty = is_tree(child) && !child->n_children;
        const struct rb_node *kept = rb_node_member(stored, child->key);
        if (!kept && !is_empty) { // what is empty need not be written back
            snprintf(out, size, "%s", at);
            return true;
        }
        if (kept && finds(child, kept, at, out, size))
            return true;
    }
    return false;
}

bool rb_kube_find_dropped(const struct rb_node *sent, const struct rb_node *stored, char *out, size_t size)
{
    return finds(sent, stored, "", out, size);
}
