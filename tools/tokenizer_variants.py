#!/usr/bin/env python3
"""Makes the small tokenizers and stored answers under tests/golden/tokenizer with the `tokenizers` package.

usage: tokenizer_variants.py [--out tests/golden/tokenizer] [NAME...]

Each folder NAME has a tokenizer.json trained on synthetic text and a vectors.json: texts with the package's ids, and id
sequences with the package's text. The folder of a model in models/ gets a vectors.json alone.
"""

import argparse
import json
import random
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizer_parity import Maker

ROOT = Path(__file__).resolve().parent.parent
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LAGUNA = (r"(?:\r?\n)+(?!\r?\n)", LLAMA3.replace("{1,3}", ""))
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIALS = ["<unk>", "<s>", "</s>"]


def corpus(seed):
    maker = Maker(seed, [])
    return [maker.text() for _ in range(400)] + ["the quick brown fox 'tis isn't 12345 " * 20] * 20


def train(model, pre_tokenizer, normalizer=None, size=420, alphabet=(), specials=(), limit=300, **more):
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=list(alphabet), special_tokens=list(specials), show_progress=False,
        limit_alphabet=limit, max_token_length=12, **more)
    tokenizer.train_from_iterator(corpus(7), trainer)
    return tokenizer


def edit(tokenizer, change):
    """The tokenizer after `change` to its JSON, for settings that the Python classes do not expose."""
    data = json.loads(tokenizer.to_str())
    change(data)
    return Tokenizer.from_str(json.dumps(data))


def legacy_merges(data):
    data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]


BYTES = pre_tokenizers.ByteLevel.alphabet()


def byte_level(stages, size=420, model=None, **settings):
    settings = {"add_prefix_space": False, "use_regex": False, **settings}
    chain = pre_tokenizers.Sequence([*stages, pre_tokenizers.ByteLevel(**settings)])
    tokenizer = train(model or models.BPE(), chain, size=size, alphabet=sorted(BYTES))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def split(regex, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(regex), behavior, invert)


def laguna():
    tokenizer = byte_level([split(LAGUNA[0], "merged_with_next"), split(LAGUNA[1])])
    tokenizer.add_special_tokens(["〈|EOS|〉", "〈|", "|〉", "〈|/"])
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="〈|EOS|〉 $A", pair="〈|EOS|〉 $A $B", special_tokens=[("〈|EOS|〉", tokenizer.token_to_id("〈|EOS|〉"))])
    return tokenizer


def granite():
    tokenizer = byte_level([pre_tokenizers.Digits(individual_digits=True)], use_regex=True)
    tokenizer.add_special_tokens(["<|end_of_text|>", "<fim_prefix>"])
    return edit(tokenizer, legacy_merges)


def gpt2_prefix_space():
    tokenizer = byte_level([pre_tokenizers.Digits(individual_digits=False)], use_regex=True, add_prefix_space=True)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 3), ("<s>", 5), trim_offsets=True)
    return tokenizer


def llama3():
    tokenizer = byte_level([split(LLAMA3)])
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|eot_id|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="$A $B", special_tokens=[("<|begin_of_text|>", begin)]),
    ])

    def change(data):
        data["model"]["ignore_merges"] = True
        data["model"]["merges"] = data["model"]["merges"][::2]  # words that only ignore_merges finds
        known = set(data["model"]["vocab"])
        data["model"]["merges"] = [m for m in data["model"]["merges"] if m[0] in known and m[1] in known]

    return edit(tokenizer, change)


def cased_regex():
    return byte_level([split(CASED)])


def sentencepiece():
    tokenizer = train(
        models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), pre_tokenizers.Metaspace(split=True, prepend_scheme="never"),
        normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        size=640, specials=SPECIALS + [f"<0x{b:02X}>" for b in range(256)], limit=150)
    tokenizer.pre_tokenizer = None
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])

    def change(data):
        data["added_tokens"] = data["added_tokens"][:3]
        for token in data["added_tokens"]:
            token["normalized"] = token["id"] == 2
        legacy_merges(data)

    return edit(tokenizer, change)


def metaspace_first():
    tokenizer = train(
        models.BPE(unk_token="<unk>", fuse_unk=False, byte_fallback=True), pre_tokenizers.Metaspace(prepend_scheme="first", split=True),
        size=500, specials=SPECIALS + [f"<0x{b:02X}>" for b in range(0x20, 0x7F)], limit=120)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=True), AddedToken("[X]", normalized=False)])
    return tokenizer


def metaspace_always():
    tokenizer = train(
        models.BPE(unk_token="<unk>", fuse_unk=False), pre_tokenizers.Metaspace(prepend_scheme="always", split=True),
        normalizer=normalizers.Sequence([
            normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip(left=True, right=True),
            normalizers.Replace(Regex(r"\s{2,}"), " ")]),
        size=420, specials=SPECIALS, limit=120)
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_tokens([AddedToken("STRASSE", normalized=True), AddedToken("ﬁx", normalized=True)])
    return tokenizer


def accents():
    tokenizer = train(
        models.BPE(unk_token="<unk>", fuse_unk=True), pre_tokenizers.Split(" ", "merged_with_previous"),
        normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()]),
        size=420, specials=SPECIALS, limit=200)
    return tokenizer  # no decoder: spaces between tokens


