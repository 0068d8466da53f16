// Any bytes as a profile store: refused, or every profile in it fitted or refused, and nothing written to it.
#include "profiles/store/store.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void ask_everything(struct rb_store *s)
{
    struct rb_arena arena;
    struct rb_profile_name *names;
    struct rb_catalog prices;
    int n;
    rb_arena_init(&arena);
    if (rb_store_list(s, &arena, &names, &n, NULL)) {
        for (int i = 0; i < n && i < 8; i++) {
            struct rb_fit_report report;
            struct rb_err err = {0};
            require(rb_store_fit(s, names[i].name, &arena, &report, &err) || err.message[0] != '\0');
        }
    }
    if (rb_store_prices(s, &arena, &prices, NULL)) {
        for (int i = 0; i < prices.n_offers; i++) {
            require(prices.offers[i].rate.uusd_per_hour > 0 || prices.offers[i].declared_free);
        }
    }
    rb_arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char path[] = "/tmp/rb-fuzz-store-XXXXXX";
    struct rb_store *s;
    struct rb_err err = {0};
    const int fd = mkstemp(path);
    require(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    if (rb_store_open(path, true, &s, &err)) {
        ask_everything(s);
        rb_store_close(s);
    } else {
        require(err.code != RB_ERR_NONE && err.message[0] != '\0');
    }
    unlink(path);
    return 0;
}
