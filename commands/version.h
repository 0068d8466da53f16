// --version of all six programs: the release, the build, the compiler, and the formats that are read and written.
#ifndef RB_COMMANDS_VERSION_H
#define RB_COMMANDS_VERSION_H

#include <stdbool.h>

// If argv asks for the version, prints it (--json: one rb-version/1 document) and returns true: then the program ends with 0.
bool rb_version_asked(const char *program, int argc, char **argv);

#endif
