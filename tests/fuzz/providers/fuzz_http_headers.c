// Any bytes as the header lines of an answer: values are kept whole or not at all, and waits and clocks are within bounds.
#include "providers/wire/http.c" // NOLINT: its header reader is no one else's business

#include "fuzz.h"
#include "require.h"

static void feed(struct transfer *t, const uint8_t *bytes, size_t n)
{
    while (n > 0) { // line by line, as libcurl does, each in a block of its own size
        const uint8_t *end = memchr(bytes, '\n', n);
        const size_t len = end ? (size_t)(end - bytes) + 1 : n;
        char *line = malloc(len);
        require(line != NULL);
        memcpy(line, bytes, len);
        require(on_header(line, 1, len, t) == len);
        free(line);
        bytes += len;
        n -= len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const int64_t now_us = INT64_C(1700000000000000);
    struct transfer t = {0};
    feed(&t, bytes, n);
    const struct rb_http_response response = {.retry_after = t.retry_after[0] ? t.retry_after : NULL,
                                              .date = t.date[0] ? t.date : NULL};
    const int64_t wait_us = rb_http_retry_after_us(&response, now_us), date_us = rb_http_date_us(&response);
    require(wait_us >= -1 && date_us >= -1);
    return 0;
}
