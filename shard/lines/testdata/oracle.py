"""Writes lines of JSON, of text and of tables, and says what Python reads from them."""

import base64
import csv
import gzip
import io
import itertools
import json
import math
import random
import struct

import pandas

ENDS = {"lf": "\n", "crlf": "\r\n"}
STRINGS = ["", "plain", 'quotes " and, commas', "two\nlines\r\n", "tab\t", "ümlaut 日本 😀", "back\\slash", "\x07bell", "x" * 300]


def packed(args, text):
    """The file: with a byte order mark, without the last line end, or in members of gzip."""
    end = ENDS[args["end"]]
    data = text.encode()
    if args.get("cut"):
        data = data.removesuffix(end.encode())
    if args.get("mark"):
        data = b"\xef\xbb\xbf" + data
    if members := args.get("gzip"):
        at = [len(data) * i // members for i in range(members + 1)]
        data = b"".join(gzip.compress(data[a:b]) for a, b in itertools.pairwise(at))
    return data


def value(v, like=None):
    """A value as the suite writes it; like is the first record's, which says the type."""
    like = v if like is None else like
    if isinstance(like, bool):
        return {"type": "bool", "bytes": b64(bytes([bool(v)]))}
    if isinstance(like, int):
        return {"type": "int64", "bytes": b64(struct.pack("<q", v))}
    if isinstance(like, float):
        return {"type": "float64", "bytes": b64(struct.pack("<d", math.nan if v is None else v))}
    if isinstance(like, list):
        code, name = ("<d", "float64") if any(isinstance(x, float) for x in like) else ("<q", "int64")
        return {"type": f"{name} [{len(v)}]", "bytes": b64(b"".join(struct.pack(code, x) for x in v))}
    return {"type": "text", "bytes": b64(("" if v is None else v).encode())}


def b64(b):
    return base64.b64encode(b).decode()


def flat(record, path=""):
    out = {}
    for name, v in record.items():
        if isinstance(v, dict):
            out.update(flat(v, f"{path}{name}."))
        else:
            out[path + name] = v
    return out


def jsonl(args):
    r = random.Random(args.get("seed", 0))
    end, lines = ENDS[args["end"]], []
    for i in range(args["rows"]):
        record = {
            "text": r.choice(STRINGS),
            "meta": {"url": f"https://x/{i}", "deep": {"score": r.uniform(-1e9, 1e9), "n\u00fc": r.randrange(-(2**63), 2**63)}},
            "flag": r.random() < 0.5,
            "ids": [r.randrange(1000) for _ in range(1 + r.randrange(4))],
            "weights": [r.random() for _ in range(1 + r.randrange(4))],
            "skip": {},
        }
        ascii_only, spaces = r.random() < 0.5, r.choice([(",", ":"), (", ", ": "), (" ,\t", " : ")])
        lines.append(json.dumps(record, ensure_ascii=ascii_only, separators=spaces))
        if args.get("blank") and i % 3 == 1:
            lines.append(r.choice(["", "  ", "\t"]))
    data = packed(args, "".join(line + end for line in lines))
    want = [flat(json.loads(line)) for line in lines if line.strip()]
    return [{"fields": {k: value(v) for k, v in row.items()}} for row in want], data


def table(args):
    r = random.Random(args.get("seed", 0))
    comma = args.get("comma", ",")
    out = io.StringIO()
    w = csv.writer(out, delimiter=comma, lineterminator=ENDS[args["end"]], quoting=args.get("quoting", csv.QUOTE_MINIMAL))
    names = ["path", "a label", 'odd "name"' + comma, "score", "text"]
    w.writerow(names)
    for i in range(args["rows"]):
        # One that begins with a word, as a first value of digits would be a number.
        text = "first" if i == 0 else r.choice(STRINGS)
        w.writerow([f"images/{i}.jpg", r.randrange(-5, 10**12), "same", r.random(), text])
        if args.get("blank") and i % 3 == 1:
            out.write(ENDS[args["end"]])
    text = out.getvalue()
    data = packed(args, text)

    # Two readers, which have to agree before anything is compared with them.
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=comma) if row][1:]
    kinds = {"a label": int, "score": float}
    want = [{name: kinds.get(name, str)(v) for name, v in zip(names, row)} for row in rows]
    frame = pandas.read_csv(
        io.BytesIO(text.encode()), sep=comma, keep_default_na=False, float_precision="round_trip", lineterminator=None
    )
    theirs = frame.to_dict("records")
    assert [{k: v for k, v in row.items()} for row in theirs] == want, (theirs, want)
    return [{"fields": {k: value(v) for k, v in row.items()}} for row in want], data


def text(args):
    r = random.Random(args.get("seed", 0))
    lines = [r.choice(["", "a line", "ümlaut", "trailing blanks  ", "\ttab"]) for _ in range(args["rows"])] + ["the last"]
    end = ENDS[args["end"]]
    data = packed(args, "".join(line + end for line in lines))
    want = io.TextIOWrapper(io.BytesIO("".join(line + end for line in lines).encode()), "utf-8").read().splitlines()
    assert want == lines
    return [{"fields": {"text": value(line)}} for line in want], data


def accepts(args, *lines):
    """What Python's json reads from each line; null: an error."""
    out = []
    for line in lines:
        try:
            v = json.loads(line)
            out.append(isinstance(v, dict))
        except (ValueError, RecursionError):
            out.append(False)
    return (out,)
