// Arenas and heap allocation that aborts. Blocks double in size up to a megabyte; a larger request gets a block
// of its own behind the current one, so that the room left there is still used.
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES ((size_t)4096)
#define MAX_BLOCK_BYTES   ((size_t)1 << 20)

struct rb_arena_block {
    struct rb_arena_block *older;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

static _Noreturn void out_of_memory(void)
{
    fputs("rubberband: out of memory\n", stderr);
    abort();
}

static size_t checked_mul(size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total))
        out_of_memory();
    return total;
}

static size_t align_up(size_t size)
{
    const size_t mask = alignof(max_align_t) - 1;
    if (size > SIZE_MAX - mask)
        out_of_memory();
    return (size + mask) & ~mask;
}

static struct rb_arena_block *block_create(size_t size)
{
    if (size > SIZE_MAX - sizeof(struct rb_arena_block))
        out_of_memory();
    struct rb_arena_block *block = rb_xrealloc(NULL, 1, sizeof *block + size);
    *block = (struct rb_arena_block){.size = size};
    return block;
}

void rb_arena_init(struct rb_arena *a)
{
    *a = (struct rb_arena){0};
}

void rb_arena_finish(struct rb_arena *a)
{
    struct rb_arena_block *block = a->blocks;
    while (block) {
        struct rb_arena_block *older = block->older;
        free(block);
        block = older;
    }
    *a = (struct rb_arena){0};
}

// One block twice as large as all of them takes their place. After a few rounds nothing more is allocated, even if
// every round needs a little more than the one before. Unused parts of it take no memory.
void rb_arena_reset(struct rb_arena *a)
{
    struct rb_arena_block *only = a->blocks;
    if (!only || !only->older) {
        if (only)
            only->used = 0;
        a->used_bytes = 0;
        return;
    }
    size_t total = 0;
    for (const struct rb_arena_block *block = a->blocks; block; block = block->older)
        total += block->size;
    rb_arena_finish(a);
    a->blocks = block_create(total <= SIZE_MAX / 4 ? 2 * total : total);
}

static struct rb_arena_block *block_with_room(struct rb_arena *a, size_t size)
{
    struct rb_arena_block *newest = a->blocks;
    if (newest && newest->size - newest->used >= size)
        return newest;
    if (newest && size > MAX_BLOCK_BYTES / 4) {
        struct rb_arena_block *own = block_create(size);
        own->older = newest->older;
        newest->older = own;
        return own;
    }
    size_t block_size = newest && newest->size < MAX_BLOCK_BYTES ? newest->size * 2 : FIRST_BLOCK_BYTES;
    if (newest && newest->size >= MAX_BLOCK_BYTES)
        block_size = MAX_BLOCK_BYTES;
    struct rb_arena_block *block = block_create(block_size > size ? block_size : size);
    block->older = newest;
    a->blocks = block;
    return block;
}

void *rb_arena_alloc(struct rb_arena *a, size_t size)
{
    const size_t rounded = align_up(size ? size : 1);
    struct rb_arena_block *block = block_with_room(a, rounded);
    void *p = block->bytes + block->used;
    block->used += rounded;
    a->used_bytes += size;
    return memset(p, 0, size);
}

void *rb_arena_array(struct rb_arena *a, size_t n, size_t size)
{
    return rb_arena_alloc(a, checked_mul(n, size));
}

char *rb_arena_strdup(struct rb_arena *a, const char *s)
{
    return rb_arena_strndup(a, s, strlen(s));
}

char *rb_arena_strndup(struct rb_arena *a, const char *s, size_t n)
{
    if (n == SIZE_MAX)
        out_of_memory();
    char *copy = rb_arena_alloc(a, n + 1);
    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *rb_arena_printf(struct rb_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    assert(fmt);
    va_start(ap, fmt);
    va_copy(again, ap);
    const int len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(len >= 0);
    char *text = rb_arena_alloc(a, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return text;
}

void *rb_xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *rb_xrealloc(void *p, size_t n, size_t size)
{
    const size_t total = checked_mul(n, size);
    void *moved = realloc(p, total ? total : 1);
    if (!moved)
        out_of_memory();
    return moved;
}

char *rb_xstrdup(const char *s)
{
    char *copy = strdup(s);
    if (!copy)
        out_of_memory();
    return copy;
}

// Sizes are powers of two, so that the number of items says whether there is room.
static int grown_size(int n)
{
    const int first = 8;
    return n == 0 ? first : n >= first && (n & (n - 1)) == 0 ? 2 * n : 0;
}

void *rb_grow(void *items, int n, size_t size)
{
    const int most = grown_size(n);
    return most > 0 ? rb_xrealloc(items, (size_t)most, size) : items;
}

void *rb_arena_grow(struct rb_arena *a, void *items, int n, size_t size)
{
    const int most = grown_size(n);
    if (most == 0)
        return items;
    void *more = rb_arena_array(a, (size_t)most, size);
    if (n > 0)
        memcpy(more, items, (size_t)n * size);
    return more;
}

void rb_auto_free(void *pp)
{
    void *p;
    memcpy(&p, pp, sizeof p);
    free(p);
}
