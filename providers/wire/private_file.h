// Reads files that may hold secrets: checks owner and mode of the very file that was read, and wipes the text at the
// end.
#ifndef RB_PROVIDERS_PRIVATE_FILE_H
#define RB_PROVIDERS_PRIVATE_FILE_H

#include "base/document/doc.h"

#include <sys/types.h>

struct rb_private_file {
    char *path;
    bool present;
    uid_t owner;
    mode_t mode;
    char *text;   // NUL-terminated
    size_t len;
};

// The file's path: the variable's value if it is set, else `below_home` in the user's home; "~/" is the home. variable
// NULL: none. Owns.
char *rb_private_file_path(const char *variable, const char *below_home);
// Reads file->path, which it then owns. A file that does not exist is not present: no error.
bool rb_private_file_read(struct rb_private_file *file, struct rb_err *err);
// May a secret, or a command to run, be taken from it? Only if it is ours and no one else may read or write it; else
// DENIED.
bool rb_private_file_check(const struct rb_private_file *file, struct rb_err *err);
void rb_private_file_finish(struct rb_private_file *file); // accepts a zeroed one
// As rb_doc_finish, after overwriting every text: for a document that held secrets.
void rb_private_doc_finish(struct rb_doc *doc);

#endif
