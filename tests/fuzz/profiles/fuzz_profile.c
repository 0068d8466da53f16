// Any bytes as rb-profile/1: refused with a place, or a profile that reads back equal from both of its forms,
// and whose distributions and speed-ups are finite.
#include "doc_check.h"
#include "fuzz.h"

#include "profiles/store/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void write_json(const struct rb_profile *p, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_profile_write(p, &j);
}

static void check_form(struct rb_doc *doc, const char *expected, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
    struct rb_profile back;
    require(rb_profile_read(doc->root, NULL, NULL, arena, &back, NULL));
    rb_doc_finish(doc);
    write_json(&back, &again);
    require(strcmp(expected, rb_buf_str(&again)) == 0);
}

static void check_forms(const struct rb_profile *p, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf json = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf yaml = RB_BUF_INIT;
    struct rb_doc doc;
    write_json(p, &json);
    require(rb_doc_parse_json(&doc, "profile.json", rb_buf_str(&json), json.len, NULL));
    check_form(&doc, rb_buf_str(&json), arena);
    rb_profile_write_yaml(p, &yaml);
    require(rb_doc_parse_yaml(&doc, "profile.yaml", rb_buf_str(&yaml), yaml.len, NULL));
    check_form(&doc, rb_buf_str(&json), arena);
}

static void check_dist(const struct rb_dist *d)
{
    static const double us[] = {0x1p-54, 1e-9, 0.02, 0.3, 0.5, 0.7, 0.98, 1 - 1e-9, 1 - 0x1p-53};
    double previous = 0;
    for (size_t i = 0; i < sizeof us / sizeof us[0]; i++) {
        const double x = rb_dist_quantile(d, us[i]);
        require(isfinite(x) && x < 9e12 && x >= previous * (1 - 1e-9));
        const double p = rb_dist_cdf(d, x);
        require(p >= 0 && p <= 1);
        previous = x;
    }
    require(isfinite(rb_dist_mean(d)) && rb_dist_variance(d) >= -1e-9 * rb_dist_mean(d) * rb_dist_mean(d));
}

static void check_training(const struct rb_training *t)
{
    for (int nodes = 1; nodes <= 3; nodes++) {
        for (int gpus = 1; gpus <= 9; gpus++) {
            double speedup;
            struct rb_err err = {0};
            if (rb_training_speedup(t, gpus, nodes, &speedup, &err))
                require(isfinite(speedup) && speedup > 0);
            else
                require(err.code == RB_ERR_INVALID && err.message[0]);
        }
    }
}

static void check_profile(const struct rb_profile *p, struct rb_arena *arena)
{
    check_forms(p, arena);
    check_dist(&p->between);
    check_dist(&p->within);
    check_dist(&p->startup_s);
    check_dist(&p->checkpoint_s);
    for (int i = 0; i < p->n_training; i++)
        check_training(&p->training[i]);
    for (int i = 0; i < p->n_provisioning; i++) {
        check_dist(&p->provisioning[i].queue_s);
        check_dist(&p->provisioning[i].init_s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_doc doc;
    struct rb_err err = {0};
    if (!rb_doc_parse_yaml(&doc, "profile.yaml", (const char *)bytes, n, &err)) {
        check_error(&err, "profile.yaml");
        return 0;
    }
    struct rb_arena arena;
    struct rb_profile profile;
    rb_arena_init(&arena);
    if (rb_profile_read(doc.root, NULL, "stem", &arena, &profile, &err))
        check_profile(&profile, &arena);
    else
        check_error(&err, "profile.yaml");
    rb_arena_finish(&arena);
    rb_doc_finish(&doc);
    return 0;
}
