"""A reader of lists and words, one call a level: a long row of brackets is more than Python's stack takes."""


def parse(text: str):
    value, at = read(text, 0)
    if at != len(text):
        raise ValueError("something follows")
    return value


def read(text, at):
    if text[at : at + 1] == "[":
        return read_list(text, at + 1)
    end = at
    while text[end : end + 1].isalnum():
        end += 1
    if end == at:
        raise ValueError("no value")
    return text[at:end], end


def read_list(text, at):
    items = []
    while text[at : at + 1] != "]":
        item, at = read(text, at)
        items.append(item)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "]":
            raise ValueError("a list that does not end")
    return items, at + 1
