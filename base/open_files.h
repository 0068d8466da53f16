// Raises the number of files that this process may have open. A run needs three for each trial that it follows. The
// usual soft limit of 1,024 exists for programs that use select(); ours do not, so they use the hard limit. Programs
// that we start get the original limit back.
#ifndef RB_BASE_OPEN_FILES_H
#define RB_BASE_OPEN_FILES_H

enum {
    RB_OPEN_FILES_TO_COMPUTE = 16, // what rbplan and rbsim need at least
    RB_OPEN_FILES_TO_TALK = 64,    // the same for programs that talk to clouds and start programs
};

// Call it once, before anything is opened. Not 0: fewer than `least` are allowed, which was reported; the program ends
// with that code.
int rb_open_files_begin(const char *program, int least);

#endif
