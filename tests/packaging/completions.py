#!/usr/bin/env python3
"""Completion as a shell does it, in bash, zsh and fish: subcommands, options, files and run ids. Usage: completions.py BUILD
SHELL. Exit 77, a skip, where that shell is missing."""
import os
import shutil
import subprocess
import sys
import tempfile

build, shell = os.path.abspath(sys.argv[1]), sys.argv[2]
made = os.path.join(build, "packaging")
RUN = "tiny-20260101-120000-abcdef"

# command line -> what must be offered, what must not be
CASES = [
    ("rbrun st", ["status", "stop"], ["list"]),
    ("rbrun list --js", ["--json"], ["--db"]),
    ("rbrun status --state-d", ["--state-dir"], []),
    ("rbrun --po", ["--pool"], []),
    ("rbrun stop ", [RUN], ["plan.json"]),
    ("rbrun logs --state-dir . ", [RUN], []),
    ("rbrun pl", ["plan.json"], []),
    ("rbplan ex", ["explain"], ["diff"]),
    ("rbplan --deadl", ["--deadline"], ["--json"]),
    ("rbplan --prices pr", ["prices.csv"], ["explain"]),
    ("rbplan diff pl", ["plan.json"], ["explain"]),
    ("rbprofile pri", ["prices"], []),
    ("rbprofile prices up", ["update"], ["export"]),
    ("rbprofile prices update --fr", ["--from"], ["--gpus"]),
    ("rbprofile train --gp", ["--gpus"], ["--from"]),
    ("rbprofile export cif", ["cifar"], []),
    ("rbplan --planner gr", ["greedy"], ["static"]),
    ("rbmock --nodes ", ["loopback", "netns"], ["plan.json"]),
    ("rbsim --autoscale m", ["marginal"], ["utility"]),
    ("rbsim --pol", ["--policy"], []),
    ("rbmock --ch", ["--chaos"], ["--cloud"]),
    ("rbmock --cloud pr", ["prices.csv"], []),
]

# Programs that answer what completions ask, without a state of their own: rbrun list, rbprofile list.
STAND_INS = {
    "rbrun": '{"format":"rb-runs/1","runs":[{"run":"%s","outcome":"complete"}]}' % RUN,
    "rbprofile": '{\n  "format": "rb-profiles/1",\n  "profiles": [\n    {"name": "cifar"}]}',
}

BASH = r'''
source "$1/$2"; shift 2
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"_$1"
printf '%s\n' "${COMPREPLY[@]}"
'''

# A real line editor in a pseudo-terminal: what it offers is caught where completion adds its matches. $1: our functions, $2: the
# file of what was caught, then the lines.
ZSH = r'''
emulate -L zsh
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; unset zle_bracketed_paste; fpath=('"$1"' $fpath); autoload -Uz compinit; compinit -u -D'
zpty -w shell 'compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
    typeset -a __hits; builtin compadd -A __hits "$@"
    local hit; for hit in "${__hits[@]}"; do print -r -- "HIT $hit" >> '"$2"'; done
    builtin compadd "$@"
}'
zpty -w shell 'bindkey "^I" complete-word; LISTMAX=10000; print READY >> '"$2"
repeat 100; do [[ -s $2 ]] && break; sleep 0.1; done
out=$2; shift 2
for line; do
    print -r -- "LINE $line" >> $out
    zpty -w -n shell $'\025'"$line"$'\t'
    repeat 100; do sleep 0.05; [[ $(tail -n 1 $out) == HIT* ]] && break; done
    sleep 0.05
done
zpty -d shell
'''


def words(line):
    return line.split(" ")


def by_bash(lines, env, cwd):
    return {line: subprocess.run(["bash", "-c", BASH, "bash", made, words(line)[0], *words(line)], env=env, cwd=cwd,
                                 capture_output=True, text=True, timeout=20).stdout.splitlines() for line in lines}


def by_fish(lines, env, cwd):
    out = {}
    for line in lines:
        script = "source %s/%s.fish; complete -C '%s'" % (made, words(line)[0], line)
        done = subprocess.run(["fish", "--no-config", "-c", script], env=env, cwd=cwd, capture_output=True, text=True,
                              timeout=20)
        out[line] = [hit.split("\t")[0] for hit in done.stdout.splitlines()]
    return out


def by_zsh(lines, env, cwd):
    caught, out = os.path.join(cwd, ".caught"), {line: [] for line in lines}
    subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", made, caught, *lines], env=env, cwd=cwd, capture_output=True, text=True,
                   timeout=100)
    at = []
    for row in open(caught, encoding="utf-8").read().splitlines():
        if row.startswith("LINE "):
            at = out[row[5:]]
        elif row.startswith("HIT "):
            at.append(row[4:])
    return out


if not shutil.which(shell):
    print("%s is not installed: its completion has not been tried" % shell)
    sys.exit(77)
ask = {"bash": by_bash, "zsh": by_zsh, "fish": by_fish}[shell]
folder = tempfile.mkdtemp(prefix="rb-complete-")
failed = 0
try:
    for name in ("plan.json", "prices.csv", "job.yaml"):
        open(os.path.join(folder, name), "w").close()
    tools = os.path.join(folder, "bin")
    os.mkdir(tools)
    for name, text in STAND_INS.items():
        with open(os.path.join(tools, name), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\ncat <<'END'\n%s\nEND\n" % text)
        os.chmod(os.path.join(tools, name), 0o755)
    env = dict(os.environ, PATH=tools + ":" + build + ":" + os.environ["PATH"], HOME=folder, XDG_CONFIG_HOME=folder,
               XDG_DATA_HOME=folder, TERM="dumb")
    offers = ask([line for line, _, _ in CASES], env, folder)
    for line, wanted, unwanted in CASES:
        offered = [o.strip() for o in offers[line]]
        wrong = [w for w in wanted if w not in offered] + ["not " + u for u in unwanted if u in offered]
        if wrong:
            failed += 1
            print("%s: '%s' offers %s: expected %s" % (shell, line, offered[:20], wrong))
finally:
    shutil.rmtree(folder)
print("%s: %d command lines, %d failed" % (shell, len(CASES), failed))
sys.exit(1 if failed else 0)
