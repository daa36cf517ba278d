"""Tools with one planted bug each: a function takes the arguments and raises where the bug is. The schemas are those of
../schemas; find.c has the same bugs as predicates in C.

The same functions serve both sides: Hypothesis calls them in its own process (peer.py), hotcell through a tool that reads
lines (tool.py).
"""
import re
import sys
import unicodedata
from urllib.parse import unquote


class Planted(Exception):
    """What a bug raises."""


def texts(value):
    """Every text in a value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def numbers(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers(each)


# ---- read_file ----

def file_traversal(args):
    """Dots are refused before the path is decoded, not after."""
    if ".." in args["path"]:
        return
    if "../" in unquote(args["path"]):
        raise Planted("outside of the workspace")


def file_quote_zero(args):
    """Two conditions at once."""
    if '"' in args["path"] and args.get("offset") == 0:
        raise Planted("a quote at the beginning")


def file_offset(args):
    """One number of a million, where 16 bits end."""
    if args.get("offset") == 65536:
        raise Planted("the offset does not fit")


# ---- check_grammar ----

def grammar_control(args):
    """A verb is looked for where there is nothing to be seen."""
    if all(unicodedata.category(each) == "Cc" for each in args["sentence"]):
        raise Planted("no verb")


def grammar_format(args):
    """The sentence is used as a format."""
    if re.search(r"%[a-z]", args["sentence"]):
        raise Planted("not enough arguments for format string")


def grammar_focus(args):
    """A list and a number in different places."""
    if len(args.get("focus", ())) >= 3 and args.get("student", {}).get("age", 0) >= 100:
        raise Planted("too much for one lesson")


# ---- http_request ----

def http_splitting(args):
    """Header values are checked, unless they are in a list."""
    for value in args.get("headers", {}).values():
        if isinstance(value, list) and any("\r" in each for each in value):
            raise Planted("a header was split")


def http_port(args):
    found = re.match(r"https?://[^/:]*:([0-9]+)", args["url"])
    if found and int(found.group(1)) > 65535:
        raise Planted("port must be 0-65535")


def http_traversal(args):
    if "%2e%2e" in args["url"].lower():
        raise Planted("outside of the site")


# ---- query_table ----

def sql_drop(args):
    """What begins a comment is thought to end the statement."""
    for text in texts(args["operation"]):
        if "--" in text and "DROP" in text:
            raise Planted("a table was dropped")


def sql_int(args):
    if any(each == 2 ** 31 for each in numbers(args["operation"])):
        raise Planted("int too large to convert")


def sql_column_twice(args):
    columns = args["operation"].get("columns", ())
    if len(set(columns)) < len(columns):
        raise Planted("duplicate column name")


# ---- a tree ----

def depth(node):
    return 1 + max(map(depth, node.get("children", ())), default=0)


def weight(node):
    return node.get("weight", 0) + sum(map(weight, node.get("children", ())))


def tree_depth(args):
    if depth(args) >= 10:
        raise Planted("recursion limit")


def tree_weight(args):
    """A sum over the whole."""
    if weight(args) > 2500:
        raise Planted("too heavy")


# name: schema, function
BUGS = {
    "file-traversal": ("file-tool", file_traversal),
    "file-quote-zero": ("file-tool", file_quote_zero),
    "file-offset": ("file-tool", file_offset),
    "grammar-control": ("grammar-tutor", grammar_control),
    "grammar-format": ("grammar-tutor", grammar_format),
    "grammar-focus": ("grammar-tutor", grammar_focus),
    "http-splitting": ("http-tool", http_splitting),
    "http-port": ("http-tool", http_port),
    "http-traversal": ("http-tool", http_traversal),
    "sql-drop": ("sql-tool", sql_drop),
    "sql-int": ("sql-tool", sql_int),
    "sql-column-twice": ("sql-tool", sql_column_twice),
    "tree-depth": ("tree", tree_depth),
    "tree-weight": ("tree", tree_weight),
}

if __name__ == "__main__":
    for name, (schema, _) in BUGS.items():
        print(name, schema, file=sys.stdout)
