#!/usr/bin/env python3
"""Has Python's jsonschema judge the values that `suite --instances` made.

Usage: judge.py SUITE DRAFT <INSTANCES

Prints what is wrong, then one line: "ok DRAFT: ..." or "not ok DRAFT: ...". It is ok if no value is invalid and at
least 99 % of the schemas that some value fits got their values.
"""
import fractions
import json
import pathlib
import sys

import jsonschema
import jsonschema_specifications
import referencing
import referencing.jsonschema

CLASSES = {"draft2020-12": jsonschema.Draft202012Validator, "draft2019-09": jsonschema.Draft201909Validator,
           "draft7": jsonschema.Draft7Validator}
SPECIFICATIONS = {"draft2020-12": referencing.jsonschema.DRAFT202012, "draft2019-09": referencing.jsonschema.DRAFT201909,
                  "draft7": referencing.jsonschema.DRAFT7}
# What the judge itself gets wrong, with the reason; everything here is left out of both counts.
JUDGE_WRONG = {}


def exact(text):
    """Numbers as they are written: a float would make 1e400 infinite and 9007199254740992.5 whole."""
    number = fractions.Fraction(text)
    return number.numerator if number.denominator == 1 else number


def registry(suite, draft):
    found = jsonschema_specifications.REGISTRY
    for path in (suite / "remotes").rglob("*.json"):
        name = path.relative_to(suite / "remotes").as_posix()
        specification = SPECIFICATIONS.get(name.split("/")[0], SPECIFICATIONS[draft])
        contents = json.loads(path.read_text())
        resource = referencing.Resource.from_contents(contents, default_specification=specification)
        found = found.with_resource("http://localhost:1234/" + name, resource)
    return found


def main():
    suite, draft = pathlib.Path(sys.argv[1]), sys.argv[2]
    known = registry(suite, draft)
    schemas = good = values = invalid = 0
    for line in sys.stdin:
        made = json.loads(line, parse_float=exact)
        group = json.loads((suite / "tests" / draft / made["file"]).read_text(), parse_float=exact)[made["index"]]
        name = f"{made['file']}: {group['description']}"
        if name in JUDGE_WRONG:
            continue
        schemas += 1
        cls = jsonschema.validators.validator_for(group["schema"], default=CLASSES[draft])
        validator = cls(group["schema"], registry=known)
        bad = 0
        for value in made["values"]:
            values += 1
            if not validator.is_valid(value):
                bad += 1
                if bad == 1:
                    why = next(validator.iter_errors(value)).message
                    print(f"# invalid: {name}: {str(value)[:200]}: {why[:300]}")
        invalid += bad
        if made["error"]:
            print(f"# none: {name}: {made['error']}")
        elif not bad:
            good += 1
    ok = invalid == 0 and schemas > 100 and good >= 0.99 * schemas
    share = 100 * good / max(schemas, 1)
    print(f"{'ok' if ok else 'not ok'} {draft}: {good} of {schemas} schemas ({share:.1f} %), "
          f"{values} values, {invalid} of them invalid")
    return 0 if ok else 1


sys.exit(main())
