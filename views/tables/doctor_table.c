#include "views/tables/doctor_table.h"

#include "base/file.h"
#include "base/document/json.h"

static const char *const verdicts[] = {"ok", "warn", "fail"};

static bool print_json(const struct rb_doctor *d, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    rb_json_put(&j, "{format: 'rb-doctor/1' ok: %i checks: [", rb_doctor_exit_code(d) == 0);
    for (int i = 0; i < d->n_findings; i++) {
        const struct rb_finding *f = &d->findings[i];
        rb_json_put(&j, "{check: %s", f->check);
        rb_json_kstring(&j, "subject", f->subject[0] ? f->subject : NULL);
        rb_json_put(&j, "verdict: %s detail: %s", verdicts[f->verdict], f->detail);
        rb_json_kstring(&j, "remedy", f->remedy[0] ? f->remedy : NULL);
        rb_json_end_object(&j);
    }
    rb_json_put(&j, "]}");
    rb_buf_putc(&out, '\n');
    return rb_print(&out, err);
}

static bool print_lines(const struct rb_doctor *d, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    for (int i = 0; i < d->n_findings; i++) {
        const struct rb_finding *f = &d->findings[i];
        rb_buf_printf(&out, "%-4s  %-11s  %s%s%s%s%s\n", verdicts[f->verdict], f->check, f->subject,
                      f->subject[0] ? ": " : "", f->detail, f->remedy[0] ? "; " : "", f->remedy);
    }
    return rb_print(&out, err);
}

bool rb_doctor_show(const struct rb_doctor *d, bool json, struct rb_err *err)
{
    return json ? print_json(d, err) : print_lines(d, err);
}
