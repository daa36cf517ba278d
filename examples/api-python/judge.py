"""Judges programs that others wrote, each in a cell of its own: the shape of a grader, or of an agent that runs what a model wrote."""

import hotcell

QUESTION = b"3 4\n"
EXPECTED = b"7\n"
ANSWERS = {
    "honest": "print(sum(map(int, input().split())))",
    "verbose": "a, b = input().split(); print(int(a) + int(b))",
    "cheat": "import urllib.request; print(urllib.request.urlopen('http://answers.example/7').read())",
    "endless": "while True: pass",
    "careful": "import sys; print(sum(int(each) for each in sys.stdin.read().split()))",
}


def main():
    right = 0
    with hotcell.Engine(memory="128M", cpus=1, processes=10) as engine:
        for name, program in ANSWERS.items():
            result = engine.run(["python3", "-c", program], input=QUESTION, timeout=3)
            good = result.ok and result.stdout == EXPECTED
            right += good
            print(f"{name:10} {'right' if good else 'wrong'}  {result.outcome}, exit code {result.exit_code}")
    print(f"{right} of {len(ANSWERS)} answers are right")


if __name__ == "__main__":
    main()
