// Packs one job's GPUs on every node, a byte a node, eight nodes in a word: the genetic search works on whole words. A node has
// at most RB_LIMIT_GPUS_PER_NODE = 64 GPUs, so the top bit of every byte is free for the comparisons.
#ifndef RB_ENGINE_SHARING_POLLUX_ROW_H
#define RB_ENGINE_SHARING_POLLUX_ROW_H

#include <stdint.h>

#define RB_ROW_ONES  UINT64_C(0x0101010101010101)
#define RB_ROW_TOPS  UINT64_C(0x8080808080808080)

static inline int rb_row_words(int n_nodes)
{
    return (n_nodes + 7) / 8;
}

static inline int rb_row_get(const uint64_t *row, int node)
{
    return (int)(row[node / 8] >> (node % 8 * 8) & 0xff);
}

static inline void rb_row_set(uint64_t *row, int node, int gpus)
{
    const int shift = node % 8 * 8;
    row[node / 8] = (row[node / 8] & ~(UINT64_C(0xff) << shift)) | (uint64_t)gpus << shift;
}

// The top bit of every byte that is not 0.
static inline uint64_t rb_row_nonzero(uint64_t word)
{
    return (word + ~RB_ROW_TOPS) & RB_ROW_TOPS;
}

// Every byte 0xff whose top bit is set in `tops`.
static inline uint64_t rb_row_widen(uint64_t tops)
{
    return (tops - (tops >> 7)) | tops;
}

static inline uint64_t rb_row_min(uint64_t a, uint64_t b)
{
    const uint64_t a_not_less = rb_row_widen(((a | RB_ROW_TOPS) - b) & RB_ROW_TOPS);
    return (b & a_not_less) | (a & ~a_not_less);
}

static inline int rb_row_count(uint64_t tops) // of bytes whose top bit is set
{
    return (int)((tops >> 7) * RB_ROW_ONES >> 56);
}

static inline int rb_row_sum(uint64_t word) // of the bytes
{
    const uint64_t even = UINT64_C(0x00ff00ff00ff00ff);
    return (int)(((word & even) + (word >> 8 & even)) * UINT64_C(0x0001000100010001) >> 48);
}

#endif
