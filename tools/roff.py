"""Markdown as the documents of this project use it (headings, paragraphs, lists, tables, fenced code, `code`, **bold**, links)
to man(7). No package is needed: a machine that only builds has none. Tables become lists of terms: a terminal has 80 columns."""
import re


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    text = text.replace("`", "\\(ga")
    for char, name in (("→", "\\(->"), ("≤", "\\(<="), ("≥", "\\(>="), ("·", "\\(pc"), ("⌈", "\\(lc"), ("⌉", "\\(rc"),
                       ("×", "\\(mu"), ("−", "\\-"), ("–", "\\(en"), ("—", "\\(em"), ("…", "..."), ("η", "\\(*y"),
                       ("α", "\\(*a"), ("β", "\\(*b"), ("γ", "\\(*g"), ("Σ", "\\(*S"), ("µ", "\\(mc"), ("²", "\\(S2"),
                       ("'", "\\(aq"), ("⌊", "\\(lf"), ("⌋", "\\(rf"), ("σ", "\\(*s"), ("∞", "\\(if"), ("√", "\\(sr"),
                       ("≈", "\\(~~"), ("“", "\\(lq"), ("”", "\\(rq"), ("’", "\\(cq")):
        text = text.replace(char, name)
    if not text.isascii():
        raise SystemExit("roff.py: no name is known for %s: add one" % [c for c in text if not c.isascii()])
    return text


def link_target(label, target):
    """A page of this project's formats is a man page; other documents are named by their path, once."""
    page = re.fullmatch(r"(?:docs/formats/|formats/)?([a-z-]+)\.md(?:#.*)?", target)
    if page and page.group(1) != "README":
        man = "rb-%s(5)" % page.group(1)
        return man if label in (page.group(1), page.group(1) + ".md") else "%s (%s)" % (label, man)
    return label


def inline(text):
    """One run of text. `code` is bold, as man pages set what is typed; **bold** too; *emphasis* italic."""
    out = []
    for part in re.split(r"(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]*\]\([^)]*\)|(?<![\w*])\*[^*\s][^*]*\*(?![\w*]))", text):
        if part.startswith("`") and part.endswith("`") and len(part) > 2:
            out.append("\\fB" + escape(part[1:-1]) + "\\fR")
        elif part.startswith("**") and len(part) > 4:
            out.append("\\fB" + escape(part[2:-2]) + "\\fR")
        elif re.fullmatch(r"\[[^\]]*\]\([^)]*\)", part):
            label, target = re.fullmatch(r"\[([^\]]*)\]\(([^)]*)\)", part).groups()
            out.append(inline(link_target(label, target)) if "`" in label else escape(link_target(label, target)))
        elif len(part) > 2 and part.startswith("*") and part.endswith("*"):
            out.append("\\fI" + escape(part[1:-1]) + "\\fR")
        else:
            out.append(escape(part))
    return "".join(out)


def text_lines(text):
    """Filled text, a sentence a line, none of which troff takes for a request."""
    text = inline(" ".join(text.split()))
    lines = re.split(r"(?<=[a-z0-9)R][.:;?!])(?<!e\.g\.)(?<!i\.e\.) (?=[A-Z\\`(])", text)
    out = []
    for line in lines:
        while len(line) > 110 and " " in line[60:110]:
            cut = line.rindex(" ", 60, 110)
            out.append(line[:cut])
            line = line[cut + 1:]
        out.append(line)
    return ["\\&" + line if line[:1] in (".", "'") else line for line in out if line]


def cells(row):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows):
    """First column: the term. Last: what it means. Between: `heading: cell`."""
    head, out = cells(rows[0]), []
    for row in rows[2:]:
        c = cells(row)
        between = ["%s: %s" % (h, v) for h, v in zip(head[1:-1], c[1:-1]) if v]
        out += [".TP", *(text_lines(c[0]) or ["\\&"])[:1]]
        facts, meaning = text_lines("; ".join(between)), text_lines(c[-1])
        out += [*facts, *([".br"] if facts and meaning else []), *meaning] or ["\\&"]
    return out + [".PP"]


def blocks(markdown):
    """(kind, lines) of each block."""
    kind, block, fenced = None, [], False
    for line in markdown.splitlines() + [""]:
        if line.startswith("```"):
            if not fenced:
                if block:
                    yield kind, block
                kind, block = "code", []
            else:
                yield kind, block
                kind, block = None, []
            fenced = not fenced
            continue
        if fenced:
            block.append(line)
            continue
        is_code = line.startswith("    ") and kind in (None, "code")
        new = ("heading" if re.match(r"#+ ", line) else "table" if line.startswith("|") else
               "item" if re.match(r"(-|\*|\d+\.) ", line) else "code" if is_code else None if not line.strip() else
               kind if kind in ("text", "item") else "text")
        if new == "heading" or new != kind or new == "item" and re.match(r"(-|\*|\d+\.) ", line):
            if block:
                yield kind, block
            kind, block = new, []
        if new:
            block.append(line)
    if block and kind:
        yield kind, block


def code(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    plain = [l[4:] if all(not x.strip() or x.startswith("    ") for x in lines) else l for l in lines]
    body = ["\\&" + escape(l) if l[:1] in (".", "'") else escape(l) if l.strip() else "\\&" for l in plain]
    return [".PP", ".RS 4", ".nf", *body, ".fi", ".RE"]


def body(markdown, shift=0):
    """Lines of man(7). Headings of level 1 (+ shift) are sections, deeper ones subsections."""
    out, fresh = [], True
    for kind, lines in blocks(markdown):
        if kind == "heading":
            level, title = re.match(r"(#+) +(.*)", lines[0]).groups()
            name = re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title))
            out.append((".SH " if len(level) + shift <= 1 else ".SS ") + '"%s"' % escape(
                name.upper() if len(level) + shift <= 1 else name).replace('""', ""))
            fresh = True
            continue
        if kind == "text":
            out += ([] if fresh else [".PP"]) + text_lines(" ".join(lines))
        elif kind == "item":
            out += [".IP \\(bu 2", *text_lines(re.sub(r"^(-|\*|\d+\.) +", "", " ".join(l.strip() for l in lines)))]
        elif kind == "table":
            out += table(lines)
        elif kind == "code":
            out += code(lines)[1 if fresh else 0:]
        fresh = False
    return tidy(out)


def tidy(lines):
    """No paragraph before a heading or another paragraph: mandoc calls that an empty one."""
    out = []
    for line in lines:
        while out and out[-1] == ".PP" and (line.startswith((".SH", ".SS", ".PP", ".IP", ".TP"))):
            out.pop()
        out.append(line)
    while out and out[-1] == ".PP":
        out.pop()
    return out


def title(name, section, version):
    return ['.\\" Made by tools/man_page.py: edit its sources, not this.',
            '.TH "%s" %d "%s" "rubberband %s" "Rubberband"' % (name.upper().replace("-", "\\-"), section, version[1],
                                                                version[0])]
