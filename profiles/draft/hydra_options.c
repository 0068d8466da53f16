#include "profiles/draft/hydra_options.h"

#include "base/document/doc.h"

#include <string.h>

enum { MOST_OPTIONS = 512, MOST_DEPTH = 8 };

struct finder {
    struct rb_arena *arena;
    struct rb_script_option *options;
    int n;
    const char *folder; // of the YAML files
};

static void add(struct finder *f, const char *name, const struct rb_node *node)
{
    static const enum rb_script_type types[] = {
        [RB_NODE_BOOL] = RB_SCRIPT_BOOL,   [RB_NODE_INT] = RB_SCRIPT_INT,  [RB_NODE_FLOAT] = RB_SCRIPT_FLOAT,
        [RB_NODE_STRING] = RB_SCRIPT_TEXT, [RB_NODE_NULL] = RB_SCRIPT_ANY, [RB_NODE_LIST] = RB_SCRIPT_ANY,
        [RB_NODE_MAP] = RB_SCRIPT_ANY,
    };
    if (f->n == MOST_OPTIONS || node->kind == RB_NODE_LIST)
        return;
    const bool missing = node->kind == RB_NODE_STRING && strcmp(node->text, "???") == 0;
    f->options[f->n++] = (struct rb_script_option){
        .name = name,
        .type = missing ? RB_SCRIPT_ANY : types[node->kind],
        .form = RB_SCRIPT_VALUE,
        .default_value = missing || node->kind == RB_NODE_NULL ? NULL : rb_arena_strdup(f->arena, node->text),
        .is_typed = node->kind == RB_NODE_INT,
        .is_required = missing,
        .line = node->line,
    };
}

static void add_map(struct finder *f, const char *before, const struct rb_node *map, int depth)
{
    for (const struct rb_node *c = map->first; c && depth < MOST_DEPTH; c = c->next) {
        if (*before == '\0' && (strcmp(c->key, "defaults") == 0 || strcmp(c->key, "hydra") == 0))
            continue;
        const char *name = rb_arena_printf(f->arena, "%s%s%s", before, *before ? "." : "", c->key);
        if (c->kind == RB_NODE_MAP)
            add_map(f, name, c, depth + 1);
        else
            add(f, name, c);
    }
}

static void add_file(struct finder *f, const char *before, const char *name, int depth);

// - model: resnet, or - base.
static void add_defaults(struct finder *f, const struct rb_node *defaults, int depth)
{
    for (const struct rb_node *item = defaults ? defaults->first : NULL; item; item = item->next) {
        const struct rb_node *choice = item->kind == RB_NODE_MAP ? item->first : NULL;
        if (item->kind == RB_NODE_STRING && strcmp(item->text, "_self_") != 0)
            add_file(f, "", item->text, depth + 1);
        else if (choice && choice->kind == RB_NODE_STRING && !strchr(choice->key, ' '))
            add_file(f, choice->key, rb_arena_printf(f->arena, "%s/%s", choice->key, choice->text), depth + 1);
    }
}

static void add_file(struct finder *f, const char *before, const char *name, int depth)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const char *path = rb_arena_printf(f->arena, "%s/%s.yaml", f->folder, name);
    if (depth > MOST_DEPTH || !rb_doc_read(&doc, path, NULL) || doc.root->kind != RB_NODE_MAP)
        return;
    add_defaults(f, rb_node_member(doc.root, "defaults"), depth);
    add_map(f, before, doc.root, 0);
}

// @hydra.main(config_path="conf", config_name="config")
static const char *argument(const struct rb_script *s, const char *name, struct rb_arena *arena)
{
    for (int i = 2; i + 1 < s->text.n; i++) {
        if (!rb_py_is(&s->text.tokens[i], "main") || !rb_py_is(&s->text.tokens[i - 2], "hydra"))
            continue;
        const struct rb_py_argument *a;
        const int n = rb_py_arguments(&s->text, i + 1, arena, &a);
        for (int k = 0; k < n; k++)
            if (a[k].name && rb_py_is(a[k].name, name))
                return rb_py_string(&s->text.tokens[a[k].value.first], arena);
    }
    return NULL;
}

void rb_hydra_options(const char *path, struct rb_script *s, struct rb_arena *arena)
{
    const char *slash = strrchr(path, '/'), *folder = argument(s, "config_path", arena);
    const char *name = argument(s, "config_name", arena);
    struct finder f = {.arena = arena, .options = rb_arena_array(arena, MOST_OPTIONS, sizeof *f.options)};
    f.folder = rb_arena_printf(arena, "%.*s/%s", slash ? (int)(slash - path) : 1, slash ? path : ".",
                               folder ? folder : "conf");
    name = name ? name : "config";
    const char *dot = strrchr(name, '.');
    const bool has_ending = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    add_file(&f, "", rb_arena_strndup(arena, name, has_ending ? (size_t)(dot - name) : strlen(name)), 0);
    s->options = f.options;
    s->n_options = f.n;
}
