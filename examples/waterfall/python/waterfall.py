"""A check that leaks its progress: every letter that is right leads one branch further, and behind the last is a fault."""


def check(word: str) -> int:
    if len(word) < 7:
        return 0
    if word[0] == "h":
        if word[1] == "o":
            if word[2] == "t":
                if word[3] == "c":
                    if word[4] == "e":
                        if word[5] == "l":
                            if word[6] == "l":
                                raise RuntimeError("the whole word was found")
                            return 6
                        return 5
                    return 4
                return 3
            return 2
        return 1
    return 0
