// "Did you mean": the closest of the names that would have been right.
#ifndef RB_BASE_CLOSEST_H
#define RB_BASE_CLOSEST_H

// Of n names the shortest that begins with the word, if that has three letters; else the closest by edit distance, or NULL
// if none is close. NULL names are no candidates.
const char *rb_closest(const char *word, const char *const *names, int n);

#endif
