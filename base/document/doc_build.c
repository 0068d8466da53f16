// Builds the tree in an arena of its own; the caller's document is written only when everything was accepted.
#include "base/document/doc_build.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rb_doc_builder_init(struct rb_doc_builder *b, const char *file)
{
    *b = (struct rb_doc_builder){0};
    rb_arena_init(&b->built.arena);
    b->built.file = rb_arena_strdup(&b->built.arena, file);
    b->in_arena = rb_arena_alloc(&b->built.arena, sizeof *b->in_arena);
    b->in_arena->file = b->built.file;
}

void rb_doc_builder_finish(struct rb_doc_builder *b)
{
    rb_arena_finish(&b->built.arena);
}

void rb_doc_builder_key(struct rb_doc_builder *b, const char *key, size_t n, int line, int column)
{
    assert(b->depth > 0 && !b->key);
    b->key = rb_arena_strndup(&b->built.arena, key, n);
    b->key_line = line;
    b->key_column = column;
}

struct rb_node *rb_doc_builder_add(struct rb_doc_builder *b, enum rb_node_kind kind, int line, int column,
                                   struct rb_err *err)
{
    if (b->n_nodes >= RB_LIMIT_DOC_NODES) {
        rb_doc_builder_error(b, line, column, err, "the document has more than %d values", RB_LIMIT_DOC_NODES);
        return NULL;
    }
    b->n_nodes++;
    struct rb_node *node = rb_arena_alloc(&b->built.arena, sizeof *node);
    *node = (struct rb_node){.kind = kind, .line = line, .column = column, .doc = b->in_arena, .text = ""};
    if (b->depth == 0) {
        assert(!b->root);
        b->root = node;
        return node;
    }
    struct rb_node *parent = b->open[b->depth - 1].node;
    struct rb_node *previous = b->open[b->depth - 1].last_child;
    assert((parent->kind == RB_NODE_MAP) == (b->key != NULL));
    node->parent = parent;
    node->index = parent->n_children++;
    node->key = b->key;
    node->key_line = b->key ? b->key_line : 0;
    node->key_column = b->key ? b->key_column : 0;
    b->key = NULL;
    if (previous)
        previous->next = node;
    else
        parent->first = node;
    b->open[b->depth - 1].last_child = node;
    return node;
}

bool rb_doc_builder_open(struct rb_doc_builder *b, struct rb_node *container, struct rb_err *err)
{
    if (b->depth >= RB_LIMIT_DOC_DEPTH)
        return rb_doc_builder_error(b, container->line, container->column, err,
                                    "lists and maps are nested more than %d deep", RB_LIMIT_DOC_DEPTH);
    b->open[b->depth].node = container;
    b->open[b->depth].last_child = NULL;
    b->depth++;
    return true;
}

static int by_key_then_position(const void *a, const void *b)
{
    const struct rb_node *x = *(const struct rb_node *const *)a, *y = *(const struct rb_node *const *)b;
    const int order = strcmp(x->key, y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

// Sorted, so that a map of a million keys costs no million squared. Reports the first repetition in the file.
static bool check_duplicates(const struct rb_doc_builder *b, const struct rb_node *map, struct rb_err *err)
{
    const size_t n = (size_t)map->n_children;
    RB_AUTO(rb_auto_free) const struct rb_node **sorted = rb_xcalloc(n, sizeof *sorted);
    for (const struct rb_node *child = map->first; child; child = child->next)
        sorted[child->index] = child;
    qsort(sorted, n, sizeof *sorted, by_key_then_position);
    const struct rb_node *again = NULL, *before = NULL;
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0 && (!again || sorted[i]->index < again->index)) {
            before = sorted[i - 1];
            again = sorted[i];
        }
    }
    if (!again)
        return true;
    char path[160];
    const struct rb_place place = {b->built.file, again->key_line, again->key_column};
    return rb_err_set_at(err, RB_E_KEY_REPEATED, place, rb_node_path(again, path, sizeof path),
                         "this key was given before, at line %d; keep one of the two", before->key_line);
}

bool rb_doc_builder_close(struct rb_doc_builder *b, struct rb_err *err)
{
    assert(b->depth > 0 && !b->key);
    const struct rb_node *container = b->open[--b->depth].node;
    return container->kind != RB_NODE_MAP || check_duplicates(b, container, err);
}

void rb_doc_builder_deliver(struct rb_doc_builder *b, struct rb_doc *out)
{
    assert(b->root && b->depth == 0);
    b->built.root = b->root;
    b->in_arena->root = b->root;
    *out = b->built;
    b->built = (struct rb_doc){0};
}

const struct rb_node *rb_doc_builder_inside(const struct rb_doc_builder *b)
{
    return b->depth > 0 ? b->open[b->depth - 1].node : NULL;
}

bool rb_doc_builder_error(const struct rb_doc_builder *b, int line, int column, struct rb_err *err, const char *fmt,
                          ...)
{
    char message[sizeof err->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return rb_err_set_at(err, RB_E_SYNTAX, (struct rb_place){b->built.file, line, column}, NULL, "%s", message);
}
