// How many files this process may have open. A run needs three for each trial that it follows, and the usual soft limit of
// 1,024 is there for programs that use select(): ours do not, so they take what the hard limit gives. Programs that we start get
// the limit back that we were started with.
#ifndef RB_BASE_OPEN_FILES_H
#define RB_BASE_OPEN_FILES_H

enum {
    RB_OPEN_FILES_TO_COMPUTE = 16, // what rbplan and rbsim need to say anything at all
    RB_OPEN_FILES_TO_TALK = 64,    // likewise what talks to clouds and starts programs
};

// Once, before anything is opened. Not 0: fewer than `least` are allowed, which was said; the program ends with that code.
int rb_open_files_begin(const char *program, int least);

#endif
