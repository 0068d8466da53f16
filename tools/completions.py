#!/usr/bin/env python3
"""Completion of one program's command line for bash, zsh and fish, from its own option tables.
Usage: completions.py TREE.json BASH ZSH FISH (tree: tools/help_tree.py). What an argument is, is read off its placeholder:
RUN is a run's id (asked of `rbrun list`), NAME of rbprofile a profile, FILE and names with an ending a file, DIR a folder. An option
whose help begins with words to choose from ("greedy, static or naive") offers those."""
import json
import re
import sys

tree = json.load(open(sys.argv[1], encoding="utf-8"))
program = tree["name"]
RUNS = r"""rbrun list --json 2>/dev/null | grep -o '"run":"[^"]*"' | cut -d '"' -f 4"""
PROFILES = r"""rbprofile list --json 2>/dev/null | grep -o '"name": *"[^"]*"' | cut -d '"' -f 4"""


def commands(node, path=()):
    yield path, node
    for sub in node["subcommands"]:
        if not sub["name"].startswith("-"):
            yield from commands(sub["command"], path + (sub["name"],))


def kind_of(word):
    if word == "DIR":
        return "dir"
    if word in ("FILE", "SCRIPT") or re.search(r"\.(yaml|json|csv|svg|html)", word):
        return "file"
    return {"RUN": "run", "NAME": "profile" if program == "rbprofile" else None}.get(word)


def choices(option):
    """What its help lists at the beginning, behind the option that it goes with: "a (default), b or c"."""
    if option["metavar"] not in ("NAME", "KIND", "RULE"):
        return []
    text = re.sub(r"^with --[a-z-]+: ", "", option["help"]).replace(" (default)", "")
    listed = re.match(r"[a-z0-9-]+(?:, [a-z0-9-]+)*,? or [a-z0-9-]+", text)
    return re.split(r",? or |, ", listed.group()) if listed else []


def operands(node):
    """Kinds of the operands by position; those beyond the last are of the last kind if the usage ends in `...`."""
    out = []
    for usage in node["usage"].split(" | "):
        usage = re.sub(r"\[options\]|\[-[^\]]*\]|--[a-z-]+ \S+", "", usage)
        words = [w for w in re.sub(r"[\[\]]|\.\.\.", " ", usage).split() if w not in {s["name"] for s in node["subcommands"]}]
        for i, word in enumerate(words):
            out += [set()] if i == len(out) else []
            out[i] |= {kind_of(word)} - {None}
    return out


def options(node):
    as_options = [{"name": s["name"][2:], "letter": None, "metavar": "FILE", "help": s["summary"], "repeatable": False}
                  for s in node["subcommands"] if s["name"].startswith("--")]
    return node["options"] + as_options + [{"name": "help", "letter": "h", "metavar": None, "help": "print a summary and exit",
                               "repeatable": False}] + ([{"name": "version", "letter": None, "metavar": None,
                                                          "help": "print version, build and formats, and exit",
                                                          "repeatable": False}] if node is tree else [])


def with_value():
    """Options behind which the next word is a value, of all commands."""
    names = set()
    for _, node in commands(tree):
        for o in options(node):
            if o["metavar"]:
                names |= {"--" + o["name"]} | ({"-" + o["letter"]} if o["letter"] else set())
    return sorted(names)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


# ---- bash

