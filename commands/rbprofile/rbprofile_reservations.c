// rbprofile reservations: what the account has reserved in a region, as the lines of a job.
#include "commands/rbprofile/rbprofile_command.h"

#include "executor/campaign/price_fetch.h"
#include "profiles/catalog/infra.h"

static const struct rb_option options[] = {
    {"infra", 0, RB_OPT_STRING, false, "INFRA", "the region to ask: aws/us-east-1, ...", 0, 0}, RB_END_OPTIONS};

static void write_instant(struct rb_buf *out, const char *key, int64_t unix_us)
{
    char text[32];
    if (unix_us >= 0)
        rb_buf_printf(out, ", %s: \"%s\"", key, rb_format_instant(unix_us, text));
}

static void write_reservation(struct rb_buf *out, const struct rb_reservation *r)
{
    rb_buf_printf(out, "    - {infra: %s, instance_type: %s, id: %s, count: %d", r->infra, r->instance_type, r->id,
                  r->count);
    write_instant(out, "start", r->starts_at_us);
    write_instant(out, "end", r->ends_at_us);
    rb_buf_puts(out, r->is_block ? ", capacity_block: true}\n" : "}\n");
}

static bool print(void *ctx, const struct rb_reservation *all, int n, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    const char *infra = ctx;
    int n_free = 0;
    for (int i = 0; i < n; i++)
        n_free += all[i].count > 0;
    if (n_free == 0)
        rb_buf_printf(&out, "# %s: nothing is reserved there that is not in use (%d reservations)\n", infra, n);
    else
        rb_buf_puts(&out, "resources:\n  reservations:\n");
    for (int i = 0; i < n; i++)
        if (all[i].count > 0)
            write_reservation(&out, &all[i]);
    return rb_print(&out, err);
}

static bool run(const struct rb_args *args, struct rb_err *err)
{
    const char *infra = rb_args_string(args, "infra", NULL);
    if (!infra)
        return rb_err_set(err, RB_E_WHERE_UNSAID, "expected --infra INFRA, a region to ask, such as aws/us-east-1");
    if (!rb_infra_check(infra, err))
        return rb_err_prefix(err, "--infra");
    return rb_reservations_fetch(infra, print, (void *)infra, err);
}

const struct rb_command rb_profile_reservations = {
    .name = "rbprofile reservations",
    .usage = "--infra INFRA",
    .summary = "Lists the capacity that this account has reserved there and that is free now, as `reservations` of a job. Nothing is "
               "reserved or bought.",
    .examples = "  rbprofile reservations --infra aws/us-east-1\n",
    .options = options,
    .run = run,
};
