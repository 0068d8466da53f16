// An arena is a region of memory that is freed as a whole. Parsed input lives in one arena and is
// const from then on. Running out of memory, or a size that overflows, aborts.
#ifndef RB_BASE_ARENA_H
#define RB_BASE_ARENA_H

#include <stddef.h>

struct rb_arena_block;

struct rb_arena {
    struct rb_arena_block *blocks; // newest first
    size_t used_bytes;             // sum of the requested sizes
};

void rb_arena_init(struct rb_arena *a); // a zeroed struct is an empty arena already
void rb_arena_finish(struct rb_arena *a); // frees everything; a is as after init

// Empties the arena but keeps its memory, for work that is repeated.
void rb_arena_reset(struct rb_arena *a);

// Zeroed memory, aligned for any type, valid until rb_arena_reset or _finish.
void *rb_arena_alloc(struct rb_arena *a, size_t size);
void *rb_arena_array(struct rb_arena *a, size_t n, size_t size); // n * size, checked
char *rb_arena_strdup(struct rb_arena *a, const char *s);
char *rb_arena_strndup(struct rb_arena *a, const char *s, size_t n); // copies exactly n bytes, adds NUL
char *rb_arena_printf(struct rb_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Heap allocation that aborts instead of returning NULL; zeroed. Freed with free().
void *rb_xcalloc(size_t n, size_t size);
void *rb_xrealloc(void *p, size_t n, size_t size);
char *rb_xstrdup(const char *s);

// The array of n items with room for one more: as it is, or a copy of about twice the size. Appends amortised:
// a->items = rb_grow(a->items, a->n, sizeof *a->items); a->items[a->n++] = item;
void *rb_grow(void *items, int n, size_t size);                           // freed with free()
void *rb_arena_grow(struct rb_arena *a, void *items, int n, size_t size); // what was added is zeroed

// RB_AUTO(free_fn): run free_fn(&var) when var leaves its scope.
#define RB_AUTO(fn) __attribute__((cleanup(fn)))
void rb_auto_free(void *pp); // for `RB_AUTO(rb_auto_free) char *s`

#endif
