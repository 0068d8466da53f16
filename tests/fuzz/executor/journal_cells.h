// A whole journal of a small run, and a list of cells to overwrite in it.
#ifndef RB_TESTS_FUZZ_JOURNAL_CELLS_H
#define RB_TESTS_FUZZ_JOURNAL_CELLS_H

#include "executor/journal/journal.h"

#include <stddef.h>
#include <stdint.h>

// Puts it at path, which holds none. The run follows the plan of tests/engine/small_plan.h.
void journal_write(const char *path);

// The list: [table, column, row, type, length (2 bytes, the low one first), bytes] as often as the bytes last. table: 0 meta, 1
// event, 2 launch, 3 task, 4 note. type: 0 NULL, 1 integer (the low byte first), 2 real, 3 text, 4 blob; 5: a new event with
// this text. Numbers too large are taken modulo; what sqlite refuses is left as it was.
void journal_overwrite(const char *path, const uint8_t *bytes, size_t n);

#endif