def bash():
    out = ["# bash completion for %s. Made by tools/completions.py from the program's own option tables." % program,
           "_%s()" % program, "{", "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at=%s" % program,
           "    local options= subcommands= kinds= value= words= n=0 i",
           "    COMPREPLY=()",
           "    # bash splits --option=value at the =",
           "    [[ $cur == = ]] && cur=",
           "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}",
           "    for ((i = 1; i < COMP_CWORD; i++)); do",
           "        [[ ${COMP_WORDS[i-1]} == @(=|%s) ]] && continue # a value" % "|".join(with_value()),
           "        case \"$at ${COMP_WORDS[i]}\" in"]
    paths = [" ".join((program,) + p) for p, _ in commands(tree) if p]
    if paths:
        out.append("            " + "|".join("'%s'" % p for p in paths) + ") at=\"$at ${COMP_WORDS[i]}\" n=0 ;;")
    out += ["            *\\ -*|*\\ =) ;;", "            *) ((n++)) ;;", "        esac", "    done", "    case $at in"]
    for path, node in commands(tree):
        words = " ".join("--" + o["name"] for o in options(node))
        subs = " ".join(s["name"] for s in node["subcommands"] if not s["name"].startswith("-"))
        out += ["        '%s')" % " ".join((program,) + path), "            options='%s'" % words]
        if subs:
            out.append("            ((n == 0)) && subcommands='%s'" % subs)
        for o in options(node):
            if o["metavar"]:
                names = "|".join((["-" + o["letter"]] if o["letter"] else []) + ["--" + o["name"]])
                value = "words words='%s'" % " ".join(choices(o)) if choices(o) else kind_of(o["metavar"]) or "text"
                out.append("            [[ $prev == @(%s) ]] && value=%s" % (names, value))
        for i, kinds in enumerate(operands(node)):
            out.append("            ((n == %d)) && kinds='%s'" % (i, " ".join(sorted(kinds))))
        out.append("            ;;")
    out += ["    esac",
            "    [[ -n $value ]] && kinds=$value subcommands= options=",
            "    if [[ $cur == -* ]]; then", "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))", "        return",
            "    fi",
            "    COMPREPLY=($(compgen -W \"$subcommands\" -- \"$cur\"))",
            "    local kind", "    for kind in $kinds; do", "        case $kind in",
            "            words) COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\")) ;;",
            "            run) COMPREPLY+=($(compgen -W \"$(%s)\" -- \"$cur\")) ;;" % RUNS,
            "            profile) COMPREPLY+=($(compgen -W \"$(%s)\" -- \"$cur\")) ;;" % PROFILES,
            "            file) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- \"$cur\")) ;;",
            "            dir) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- \"$cur\")) ;;",
            "        esac", "    done", "}", "shopt -s extglob", "complete -F _%s %s" % (program, program)]
    return out


# ---- zsh

ZSH_KINDS = {"run": "_%s_runs" % program, "profile": "_%s_profiles" % program, "file": "_files", "dir": "_files -/"}


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_option(o):
    value = ""
    if o["metavar"]:
        kind = kind_of(o["metavar"])
        ways = "(%s)" % " ".join(choices(o)) if choices(o) else ZSH_KINDS[kind] if kind else ""
        value = ":%s:%s" % (zsh_text(o["metavar"]), ways)
    help_ = "[%s]" % zsh_text(o["help"])
    if o["repeatable"]:
        return quoted("*--%s%s%s" % (o["name"], help_, value))
    if o["letter"]:
        both = "-%s --%s" % (o["letter"], o["name"])
        return quoted("(%s)" % both) + "{-%s,--%s}" % (o["letter"], o["name"]) + quoted(help_ + value)
    return quoted("--%s%s%s" % (o["name"], help_, value))


def zsh_name(path):
    return "_" + "_".join((program,) + path)


