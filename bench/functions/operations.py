"""Three kinds of functions, as a call of each is measured inside a cell and outside."""


def simple(data: bytes) -> int:
    return len(data) + 1


def complex(data: bytes) -> int:
    """Some work, the same for every input."""
    total = len(data)
    for step in range(100):
        total = (total * 31 + step) % 65521
    return total


def crash(data: bytes):
    """Fails whatever it is given: each call is a failure that is noticed and told apart from the others."""
    raise KeyError("always")
