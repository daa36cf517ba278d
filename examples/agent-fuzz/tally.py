#!/usr/bin/python3
"""tally: a tiny language to be fuzzed. Usage: tally.py PROGRAM

    let apples = 3 + 4
    let apples = apples * (2 - 1)
    print apples % 4

A statement a line; blank lines and lines that begin with # are nothing. Numbers are whole and not
negative, with - before a factor for the others; + - * / % and parentheses do what they do elsewhere,
and / rounds down. A program that is wrong is told so in one line, "tally: line 2: ...", and ends
with 2. Whatever else happens is a bug of this file. There are some."""

import re
import sys

TOKEN = re.compile(r"\s*(?:([0-9]+)|([A-Za-z_][A-Za-z_0-9]*)|([-+*/%()=]))")


class Wrong(Exception):
    """The program is; not we."""


def tokens_of(line):
    tokens, at = [], 0
    line = line.rstrip()
    while at < len(line):
        found = TOKEN.match(line, at)
        if not found:
            raise Wrong(f"what is {line[at:].split()[0][:20]!r}?")
        tokens.append(found.group().strip())
        at = found.end()
    return tokens


class Line:
    """One statement's tokens, and the parser that goes through them."""

    def __init__(self, text, names):
        self.tokens, self.names = tokens_of(text), names

    def peek(self):
        return self.tokens[0] if self.tokens else None

    def take(self, *wanted):
        if wanted and self.peek() not in wanted:
            raise Wrong(f"expected {' or '.join(wanted)}, not {self.peek() or 'the end'}")
        return self.tokens.pop(0)

    def expression(self):
        value = self.term()
        while self.peek() in ("+", "-"):
            value = value + self.term() if self.take() == "+" else value - self.term()
        return value

    def term(self):
        value = self.factor()
        while self.peek() in ("*", "/", "%"):
            how, right = self.take(), self.factor()
            if how == "/" and right == 0:
                raise Wrong("division by zero")
            value = value * right if how == "*" else value // right if how == "/" else value % right
        return value

    def factor(self):
        if self.peek() == "-":
            self.take()
            return -self.factor()
        if self.peek() == "(":
            self.take()
            value = self.expression()
            self.take(")")
            return value
        token = self.take()
        if token.isdigit():
            return int(token)
        if token not in self.names:
            raise Wrong(f"nothing is called {token}")
        return self.names[token]

    def statement(self):
        if self.take("let", "print") == "print":
            print(self.expression())
        else:
            name = self.take()
            self.take("=")
            self.names[name] = self.expression()
        if self.tokens:
            raise Wrong(f"{self.peek()} comes too much")


def main(path):
    names = {}
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            try:
                Line(text, names).statement()
            except Wrong as wrong:
                print(f"tally: line {number}: {wrong}", file=sys.stderr)
                return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
