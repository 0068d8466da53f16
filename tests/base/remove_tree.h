// A test's own directory, with all that is in it, goes away.
#ifndef RB_TESTS_BASE_REMOVE_TREE_H
#define RB_TESTS_BASE_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void remove_tree(const char *directory)
{
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
