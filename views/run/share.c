#include "views/run/share.h"

#include "executor/report/shared_report.h"
#include "views/pages/run_page.h"
#include "views/run/run_document.h"

static bool pass(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    (void)ctx;
    (void)e;
    (void)err;
    return true;
}

bool rb_run_share(const struct rb_run_files *f, const char *folder, int64_t *out_events, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT, page = RB_BUF_INIT;
    const bool at_work = rb_run_is_carried_out(f->root, f->run_id);
    struct rb_journal *journal;
    if (!rb_journal_open_reader(f->journal, &journal, err))
        return false;
    *out_events = 0;
    const bool ok = rb_journal_each_event_after(journal, out_events, pass, NULL, err) &&
                    rb_run_page_document(journal, &f->plan, at_work, NULL, &document, err) &&
                    rb_run_page_write(rb_buf_str(&document), document.len, false, &page, err) &&
                    rb_shared_report_write(folder, f->run_id, &document, &page, err);
    rb_journal_close(journal);
    return ok;
}
