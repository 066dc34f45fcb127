"""Compares a client's transcript (standard input) and the workspace it left with `conversation.json`.

usage: check_conversation.py REVISION WORKSPACE

Prints one line for everything that is not as it should be; the exit status is 1 if there was any.
"""

import json
import re
import sys
from pathlib import Path

# What may stand in an expected text for a part that differs from run to run.
PLACEHOLDERS = {
    "{any}": r"[\s\S]*",
    "{minute}": r"\d{4}-\d\d-\d\dT\d\d:\d\d",
    "{instant}": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d",
}
# Every SDK waits two seconds after it closed the server's input, then it kills.
PATIENCE_SECONDS = 2


def pattern(text):
    parts = re.split("(" + "|".join(map(re.escape, PLACEHOLDERS)) + ")", text)
    return "".join(PLACEHOLDERS.get(part, re.escape(part)) for part in parts)


def same(expected, found):
    """Equality, except that strings may hold placeholders."""
    if expected == "{any}":
        return True
    if isinstance(expected, str):
        return isinstance(found, str) and re.fullmatch(pattern(expected), found) is not None
    if isinstance(expected, dict):
        same_keys = isinstance(found, dict) and expected.keys() == found.keys()
        return same_keys and all(same(expected[key], found[key]) for key in expected)
    if isinstance(expected, list):
        return isinstance(found, list) and len(expected) == len(found) and all(map(same, expected, found))
    # 0 equals False in Python, but not on the wire.
    return isinstance(expected, bool) == isinstance(found, bool) and expected == found


def problems_of_an_answer(turn, answer):
    texts = [block.get("text") for block in answer["content"]]
    if len(texts) != 1:
        yield f"expected one text block, found {answer['content']}"
        return
    if "refused" in turn:
        # Text only, as one client line throws the error away where structured content comes with it.
        if answer.get("isError") is not True or "structuredContent" in answer:
            yield f"expected an error of text only, found {answer}"
        if not re.fullmatch(rf"{turn['refused']}: [^\n]+\nhint: [^\n]+\n?", texts[0]):
            yield f"expected `{turn['refused']}: …` and `hint: …`, found {texts[0]!r}"
        return
    found = answer.get("structuredContent")
    if answer.get("isError") or not same(turn["answer"], found):
        yield f"expected {turn['answer']}, found {texts[0] if found is None else found}"
    elif json.loads(texts[0]) != found:
        yield f"the text block says {texts[0]}, the structured content {found}"


def problems(conversation, transcript, revision, workspace):
    if transcript["revision"] != revision:
        yield f"expected protocol revision {revision}, found {transcript['revision']}"
    # Where no handshake and no discovery took place, nobody has told the name.
    if transcript.get("server") not in ("companion-memory", None):
        yield f"the server calls itself {transcript['server']}"
    if transcript["close_seconds"] >= PATIENCE_SECONDS:
        yield f"the server did not end when its input was closed ({transcript['close_seconds']:.1f} s)"
    # Without a published schema the SDKs would have had nothing to check the results against.
    with_schema = {tool["name"] for tool in transcript["tools"] if "outputSchema" in tool}
    for tool in sorted({turn["call"] for turn in conversation["turns"]} - with_schema):
        yield f"`{tool}` is not listed with an output schema"
    for number, (turn, answer) in enumerate(zip(conversation["turns"], transcript["answers"], strict=True), 1):
        for problem in problems_of_an_answer(turn, answer):
            yield f"turn {number}, {turn['call']}: {problem}"
    for name, lines in conversation["files"].items():
        text = (workspace / name).read_text("utf-8")
        expected = "\n".join(lines) + "\n"
        if not re.search("^" + pattern(expected), text, re.MULTILINE):
            yield f"{name} does not hold\n{expected}but\n{text}"


def main(revision, workspace):
    conversation = json.loads(Path(__file__).with_name("conversation.json").read_text("utf-8"))
    found = list(problems(conversation, json.load(sys.stdin), revision, Path(workspace)))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


sys.exit(main(*sys.argv[1:]))
