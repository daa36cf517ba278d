"""One of bugs.py as a tool: a JSON document a line in, one a line out. As many tools do, it answers with what was raised.

    python3 tool.py BUG
"""
import json
import sys
import traceback

from bugs import BUGS


def main():
    _, tool = BUGS[sys.argv[1]]
    for line in sys.stdin:
        answer = {"ok": True}
        try:
            tool(json.loads(line))
        except Exception:  # whatever it is
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
