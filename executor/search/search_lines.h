// The lines of rb-search/1 (docs/formats/search.md): one JSON object a line. Both ends use them: the child of a run
// (search_program.h) and rbsearch.
#ifndef RB_EXECUTOR_SEARCH_LINES_H
#define RB_EXECUTOR_SEARCH_LINES_H

#include "base/text/buf.h"
#include "profiles/job/job.h"
#include "samplers/facts.h"

enum rb_search_kind {
    RB_SEARCH_HELLO, RB_SEARCH_READY, RB_SEARCH_ASK, RB_SEARCH_SUGGEST, RB_SEARCH_NONE, RB_SEARCH_REPLAY,
    RB_SEARCH_TELL, RB_SEARCH_ERROR,
    RB_SEARCH_OTHER, // a type that this program does not know: to be ignored
};

// How a trial stands. ENDED: it trained to the end; STOPPED: it was ended before.
enum rb_search_state { RB_SEARCH_RUNS, RB_SEARCH_PAUSED, RB_SEARCH_ENDED, RB_SEARCH_FAILED, RB_SEARCH_STOPPED };

struct rb_search_line {
    enum rb_search_kind kind;
    int64_t id;                   // ASK, and what answers it
    int trial;                    // ASK, REPLAY, TELL
    int64_t resource;             // of ASK and REPLAY: where it is first compared; of TELL: of its last report, 0: none
    int64_t next;                 // TELL: it trains again, up to here; 0: it does not
    double metric;                // TELL; NAN: none, or not finite
    double seconds, dollars;      // TELL; NAN: unknown
    enum rb_search_state state;   // TELL
    const struct rb_node *values; // SUGGEST, REPLAY; NULL: none
    const char *text;             // name of READY, reason of SUGGEST, message of ERROR; "": none. Lives in the document
};

// Unknown keys are ignored. Errors: no JSON object, no type, or a key of this type that is missing or of another kind.
// *doc is the caller's to finish after success.
bool rb_search_read(const char *line, size_t n, struct rb_doc *doc, struct rb_search_line *out, struct rb_err *err);

// What a run writes. Each adds one line.
void rb_search_put_hello(const struct rb_job *job, struct rb_buf *out);
void rb_search_put_ask(int64_t id, int trial, int64_t resource, struct rb_buf *out);
void rb_search_put_replay(const struct rb_space *space, const struct rb_fact *began, struct rb_buf *out);
void rb_search_put_tell(const struct rb_fact *fact, int64_t max_resource, struct rb_buf *out);
void rb_search_put_error(int64_t id, const char *message, struct rb_buf *out); // id -1: of no question

// What an optimiser writes.
void rb_search_put_ready(const char *name, struct rb_buf *out);
void rb_search_put_suggestion(int64_t id, const struct rb_space *space, const struct rb_value *values,
                              const char *reason, struct rb_buf *out);

#endif
