"""C explored by AFL++ in a cell: what it finds is done again by libFuzzer's build, what it keeps is the corpus."""

import base64
import json

from harness import hotcell

WORD = """
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
int word(const uint8_t *bytes, size_t len)
{
	if (len < 4 || bytes[0] != 'h' || bytes[1] != 'c')
		return 0;
	if (bytes[2] == '!')
		abort();
	for (volatile int i = 0; bytes[2] == '?' && bytes[3] == '?';)
		i = 0;
	return 1;
}
"""


def test_afl_finds_a_crash_that_is_done_again(tmp_path):
    (tmp_path / "word.c").write_text(WORD)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "one").write_bytes(b"hc..")
    ran = hotcell("fuzz", "function", "word.c:word", "--fuzzer", "afl++", "--duration", "8s", "--seed", "3", "--seed-corpus", "seeds",
                  "--json", "--quiet", cwd=tmp_path, timeout=120)  # fmt: skip
    assert ran.code == 1, ran.err
    result = json.loads(ran.out)
    finding = next(each for each in result["findings"] if each["oracle"] == "crash")
    assert base64.b64decode(finding["input"]).startswith(b"hc!") and finding["seen"] == finding["tried"] == 3
    assert finding["line"] == 10 and finding["file"] == "word.c"
    (target,) = result["targets"]
    assert target["execs"] > 100 and target["corpus"] > 1
    kept = [each.read_bytes() for each in (tmp_path / ".hotcell" / "corpus").glob("*/*")]
    assert any(each.startswith(b"hc") and each != b"hc.." for each in kept)
    again = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again.err
