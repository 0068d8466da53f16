// One page of a listing of either front. Whatever is listed has a position, which rises; a token is opaque to clients:
// the position after the last thing that they saw.
#ifndef RB_PROVIDERS_MOCK_PAGE_H
#define RB_PROVIDERS_MOCK_PAGE_H

#include "providers/mock/cloud/chaos.h"

struct rb_mock_page {
    int64_t limit; // how many it holds
    int64_t after; // only what has a position > after; -1: from the start
    int64_t n;     // taken so far
    int64_t last;  // position of the last one taken
    bool more;
};

// limit: as asked for, or fewer where chaos has it so. token NULL: the first page. False: no list gave that token.
bool rb_mock_page_begin(struct rb_mock_page *p, int64_t limit, const char *token, const struct rb_chaos_verdict *v);
// Does the thing at this position (rising) belong to the page? Remembers that something was left out.
bool rb_mock_page_take(struct rb_mock_page *p, int64_t position);
// The token of the next page, in the arena; NULL: there is none.
const char *rb_mock_page_next(const struct rb_mock_page *p, struct rb_arena *arena);

#endif
