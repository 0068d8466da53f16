// The kinds of places where a controller may begin: hosts that are there, and machines that are made for a run.
#ifndef RB_EXECUTOR_PLACE_H
#define RB_EXECUTOR_PLACE_H

#include "executor/away/machine.h"

struct rb_controller_place {
    const char *machine_type; // of the machine that is made there; NULL: it is a host
    char name[320];           // "ssh:me@box", "aws/us-east-1"
};

// Error: PLACE.
bool rb_place_parse(const char *text, struct rb_controller_place *out, struct rb_err *err);
// "RUN@PLACE": *out_is is true, and out_run the text before the "@". Anything without "@": false.
bool rb_place_of_run(const char *text, bool *out_is, char out_run[static 128], struct rb_controller_place *out, struct rb_err *err);
// How the controller of a run is reached that was asked for at a place: root and run_id find its machine. Error: MACHINE_UNKNOWN.
bool rb_place_reach(const char *place, const char *root, const char *run_id, struct rb_host *out, struct rb_err *err);
// The run is here: ends the machine that was made for its controller, and writes its end into the run's journal. Does nothing
// where there is none, or where it has been done.
bool rb_place_leave(const char *root, const char *run_id, struct rb_err *err);

#endif
