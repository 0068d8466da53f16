// Options of a script under Hydra: the keys of its YAML files, such as conf/config.yaml beside it. Source: Hydra's documentation,
// "Config groups" and "The defaults list".
#ifndef RB_PROFILES_HYDRA_OPTIONS_H
#define RB_PROFILES_HYDRA_OPTIONS_H

#include "profiles/script/script.h"

// Fills the options of *s, whose style is RB_SCRIPT_HYDRA: numbers, texts and switches by their dotted names, those of the groups
// that `defaults` lists behind the name of the group. Files that are not there give none. path: of the script.
void rb_hydra_options(const char *path, struct rb_script *s, struct rb_arena *arena);

#endif
