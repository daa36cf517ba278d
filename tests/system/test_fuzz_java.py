"""Java methods and harnesses, fuzzed with Jazzer: planted faults are found, done again and kept; what cannot be made or is
missing is said."""

import base64
import json
import shutil

import pytest

from harness import ROOT, hotcell

ENGINE = ["--engine", f"java={ROOT / 'build-engines' / 'java'}"]  # see tools/setup.sh


def fuzz(folder, *words, engine=ENGINE):
    return hotcell("fuzz", "function", *words, *engine, "--no-deepen", "--json", "--quiet", cwd=folder, timeout=170)


def said(ran):
    return json.loads(ran.out)


def make(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_waterfall_in_java_is_found_and_reproduced(tmp_path):
    shutil.copy(ROOT / "examples" / "waterfall" / "java" / "Waterfall.java", tmp_path)
    ran = fuzz(tmp_path, "Waterfall.java:check", "--duration", "60s", "--seed", "7", "--max-findings", "1")
    assert ran.code == 1, ran.err
    result = said(ran)
    (finding,) = result["findings"]
    assert finding["oracle"] == "exception" and finding["subject"] == "check"
    assert finding["message"] == "java.lang.ArrayIndexOutOfBoundsException: Index 7 out of bounds for length 7"
    assert finding["frames"] == ["java.lang.ArrayIndexOutOfBoundsException", "Waterfall.check (Waterfall.java)"]
    assert (finding["file"], finding["line"]) == ("Waterfall.java", 18)
    assert finding["seen"] == finding["tried"] == 3 and base64.b64decode(finding["input"]) == b"hotcell"
    assert result["targets"][0]["execs"] > 1000
    again = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again.err


def test_java_goes_on_after_the_first_exception_and_expected_ones_are_none(tmp_path):
    make(tmp_path, "src/main/java/shop/Order.java", """package shop;
public class Order {
    static int deep(int n) { return n < 0 ? n : deep(n) + 1; }
    public static void take(String name, int[] many, boolean flag, char letter, byte[] data) {
        if (name == null || many == null || data == null) throw new Error("nothing");
        switch (data.length) {
        case 1: throw new IllegalArgumentException("declared");
        case 2: Price.of(data);
        case 3: deep(1);
        }
    }
}
""")
    make(tmp_path, "src/main/java/shop/Price.java", """package shop;
class Price {
    static void of(byte[] data) { Object nothing = data.length == 2 ? null : data; nothing.hashCode(); }
}
""")
    make(tmp_path, "pom.xml", "")
    seeds = tmp_path / "seeds"
    for size in range(1, 4):  # a share of none for each of the other parts, the letter and the flag; then data
        make(seeds, str(size), "d" * size + "\0\0" + "ab" + "\1")
    result = said(fuzz(tmp_path, "src/main/java/shop/Order.java:take", "--expect", "IllegalArgumentException", "--seed-corpus", seeds,
        "--duration", "60s", "--max-findings", "2"))
    found = {each["message"].split(":")[0]: each["frames"] for each in result["findings"]}
    assert found == {
        "java.lang.NullPointerException": ["java.lang.NullPointerException", "shop.Price.of (Price.java)", "shop.Order.take (Order.java)"],
        "java.lang.StackOverflowError": ["java.lang.StackOverflowError", "shop.Order.deep (Order.java)"],
    }, result


@pytest.mark.long
def test_a_harness_is_found_in_a_folder_told_first_and_run(tmp_path):
    make(tmp_path, "fuzz/WordFuzzer.java", """import com.code_intelligence.jazzer.api.FuzzedDataProvider;
class WordFuzzer {
    static boolean told;
    public static void fuzzerInitialize() { told = true; }
    public static void fuzzerTestOneInput(FuzzedDataProvider data) throws Exception {
        int number = data.consumeInt(3, 5);
        String word = data.consumeRemainingAsString();
        if (word.length() > 2) throw new java.io.IOException(told && number >= 3 && number <= 5 ? "told" : "not told");
    }
}
""")
    make(tmp_path, "Plain.java", "public class Plain { public static int f(int x) { return x; } }\n")
    result = said(fuzz(tmp_path, ".", "--duration", "60s", "--max-findings", "1"))
    assert [each["name"] for each in result["targets"]] == ["fuzz/WordFuzzer.java"]
    (finding,) = result["findings"]
    assert finding["message"] == "java.io.IOException: told" and finding["file"] == "fuzz/WordFuzzer.java", finding
    assert len(base64.b64decode(finding["input"])) <= 4, finding


def test_what_cannot_be_made_is_refused_by_its_parameter_and_what_is_missing_by_its_name(tmp_path):
    make(tmp_path, "Table.java", """import java.util.Map;
public class Table {
    public static int put(byte[] data, Map<String, Integer> table) { return 0; }
    static void hidden(byte[] data) {}
}
""")
    ran = fuzz(tmp_path, "Table.java:put", "--duration", "5s")
    assert ran.code not in (0, 1)
    assert "its parameter 2, 'java.util.Map<java.lang.String, java.lang.Integer> table', cannot be made from bytes" in \
        said(ran)["targets"][0]["problems"][0]
    ran = fuzz(tmp_path, "Table.java:hidden")
    assert ran.code == 2 and b"has no function 'hidden'; it has put" in ran.err
    (tmp_path / "empty").mkdir()
    ran = fuzz(tmp_path, "Table.java:put", "--duration", "5s", engine=["--engine", f"java={tmp_path / 'empty'}"])
    (problem,) = said(ran)["targets"][0]["problems"]
    assert problem.startswith("Jazzer is not there; to install it: ") and "com.code-intelligence" in problem


def test_a_method_is_called_with_what_fits_its_schema_without_jazzer(tmp_path):
    make(tmp_path, "Shapes.java", """import java.util.*;
public class Shapes {
    enum Kind { circle, square }
    static { System.out.println("noise"); }
    static int deep(List<Integer> sizes) { return deeper(sizes) + 1; }
    static int deeper(List<Integer> sizes) { return deep(sizes) + 1; }
    public static int area(Kind kind, List<Integer> sizes, Optional<Map<String, byte[]>> more) {
        System.out.println("noise");
        if (more.isPresent()) throw new Error("nothing gave it");
        if (sizes.isEmpty()) throw new NullPointerException("declared");
        if (kind == Kind.square && sizes.size() == 3) return deep(sizes);
        return sizes.size();
    }
    public static void unmade(String name, Thread thread) {}
}
""")
    make(tmp_path, "s.json", json.dumps({"type": "object", "required": ["kind", "sizes"], "additionalProperties": False, "properties": {
        "kind": {"enum": ["circle", "square"]}, "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 4}}}))
    words = ["--schema", "s.json", "--max-execs", "200", "--seed", "5"]

    def schema(*more):  # --no-deepen is of engines
        return hotcell("fuzz", "function", *more, *words, "--json", "--quiet", cwd=tmp_path, timeout=170)

    ran = schema("Shapes.java:area", "--expect", "NullPointerException")
    result = said(ran)
    (finding,) = result["findings"]
    assert ran.code == 1 and finding["message"] == "java.lang.StackOverflowError" and finding["kind"] == "function-java"
    assert finding["frames"] == ["Shapes.deep (Shapes.java)", "Shapes.deeper (Shapes.java)"] and finding["file"] == "Shapes.java"
    assert json.loads(finding["input"]) == {"kind": "square", "sizes": [0, 0, 0]}
    assert result["tools"][0]["rejected"] > 0 and result["tools"][0]["ok"] > 0 and result["tools"][0]["broken"] == 0
    again = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again.err
    ran = schema("Shapes.java:unmade")
    assert ran.code == 4 and b"its parameter 2, 'java.lang.Thread thread', cannot be made from a document" in ran.err, ran