def compatibility():
    return train(
        models.BPE(unk_token="<unk>"), pre_tokenizers.Digits(individual_digits=False),
        normalizer=normalizers.Sequence([normalizers.NFKD(), normalizers.Strip(left=True, right=False)]),
        size=420, specials=SPECIALS, limit=200)


def affixes():
    tokenizer = train(
        models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"), split(r"\s+", "removed"),
        size=420, specials=SPECIALS, limit=60, continuing_subword_prefix="##", end_of_word_suffix="</w>")
    tokenizer.decoder = decoders.Sequence([decoders.Replace(Regex("</w>$"), " "), decoders.Fuse()])
    return tokenizer


def no_unknown():
    """Characters outside the vocabulary vanish; the byte alphabet is incomplete."""
    tokenizer = train(models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True), size=200, limit=64)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_level_normalizer():
    tokenizer = train(models.BPE(), split("Ġ", "merged_with_next"), normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()]),
                      size=420, alphabet=sorted(BYTES))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken("é é", normalized=True), AddedToken("<é>", normalized=False)])
    return tokenizer


def flags():
    tokenizer = byte_level([split(LLAMA3)])
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.add_tokens([
        AddedToken("<left>", lstrip=True, normalized=False), AddedToken("<right>", rstrip=True, normalized=False),
        AddedToken("<both>", lstrip=True, rstrip=True, normalized=False), AddedToken("word", single_word=True, normalized=False),
        AddedToken("Norm", normalized=True), AddedToken("wordy", single_word=True, normalized=True),
        AddedToken("<SPACE >", rstrip=True, normalized=True), AddedToken(" <b>", normalized=False), AddedToken("<both><left>", normalized=False),
        AddedToken("é", normalized=False), AddedToken("²", single_word=True, normalized=False),
    ])
    tokenizer.add_special_tokens([AddedToken("<|x|>", lstrip=True, normalized=False), AddedToken("<|Y|>", normalized=True)])
    return tokenizer


def behaviors():
    stages = [
        pre_tokenizers.Split(";", "merged_with_previous"), pre_tokenizers.Split("the", "merged_with_next"),
        split(r"\p{Lu}+", "contiguous"), split(r"[0-9a-f]{2}|\p{Han}", "isolated", invert=True), split(r"[^\w\s]", "merged_with_previous", invert=True),
        split(r"\t", "removed"), split("x*", "merged_with_next"), split(r"(?=[A-Z])", "isolated"),
    ]
    return byte_level(stages)


VARIANTS = {f.__name__.replace("_", "-"): f for f in (
    laguna, granite, gpt2_prefix_space, llama3, cased_regex, sentencepiece, metaspace_first, metaspace_always, accents, compatibility, affixes,
    no_unknown, byte_level_normalizer, flags, behaviors)}
MODELS = {"laguna-tiny": ROOT / "models/laguna-tiny-nvfp4"}


def vectors(tokenizer, seed=3, count=60):
    added = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
    maker = Maker(seed, added)
    r = random.Random(seed)
    texts = ["", " ", "a", "Hello, world! it's 12345", ">\n", "a\r\n\r\nb \n c", "'S 'll 'VE 'ſ", "\U000323af\U0001e4f9\ua7da", "日本語 한국어 עברית"]
    texts += [" ".join(added), "".join(added), "x".join(added), "  \n ".join(added)]
    while len(texts) < count:
        text = maker.text()
        if len(text) < 120:
            texts.append(text)
    encode = [{"text": t, "ids": tokenizer.encode(t, add_special_tokens=False).ids} for t in texts]
    size = max(tokenizer.get_vocab().values()) + 1
    special = tokenizer.encode("a b", add_special_tokens=True).ids
    sequences = [special] + [e["ids"] for e in encode if e["ids"]] + [[r.randrange(size) for _ in range(r.randint(1, 12))] for _ in range(25)]
    low = [i for i in range(size) if (t := tokenizer.id_to_token(i)) is not None and (len(t) == 1 or t.startswith("<0x"))]
    sequences += [[r.choice(low) for _ in range(r.randint(1, 8))] for _ in range(40)]
    decode = [{"ids": s, "text": tokenizer.decode(s, skip_special_tokens=False), "skipped": tokenizer.decode(s)} for s in sequences]
    return {"special": {"text": "a b", "ids": special}, "encode": encode, "decode": decode}


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "tests/golden/tokenizer")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for name, make in VARIANTS.items():
        if options.names and name not in options.names:
            continue
        tokenizer = make()
        write(options.out / name / "tokenizer.json", json.loads(tokenizer.to_str()))
        write(options.out / name / "vectors.json", vectors(Tokenizer.from_file(str(options.out / name / "tokenizer.json"))))
        print(name, tokenizer.get_vocab_size(), flush=True)
    for name, folder in MODELS.items():
        if not options.names or name in options.names:
            write(options.out / name / "vectors.json", vectors(Tokenizer.from_file(str(folder / "tokenizer.json")), count=100))
            print(name)


if __name__ == "__main__":
    main()
