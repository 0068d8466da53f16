// What must hold of any document a parser accepted, and of any error it gave.
#ifndef RB_TESTS_FUZZ_DOC_CHECK_H
#define RB_TESTS_FUZZ_DOC_CHECK_H

#include "base/document/doc.h"

// Kinds, places, links and paths are sound; written as JSON it reads back to the same bytes. Aborts if not.
void check_doc(const struct rb_doc *doc);
// A code, a file, a place, one line of text. Aborts if not.
void check_error(const struct rb_err *err, const char *file);

#endif
