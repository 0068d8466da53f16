"""The runner of pages is shown able to fail: pages that are wrong in one way each."""
import argparse
import contextlib
import io
import os
import pathlib
import tempfile
import unittest

import check_links
import page as pages
import run_docs
import said


def read(text):
    """The counts and the complaints of a page."""
    count, printed = run_docs.Count(), io.StringIO()
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "examples"))
        path = os.path.join(root, "page.md")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        args = argparse.Namespace(bin=root, root=root, show=False, write=False, sources=False)
        with contextlib.redirect_stdout(printed):
            run_docs.read_page(path, args, count, {})
    return count, printed.getvalue()


def console(*lines, info="console", before=""):
    return before + "\n```%s\n%s\n```\n" % (info, "\n".join(lines))


class Pages(unittest.TestCase):
    def accept(self, text, commands):
        count, printed = read(text)
        self.assertEqual((count.failed, count.commands), (0, commands), printed)
        return count

    def refuse(self, text, *words):
        count, printed = read(text)
        self.assertEqual(count.failed, 1, printed)
        for word in words:
            self.assertIn(word, printed)

    def test_what_is_as_said(self):
        self.accept(console("$ echo one; echo two >&2", "one", "two", "$ cd examples", "$ basename $PWD", "examples"), 3)

    def test_another_output(self):
        self.refuse(console("$ echo one", "two"), "page.md:3", "-two", "+one")

    def test_output_that_the_page_does_not_show(self):
        self.refuse(console("$ echo one"), "+one")

    def test_output_that_does_not_come(self):
        self.refuse(console("$ true", "one"), "-one")

    def test_failure_must_be_shown(self):
        self.refuse(console("$ false"), "exit code 1")
        self.accept(console("$ false", "$ echo $?", "1"), 2)
        self.refuse(console("$ false", "$ echo $?", "2"), "+1")

    def test_elision(self):
        self.accept(console("$ seq 9", "1", "...", "9"), 1)
        self.refuse(console("$ seq 9", "1", "...", "8"), "+9")

    def test_variables_last(self):
        self.accept(console("$ export A=1", before="text") + console("$ echo $A", "1"), 2)

    def test_several_lines(self):
        self.accept(console("$ echo \\", "  one", "one"), 1)

    def test_measured_numbers_have_a_kind(self):
        line = "took 1.5 s and $0.20, 12 % of 3 trials"
        self.accept(console('$ echo "took 2 m 7 s and \\$1.99, 3 % of 3 trials"', line, info="console measured"), 1)
        self.refuse(console('$ echo "took 2 m 7 s and \\$1.99, 3 % of 4 trials"', line, info="console measured"), "4 trials")
        self.refuse(console('$ echo "took \\$2 and \\$1.99, 3 % of 3 trials"', line, info="console measured"), "MONEY and")
        self.refuse(console('$ echo "took 2 s"', "took 3 s"), "-took 3 s")

    def test_files(self):
        text = "Save this as `a.txt`.\n\n```text name=a.txt\nhello\n```\n"
        self.assertEqual(self.accept(text + console("$ cat a.txt", "hello"), 1).files, 1)
        self.refuse(text.replace("`a.txt`", "a file"), "does not say to save this as `a.txt`")

    def test_not_run_needs_a_reason(self):
        count = self.accept(console("$ false", before="<!-- not run: it costs money -->"), 0)
        self.assertEqual([step.reason for _, step in count.not_run], ["it costs money"])
        self.refuse(console("$ false", before="<!-- not run: -->"), "exit code 1")

    def test_commands_elsewhere_are_a_mistake(self):
        self.refuse("```\nrbplan job.yaml\n```\n", "console")
        self.refuse("```sh\ntrue\n```\n", "console")
        self.refuse("Then\n\n    rbplan job.yaml\n", "line 3")

    def test_the_background(self):
        self.accept(console("$ (sleep 0.2; echo ready; sleep 60) &", "ready", "$ echo on", "on"), 2)

    def test_blocks_end(self):
        with self.assertRaises(pages.Mistake):
            pages.steps("```console\n$ true\n")

    def test_ids_and_instants_are_always_new(self):
        self.assertTrue(said.agrees(["run a-20260101-010101-abcdef at 2026-01-01T00:00:00Z"],
                                    ["run a-20261121-235959-zzzzzz at 2026-11-21T23:59:59.5Z"], False))
        self.assertFalse(said.agrees(["run a-20260101-010101-abcdef"], ["run b-20260101-010101-abcdef"], False))

    def test_files_that_are_gone_are_found(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "base"))
            pathlib.Path(root, "base", "here.c").touch()
            page = pathlib.Path(root, "page.md")
            page.write_text("`base/here.c`, ~/base/x.c, `build/base/x.c` and `base/new.c`:\n\n```c name=base/new.c\n```\n", encoding="utf-8")
            self.assertEqual(list(check_links.files_gone(page.parent, page)), [])
            page.write_text("See base/here.c,\nand base/gone.c.\n", encoding="utf-8")
            self.assertEqual(list(check_links.files_gone(page.parent, page)), ["page.md:2: there is no base/gone.c in the tree"])


if __name__ == "__main__":
    unittest.main()
