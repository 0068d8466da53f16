// What a notice says, in the forms in which it is sent: rb-notice/1 (docs/howto/notify.md), Slack's, a mail.
#ifndef RB_EXECUTOR_NOTICE_H
#define RB_EXECUTOR_NOTICE_H

#include "base/text/buf.h"
#include "executor/run/progress.h"

struct rb_notice {
    enum rb_notice_kind kind;
    const char *run_id, *job;
    int64_t seq, unix_us;
    int64_t count;                  // node_lost: how many
    const char *outcome;            // finished, as in the report; NULL
    const char *detail;             // a sentence; NULL: none
    const struct rb_progress *now;  // where the run stands
};

void rb_notice_id(const char *run_id, int64_t seq, char out[static 160]); // the same in every delivery
void rb_notice_write(const struct rb_notice *n, struct rb_buf *out);      // rb-notice/1

// Of an rb-notice/1. out: {"text": ...}, with &, < and > escaped as Slack demands.
void rb_notice_to_slack(const char *body, struct rb_buf *out);
// A whole message for `sendmail -t`. Its headers are single lines, whatever a name holds.
void rb_notice_to_mail(const char *body, const char *address, struct rb_buf *out);

#endif
