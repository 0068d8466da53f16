// Follows a run from outside: from its journal alone, whether or not a process executes it. Reads only; the run never
// waits for a reader.
#ifndef RB_VIEWS_FOLLOWING_H
#define RB_VIEWS_FOLLOWING_H

#include "executor/journal/journal.h"
#include "executor/journal/run_files.h"
#include "executor/run/standing.h"
#include "views/live/run_screen.h"

enum { RB_FOLLOWING_LINES = 64 }; // the last events

struct rb_following {
    struct rb_run_files files;
    struct rb_journal *journal;
    struct rb_standing standing;
    int64_t last_event, last_note; // numbers in the journal
    int64_t last_us, over_us;      // of the last event; when the job was over, -1: it is not
    struct rb_run_screen_line lines[RB_FOLLOWING_LINES]; // texts are owned
    int n_lines;
    struct rb_arena rows;          // of the last look
    struct rb_run_screen screen;
    char state[64], hint[256];
    int64_t news; // of the last look; grows whenever something happens
    void (*line)(void *ctx, int64_t time_us, const char *text); // called for each new event and note; NULL: not
    void *line_ctx;
    bool (*look_on)(void *ctx, bool settle, struct rb_err *err); // for a pool: looks at its jobs; NULL: nothing more
    void *look_on_ctx;
};

// Finish with rb_following_finish, also after a failure. state_dir, run: as for rb_run_files_open.
bool rb_following_open(struct rb_following *f, const char *state_dir, const char *run, struct rb_err *err);
void rb_following_finish(struct rb_following *f);

// Reads what is new; f->screen is then the run as of now. settle: waits until the prediction of its end is complete;
// else spends some milliseconds on it.
bool rb_following_look(struct rb_following *f, bool settle, struct rb_err *err);
// Nothing more will happen, unless the run is resumed.
bool rb_following_is_over(const struct rb_following *f);

#endif
