#!/usr/bin/env python3
"""The runner of the command-line cases must be able to fail: every expectation, broken once."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

import run_cli


def problems_of(text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        cases = run_cli.parse(f.name)
    return [problem for case in cases for problem in run_cli.run_case(case, "/usr/bin", os.sep)[0]]


class Runner(unittest.TestCase):
    def accepts(self, text):
        self.assertEqual(problems_of(text), [])

    def refuses(self, text, words):
        self.assertIn(words, "\n".join(problems_of(text)))

    def test_what_is_right_passes(self):
        self.accepts("= t\n$ echo a; echo b >&2; exit 3\n> a\n! b\n? 3\n")
        self.accepts("= t\n@ f\n| one\n| two\n$ cat f\n> one\n> two\n")
        self.accepts("= t\n$ seq 9\n> 1\n> ...\n> 9\n$ echo the year 2026\n> the ... 2...6\n")

    def test_stdout(self):
        self.refuses("= t\n$ echo b\n> a\n", "stdout differs")
        self.refuses("= t\n$ echo a\n", "stdout differs")
        self.refuses("= t\n$ true\n> a\n", "stdout differs")
        self.refuses("= t\n$ printf a\n> a\n", "stdout differs")
        self.refuses("= t\n$ seq 9\n> 1\n> ...\n> 8\n", "stdout differs")
        self.refuses("= t\n$ echo 'a b'\n> a...c\n", "stdout differs")
        self.refuses("= t\n$ printf 'a\\nb\\n'\n> a...b\n", "stdout differs")

    def test_stderr(self):
        self.refuses("= t\n$ echo b >&2\n! a\n", "stderr differs")
        self.refuses("= t\n$ echo a >&2\n", "stderr differs")
        self.refuses("= t\n$ echo 'planning: no offer' >&2\n", "stderr differs")

    def test_a_slow_machine(self):
        self.accepts("= t\n$ echo a >&2; echo 'planning: 30.0 s; Ctrl-C ends it' >&2; echo b >&2\n! a\n! b\n")
        self.accepts("= t\n$ echo 'simulating: 1 m 2 s; fewer --replicates take less' >&2\n")

    def test_exit_code(self):
        self.refuses("= t\n$ exit 1\n", "exit code 1, expected 0")
        self.refuses("= t\n$ true\n? 1\n", "exit code 0, expected 1")

    def test_exit_2_that_changed_something(self):
        self.refuses("= t\n$ touch f; exit 2\n? 2\n", "changed on disk: work/f")
        self.refuses("= t\n$ mkdir $HOME/.cache; exit 2\n? 2\n", "changed on disk: home/.cache")
        self.refuses("= t\n@ f\n| a\n$ echo b > f; exit 2\n? 2\n", "changed on disk: work/f")
        self.refuses("= t\n@ f\n| a\n$ rm f; exit 2\n? 2\n", "changed on disk: work/f")
        self.accepts("= t\n@ f\n| a\n$ cat f >/dev/null; exit 2\n? 2\n")

    def test_lines_that_mean_nothing(self):
        for text in ("$ true\n", "= t\n> a\n", "= t\n$ true\n% a\n", "= t\n| a\n", "= t\n$true\n"):
            with self.assertRaises(SystemExit):
                problems_of(text)

    def test_no_command_at_all_is_a_failure(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            sys.argv = ["run_cli.py", "--bin", ".", "--root", ".", f.name]
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stdout(io.StringIO()):
                run_cli.main()
        self.assertEqual(end.exception.code, "no command was run")


if __name__ == "__main__":
    unittest.main()
