// rbrun attach: shows a run that another process carries out as that process would in a terminal, until it ends.
#ifndef RB_VIEWS_ATTACH_H
#define RB_VIEWS_ATTACH_H

#include "views/run/following.h"

enum rb_attach_end {
    RB_ATTACH_OVER, // no process carries the run out any more
    RB_ATTACH_LEFT, // by ^C, SIGTERM or SIGHUP
};

// Shows on stderr: the line with its present state where one can be redrawn, else a line for every event from now on;
// quiet: nothing. f has not been looked at yet.
bool rb_attach(struct rb_following *f, bool quiet, enum rb_attach_end *out, struct rb_err *err);

#endif
