#!/usr/bin/env python3
"""Cuts a Hugging Face tokenizer.json (BPE) down to what given texts can touch.

    cut_tokenizer.py tokenizer.json texts.json cut.json

texts.json is an array of strings. Each of them has the same ids under the cut tokenizer as under the whole one: a merge
can happen only where its result is a substring of a text as the model sees it, so all other merges can go. What stays:
merges whose result is such a substring, the pieces they join and make, single characters of the texts, byte pieces,
special tokens, other added tokens that occur in a text, and the piece of the largest id. Ids stay as they are, so the cut has gaps, and merges keep
their order.

The model's view of a text is approximated from above: the normal forms are applied as well as not, blanks may be U+2581,
and byte-level vocabularies see each byte as its character. Words are not split, since that only takes substrings away."""
import json
import re
import sys
import unicodedata


def byte_characters():
    """The printable character that stands for each byte in byte-level vocabularies."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def uses(component, kind):
    """Whether a component, or one of its parts, is of this kind."""
    if isinstance(component, list):
        return any(uses(part, kind) for part in component)
    if not isinstance(component, dict):
        return False
    return component.get("type") == kind or any(uses(part, kind) for part in component.values())


def views(text, byte_level, added):
    """The texts that the model may see of this one. A blank may be put before each piece between added tokens."""
    forms = {text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD"))}
    if byte_level:
        table = byte_characters()
        return {"".join(table[byte] for byte in (" " + form).encode()) for form in forms}
    between = re.compile("|".join(map(re.escape, added)) or "(?!)")
    return {"\u2581" + piece.replace(" ", "\u2581") for form in forms for piece in [form, *between.split(form)]}


def substrings(texts, longest):
    """All of up to `longest` characters."""
    return {text[i:j] for text in texts for i in range(len(text)) for j in range(i + 1, min(i + longest, len(text)) + 1)}


def cut(tokenizer, texts):
    model = tokenizer["model"]
    vocab = model["vocab"]
    byte_level = uses(tokenizer["pre_tokenizer"], "ByteLevel")
    added = [token for token in tokenizer["added_tokens"]
             if token["special"] or any(token["content"] in text for text in texts)]
    contents = [token["content"] for token in added]
    seen = substrings({view for text in texts for view in views(text, byte_level, contents)}, max(map(len, vocab)))
    if byte_level:
        seen.update(byte_characters().values())

    kept = {piece for piece in vocab if len(piece) == 1 and piece in seen}
    kept |= {f"<0x{byte:02X}>" for byte in range(256)} & vocab.keys()
    merges = []
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left + right in seen:
            merges.append(merge)
            kept |= {left, right, left + right}
    kept |= (set(contents) | {max(vocab, key=vocab.get)}) & vocab.keys()
    if model["unk_token"]:
        kept.add(model["unk_token"])

    small = dict(tokenizer, added_tokens=added, model=dict(model, merges=merges))
    small["model"]["vocab"] = {piece: id for piece, id in vocab.items() if piece in kept}
    return small


def main():
    tokenizer_path, texts_path, out_path = sys.argv[1:]
    with open(tokenizer_path, encoding="utf-8") as file:
        tokenizer = json.load(file)
    with open(texts_path, encoding="utf-8") as file:
        texts = json.load(file)
    with open(out_path, "w", encoding="utf-8") as file:
        json.dump(cut(tokenizer, texts), file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
