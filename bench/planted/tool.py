"""One of bugs.py as a tool: a JSON document a line in, one a line out. A bug ends it with a traceback.

    python3 tool.py BUG
"""
import json
import sys

from bugs import BUGS


def main():
    _, tool = BUGS[sys.argv[1]]
    for line in sys.stdin:
        tool(json.loads(line))
        print('{"ok": true}', flush=True)


if __name__ == "__main__":
    main()