def zsh():
    out = ["#compdef %s" % program, "# Made by tools/completions.py from the program's own option tables.", ""]
    if any("run" in k for _, n in commands(tree) for k in operands(n)):
        out += ["_%s_runs()" % program, "{", "    local -a runs", "    runs=(${(f)\"$(%s)\"})" % RUNS,
                "    _describe run runs", "}", ""]
    if program == "rbprofile":
        out += ["_%s_profiles()" % program, "{", "    local -a profiles", "    profiles=(${(f)\"$(%s)\"})" % PROFILES,
                "    _describe profile profiles", "}", ""]
    for path, node in reversed(list(commands(tree))):
        subs = [s for s in node["subcommands"] if not s["name"].startswith("-")]
        out += [zsh_name(path) + "()", "{"]
        positions = operands(node) or ([set()] if subs else [])
        if subs:
            out += ["    if ((CURRENT > 2)); then", "        case $words[2] in"]
            for s in subs:
                out.append("            %s) shift words; ((CURRENT--)); %s; return ;;" % (
                    s["name"], zsh_name(path + (s["name"],))))
            out += ["        esac", "    fi", "    local -a subcommands", "    subcommands=("]
            out += ["        " + quoted("%s:%s" % (s["name"], s["summary"].replace(":", "\\:"))) for s in subs] + ["    )"]
        out.append("    _arguments -S -s \\")
        out += ["        %s \\" % zsh_option(o) for o in options(node)]
        for i, kinds in enumerate(positions):
            ways = ["%ss:%s:%s" % (k, k, ZSH_KINDS[k]) for k in sorted(kinds)]
            if subs and i == 0:
                ways.insert(0, "subcommands:subcommand:((%s))" % " ".join(
                    "%s\\:%s" % (s["name"], re.sub(r"([^\w])", r"\\\1", s["summary"])) for s in subs))
            if ways:
                out.append("        %s \\" % quoted("%d: :_alternative %s" % (
                    i + 1, " ".join('"%s"' % w.replace('"', '\\"') for w in ways))))
        if out[-1].endswith(" \\"):
            out[-1] = out[-1][:-2]
        out += ["}", ""]
    out.append('_%s "$@"' % program)
    return out


# ---- fish

def fish():
    paths = [" ".join(p) for p, _ in commands(tree) if p]
    at = "__%s_at" % program
    out = ["# fish completion for %s. Made by tools/completions.py from the program's own option tables." % program,
           "function %s --argument-names expected position" % at,
           "    set -l words (commandline -opc)", "    set -l at", "    set -l n 0",
           "    set -l before",
           "    for word in $words[2..]",
           "        if contains -- \"$before\" %s" % " ".join(with_value()), "            set before",
           "            continue # a value", "        end", "        set before $word",
           "        set -l longer (string trim -- \"$at $word\")",
           "        if contains -- \"$longer\" %s" % " ".join(quoted(p) for p in paths) if paths else "        if false",
           "            set at $longer", "            set n 0",
           "        else if not string match -q -- '-*' $word", "            set n (math $n + 1)", "        end", "    end",
           "    test \"$at\" = \"$expected\"; and begin; test -z \"$position\"; or test $n -eq \"$position\"; end", "end",
           "complete -c %s -f" % program]
    fill = {"run": "-a %s" % quoted("(%s)" % RUNS), "profile": "-a %s" % quoted("(%s)" % PROFILES), "file": "-F",
            "dir": "-a '(__fish_complete_directories)'"}
    for path, node in commands(tree):
        here = " ".join(path)
        for s in node["subcommands"]:
            if not s["name"].startswith("-"):
                out.append("complete -c %s -n %s -a %s -d %s" % (program, quoted("%s '%s' 0" % (at, here)), s["name"],
                                                                quoted(s["summary"])))
        for o in options(node):
            line = "complete -c %s -n %s -l %s" % (program, quoted("%s '%s'" % (at, here)), o["name"])
            if o["letter"]:
                line += " -s " + o["letter"]
            if o["metavar"]:
                kind = kind_of(o["metavar"])
                line += " -r " + ("-f -a '%s'" % " ".join(choices(o)) if choices(o) else fill[kind] if kind else "-f")
            out.append(line + " -d " + quoted(o["help"]))
        for i, kinds in enumerate(operands(node)):
            for kind in sorted(kinds):
                out.append("complete -c %s -n %s %s" % (program, quoted("%s '%s' %d" % (at, here, i)), fill[kind]))
    return out


for lines, path in ((bash(), sys.argv[2]), (zsh(), sys.argv[3]), (fish(), sys.argv[4])):
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
