// Documents are immutable, so the tree is copied once, and the copy is changed before anyone else sees it.
#include "profiles/job/job_overrides.h"

#include "base/limits.h"

#include <string.h>

struct patch {
    struct rb_arena *arena;
    const struct rb_doc *doc; // names the flag in errors
    const char *path;         // the rest of it
    struct rb_err *err;
};

static bool flag_error(const struct patch *p, const char *why)
{
    return rb_err_set_at(p->err, RB_E_OVERRIDE_KEY, (struct rb_place){.file = p->doc->file}, NULL, "%s", why);
}

static bool not_a_map(const struct patch *p, const struct rb_node *node)
{
    char path[sizeof p->err->key];
    rb_node_path(node, path, sizeof path);
    return rb_err_set_at(p->err, RB_E_OVERRIDE_KEY, (struct rb_place){.file = p->doc->file}, path,
                         "is not a map; set it as a whole: --set '%s=...'", path);
}

// --- copying ---

// doc NULL: each node keeps its own, else it takes that one and has no line of its own. Depth is bounded
// because both the file's tree and the value's are.
static struct rb_node *copy_tree(const struct rb_node *from, const struct rb_node *parent, const struct rb_doc *doc,
                                 struct rb_arena *arena)
{
    struct rb_node *to = rb_arena_alloc(arena, sizeof *to);
    *to = *from;
    to->parent = parent;
    if (doc) {
        to->doc = doc;
        to->line = to->column = to->key_line = to->key_column = 0;
    }
    to->key = from->key ? rb_arena_strdup(arena, from->key) : NULL;
    to->text = from->text ? rb_arena_strndup(arena, from->text, from->text_len) : NULL;
    to->next = NULL;
    const struct rb_node **link = &to->first;
    for (const struct rb_node *child = from->first; child; child = child->next) {
        struct rb_node *copy = copy_tree(child, to, doc, arena);
        *link = copy;
        link = &copy->next;
    }
    *link = NULL;
    return to;
}

// --- finding the place ---

static struct rb_node *last_child(struct rb_node *map)
{
    const struct rb_node *child = map->first;
    while (child && child->next)
        child = child->next;
    return (struct rb_node *)child; // in our own copy
}

static struct rb_node *add_child(struct patch *p, struct rb_node *map, const char *key, size_t n)
{
    struct rb_node *child = rb_arena_alloc(p->arena, sizeof *child), *last = last_child(map);
    *child = (struct rb_node){.kind = RB_NODE_NULL,
                              .doc = p->doc,
                              .parent = map,
                              .key = rb_arena_strndup(p->arena, key, n),
                              .index = map->n_children++};
    if (last)
        last->next = child;
    else
        map->first = child;
    return child;
}

// Keys may hold dots themselves (parameters.opt.lr), so the longest existing key that the path starts with is
// taken.
static struct rb_node *find_child(const struct rb_node *map, const char *path)
{
    const struct rb_node *best = NULL;
    size_t best_len = 0;
    for (const struct rb_node *child = map->first; child; child = child->next) {
        const size_t n = strlen(child->key);
        if (n > best_len && strncmp(child->key, path, n) == 0 && (path[n] == '.' || path[n] == '\0')) {
            best = child;
            best_len = n;
        }
    }
    return (struct rb_node *)best; // in our own copy
}

// One step down the path; creates a missing map.
static bool step(struct patch *p, struct rb_node **at)
{
    struct rb_node *map = *at;
    if (map->kind == RB_NODE_NULL)
        map->kind = RB_NODE_MAP;
    if (map->kind != RB_NODE_MAP)
        return not_a_map(p, map);
    struct rb_node *child = find_child(map, p->path);
    const size_t n = child ? strlen(child->key) : strcspn(p->path, ".");
    if (n == 0)
        return flag_error(p, "expected key.key=value, got an empty key");
    *at = child ? child : add_child(p, map, p->path, n);
    p->path += n + (p->path[n] == '.');
    return true;
}

// --- applying ---

static int tree_depth(const struct rb_node *node)
{
    int deepest = 0;
    for (const struct rb_node *child = node->first; child; child = child->next) {
        const int depth = tree_depth(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static void replace(struct patch *p, struct rb_node *at, const struct rb_node *value)
{
    const struct rb_node place = *at;
    *at = *copy_tree(value, place.parent, p->doc, p->arena);
    at->key = place.key;
    at->index = place.index;
    at->next = place.next;
    for (const struct rb_node *child = at->first; child; child = child->next)
        ((struct rb_node *)child)->parent = at; // in our own copy
}

static bool put(struct patch *p, struct rb_node *root, const char *text)
{
    struct rb_doc value = {0};
    const char *yaml = text[strspn(text, " \t\n")] ? text : "null";
    if (!rb_doc_parse_yaml(&value, p->doc->file, yaml, strlen(yaml), p->err))
        return false;
    struct rb_node *at = root;
    int depth = 1;
    bool ok = *p->path || flag_error(p, "expected key=value, got no key");
    while (ok && *p->path)
        ok = step(p, &at) && (depth++ < RB_LIMIT_DOC_DEPTH || flag_error(p, "the path is too deep"));
    if (ok && depth + tree_depth(value.root) > RB_LIMIT_DOC_DEPTH)
        ok = flag_error(p, "the value is nested too deep");
    if (ok)
        replace(p, at, value.root);
    rb_doc_finish(&value);
    return ok;
}

static bool apply(struct rb_node *root, const char *override, struct rb_arena *arena, struct rb_err *err)
{
    const char *equals = strchr(override, '=');
    struct rb_doc *doc = rb_arena_alloc(arena, sizeof *doc);
    const bool own_flag = strncmp(override, "--", 2) == 0;
    doc->file = rb_arena_printf(arena, "%s%.*s", own_flag ? "" : "--set ",
                                equals ? (int)(equals - override) : (int)strlen(override), override);
    struct patch p = {.arena = arena, .doc = doc, .err = err};
    if (!equals)
        return flag_error(&p, "expected key=value, for example --set scheduler.eta=4");
    const char *path = override + (own_flag ? 2 : 0);
    p.path = rb_arena_strndup(arena, path, (size_t)(equals - path));
    return put(&p, root, equals + 1);
}

bool rb_job_override(const struct rb_node *root, const char *const *overrides, int n, struct rb_arena *arena,
                     const struct rb_node **out, struct rb_err *err)
{
    if (n == 0 || root->kind != RB_NODE_MAP) { // the reader refuses a root that is not a map
        *out = root;
        return true;
    }
    struct rb_node *copy = copy_tree(root, NULL, NULL, arena);
    for (int i = 0; i < n; i++)
        if (!apply(copy, overrides[i], arena, err))
            return false;
    *out = copy;
    return true;
}
