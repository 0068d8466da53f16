// Tables of a service's error codes: what each means to the caller, and what to do about it.
#ifndef RB_PROVIDERS_API_ROWS_H
#define RB_PROVIDERS_API_ROWS_H

#include "providers/wire/api_call.h"

struct rb_api_row {
    enum rb_err_number number;
    enum rb_api_reaction reaction;
    const char *text; // NULL, or what must be in the message
    // Words, compared without case and underscores, because one service may write quotaExceeded here and QUOTA_EXCEEDED
    // there. One that ends in '*' matches all that start like it. NULL: the text alone decides.
    const char *codes;
};

// The first row that matches; NULL: none.
const struct rb_api_row *rb_api_find_row(const struct rb_api_row *rows, size_t n, const char *code,
                                         const char *message);
// The same; a code that is in no row is judged by the status.
struct rb_api_row rb_api_classify(const struct rb_api_row *rows, size_t n, long status, const char *code,
                                  const char *message);
// The same where a service has tables for its codes and for its statuses: a code that is in no row counts as its status,
// which stands as a code in the other table.
struct rb_api_row rb_api_classify_by_status(const struct rb_api_row *codes, size_t n_codes,
                                            const struct rb_api_row *statuses, size_t n_statuses, long status,
                                            const char *code, const char *message);

#endif
