#!/usr/bin/env python3
"""Makes the small bases and heads under tests/golden/bases: variants that no larger test model has.

usage: make_base_variants.py [--check] [NAME...]

Weights are random; configs, names and files are those of the published models, written by transformers, safetensors and
torch themselves. Each base has golden/ with what transformers computes in float32 from the values in its files (the form of
the larger models' golden/, with texts, chats and answers of `tokenizers` and of the chat template beside them), each head what
a plain PyTorch head of the published arithmetic drafts after that base's rows. Tokenizers are those of
tools/tokenizer_variants.py. Needs the packages of tools/requirements-oracles.txt. With --check nothing is written: transformers
loads each base from its folder, and what it computes is compared with what is stored.
"""
import argparse
import json
import math
import shutil
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, GPTBigCodeConfig, GPTBigCodeForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.utils.chat_template_utils import render_jinja_template

ROOT = Path(__file__).resolve().parent.parent
TOKENIZERS = ROOT / "tests" / "golden" / "tokenizer"
OUT = ROOT / "tests" / "golden" / "bases"

TEXT = """def merge(left, right):
    # 1234 items, at most; it's sorted already
    result = []
    while left and right:
        result.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return result + left + right

Straße, naïve café: 日本語 и 12 345,67 € — don't  panic!\t🙂
"""
PROMPTS = ["def add(a, b):\n", "Once upon a time", " 7 + 35 = ", "naïve café 🙂"]
MARGIN = 4e-3  # of a greedy continuation that is kept: rounding cannot flip it
GREEDY_TOKENS = 24

TURNS = ("{{- bos_token -}}{%- for message in messages -%}{{- '[' + message['role'] + '] ' + message['content'] + '\\n' -}}"
         "{%- endfor -%}{%- if add_generation_prompt -%}{{- '[assistant] ' -}}{%- endif -%}")
QUESTION = "Question:\n{% for message in messages %}\n{{ message['content'] }}\n\n{% endfor %}\nAnswer:\n"

SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "rms_norm_eps": 1e-5, "max_position_embeddings": 512}


def llama(vocab, special, **changes):
    return LlamaForCausalLM(LlamaConfig(vocab_size=vocab, bos_token_id=special[0], eos_token_id=special[1], **{**SMALL, **changes}))


def gelu_bigcode(vocab, special):
    return GPTBigCodeForCausalLM(GPTBigCodeConfig(
        vocab_size=vocab, n_positions=256, n_embd=32, n_layer=2, n_head=4, n_inner=96, activation_function="gelu", multi_query=True,
        bos_token_id=special[0], eos_token_id=special[1], attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0))


# Name: the tokenizer's folder, its first and last special token, the model, the chat template.
BASES = {
    "bigcode-gelu": ("granite", ("<|end_of_text|>", "<|end_of_text|>"), gelu_bigcode, QUESTION),
    "llama-head80": ("metaspace-first", ("<s>", "</s>"), lambda v, s: llama(
        v, s, head_dim=80, num_attention_heads=3, num_key_value_heads=3, hidden_size=24, attention_bias=True, mlp_bias=True,
        tie_word_embeddings=True), TURNS),
    "llama2-linear": ("sentencepiece", ("<s>", "</s>"), lambda v, s: llama(
        v, s, tie_word_embeddings=False, rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}), TURNS),
    "llama3-rope": ("llama3", ("<|begin_of_text|>", "<|eot_id|>"), lambda v, s: llama(
        v, s, head_dim=16, tie_word_embeddings=False, rope_parameters={
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 48, "rope_theta": 10000.0}), TURNS),
}

HEADS = {
    "bigcode-gelu-accelerator": ("bigcode-gelu", "bin_shared", torch.float16, {
        "architectures": ["MLPSpeculatorPreTrainedModel"], "inner_dim": 16, "n_predict": 4, "top_k_tokens_per_head": [4, 3, 2, 2],
        "n_candidates": 4, "scale_input": False, "tie_weights": True}),
    "llama-head80-accelerator": ("llama-head80", "bin_every_stage", torch.bfloat16, {
        "architectures": ["MLPSpeculatorPreTrainedModel"], "inner_dim": 16, "n_predict": 3, "top_k_tokens_per_head": [5, 3, 2],
        "n_candidates": 5, "scale_input": True, "tie_weights": True}),
    "llama2-linear-accelerator": ("llama2-linear", "safetensors", torch.bfloat16, {
        "architectures": ["MLPSpeculatorPreTrainedModel"], "inner_dim": 0, "n_predict": 2, "top_k_tokens_per_head": [5, 3],
        "n_candidates": 5}),
    "llama3-rope-arctic": ("llama3-rope", "bin_bare", torch.bfloat16, {
        "architectures": "ArcticMLPSpeculatorPreTrainedModel", "inner_dim": 16, "n_predict": 3, "top_k_tokesns_per_head": [1, 1, 1],
        "n_candidates": 1, "scale_input": True, "tie_weights": False, "base_model_archs": ["LlamaForCausalLM"]}),
}


def randomise(parameters, seed, dtype):
    """Values that the stored type holds exactly; norms near one."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, p in parameters:
            scale = 0.2 if p.ndim == 1 else 1.6 / p.shape[-1] ** 0.5
            centre = 1.0 if p.ndim == 1 and name.endswith("weight") else 0.0
            p.copy_((torch.randn(p.shape) * scale + centre).to(dtype).float())


def published_config(model):
    """The spelling of the published configs: `rope_theta` beside `rope_scaling`."""
    config = model.config.to_diff_dict() | {"architectures": [type(model).__name__], "torch_dtype": "bfloat16"}
    config.pop("dtype", None)
    rope = config.pop("rope_parameters", None)
    if rope is not None:
        config |= {"rope_theta": rope.pop("rope_theta", 10000.0), "rope_scaling": rope if rope.get("rope_type", "default") != "default" else None}
    return config


@torch.no_grad()
def greedy(model, prompt):
    ids, margins = list(prompt), []
    for _ in range(GREEDY_TOKENS):
        top = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].topk(2)
        margins.append((top.values[0] - top.values[1]).item())
        ids.append(top.indices[0].item())
    return ids[len(prompt):], min(margins)


@torch.no_grad()
def make_base(name, out):
    tokenizer_name, special, build, template = BASES[name]
    folder = out / name
    (folder / "golden").mkdir(parents=True, exist_ok=True)
    shutil.copy(TOKENIZERS / tokenizer_name / "tokenizer.json", folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    vocab = tokenizer.get_vocab_size()
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": special[0], "eos_token": special[1]}) + "\n")
    (folder / "chat_template.jinja").write_text(template)

    texts = [TEXT, *PROMPTS]
    encoded = [tokenizer.encode(t).ids for t in texts]
    for seed in range(1, 100):  # the first whose continuations are decided
        model = build(vocab, [tokenizer.token_to_id(t) for t in special]).float().eval()
        model.set_attn_implementation("eager")
        randomise(model.named_parameters(), seed, torch.bfloat16)
        runs = [greedy(model, ids) for ids in encoded[1:]]
        if min(margin for _, margin in runs) > MARGIN:
            break
    else:
        raise SystemExit(f"{name}: no seed decides every continuation")
    state = {n: p.detach().to(torch.bfloat16).contiguous().clone() for n, p in model.named_parameters()}
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(published_config(model), indent=2) + "\n")

    ids = encoded[0][:160]
    rows = [0, len(ids) // 3, len(ids) - 1]
    logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()
    np.save(folder / "golden" / "logits.npy", logits[rows].numpy())
    top = logits.topk(2, -1).values
    messages = [{"role": "user", "content": "What is 7 + 35?"}]
    tokens = {"bos_token": special[0], "eos_token": special[1]}
    chat = render_jinja_template(conversations=[messages], chat_template=template, add_generation_prompt=True, **tokens)[0][0]
    data = {
        "ids": ids, "stored_rows": rows, "argmax": logits.argmax(-1).tolist(),
        "margin": [round(m, 5) for m in (top[:, 0] - top[:, 1]).tolist()],
        "logsumexp": [round(v, 5) for v in logits.logsumexp(-1).tolist()],
        "greedy": [{"prompt_ids": p, "ids": made, "smallest_margin": round(margin, 5)} for p, (made, margin) in zip(encoded[1:], runs)],
        "texts": [{"text": t, "ids": i, "decoded": tokenizer.decode(i, skip_special_tokens=False)} for t, i in zip(texts, encoded)],
        "answers": [tokenizer.decode(made) for made, _ in runs],
        "chat": {"messages": messages, "text": chat, "ids": tokenizer.encode(chat, add_special_tokens=False).ids},
    }
    (folder / "golden" / "golden.json").write_text(json.dumps(data, ensure_ascii=False) + "\n")
    return model, ids


class Head:
    """The published arithmetic of an MLPSpeculator head over its published tensors."""

    def __init__(self, config, dtype, seed):
        self.config = config
        vocab, hidden, stages = config["vocab_size"], config["emb_dim"], config["n_predict"]
        inner = config["inner_dim"] or hidden
        self.tensors = {}
        for i in range(stages):
            for kind, shape in (("emb", (vocab, inner)), ("proj", (inner, inner if i else hidden)), ("head", (vocab, inner))):
                self.tensors[f"{kind}.{i}.weight"] = torch.empty(shape)
            self.tensors[f"ln.{i}.weight"] = torch.empty(inner)
            self.tensors[f"ln.{i}.bias"] = torch.empty(inner)
        randomise(self.tensors.items(), seed, dtype)
        if config.get("tie_weights"):
            for name in self.tensors:
                kind, stage, leaf = name.split(".")
                first = min(int(stage), 1) if kind == "proj" else 0
                self.tensors[name] = self.tensors[f"{kind}.{first}.{leaf}"]
        share = 0.5 ** (0.5 / stages)
        self.alpha = math.sqrt((1 - share * share) * inner / 2) / share

    def stage(self, i, state, token):
        t = self.tensors
        if i == 0 and self.config.get("scale_input"):
            state = state * torch.rsqrt(state.pow(2).mean(-1, keepdim=True) + 1e-6) / math.sqrt(2)
        z = F.linear(state, t[f"proj.{i}.weight"]) + self.alpha * t[f"emb.{i}.weight"][token]
        z = z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + 1e-6) * t[f"ln.{i}.weight"] + t[f"ln.{i}.bias"]
        state = F.gelu(z)
        return state, F.linear(state, t[f"head.{i}.weight"])

    def chain(self, row, token):
        ids, margins, state = [], [], row[None]
        for i in range(self.config["n_predict"]):
            state, logits = self.stage(i, state, torch.tensor([token]))
            top = logits[0].topk(2)
            token = top.indices[0].item()
            margins.append(round((top.values[0] - top.values[1]).item(), 4))
            ids.append(token)
        return ids, margins

    def candidates(self, row, token, top_k, keep):
        beams = [([], 0.0, row[None], token)]
        for i, k in enumerate(top_k):
            grown = []
            for path, score, state, last in beams:
                after, logits = self.stage(i, state, torch.tensor([last]))
                best = logits[0].log_softmax(-1).topk(k)
                grown += [(path + [t], score + v, after, t) for v, t in zip(best.values.tolist(), best.indices.tolist())]
            beams = grown
        beams.sort(key=lambda beam: -beam[1])
        return [{"ids": beam[0], "score": round(beam[1], 5)} for beam in beams[:keep]]

    def save(self, folder, form, dtype):
        stored = {}  # one tensor of the stored type for each of ours, so that shared ones stay shared
        def of(name):
            tensor = self.tensors[name]
            return stored.setdefault(id(tensor), tensor.to(dtype))
        if form == "safetensors":
            state = {f"speculator.{n}": of(n) for n in self.tensors}
            save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
            return
        prefix = "" if form == "bin_bare" else "speculator."
        copies = form == "bin_every_stage"
        torch.save({prefix + n: of(n).clone() if copies else of(n) for n in self.tensors}, folder / "pytorch_model.bin")


@torch.no_grad()
def make_head(name, out, model, ids):
    base, form, dtype, settings = HEADS[name]
    folder = out / name
    (folder / "golden").mkdir(parents=True, exist_ok=True)
    config = {"model_type": "mlp_speculator", "emb_dim": model.config.hidden_size, "vocab_size": model.config.vocab_size, **settings,
              "torch_dtype": str(dtype).removeprefix("torch.")}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    head = Head(config, dtype, seed=7)
    head.save(folder, form, dtype)
    inside = model.model if hasattr(model, "model") else model.transformer
    rows = inside(input_ids=torch.tensor([ids]), use_cache=False).last_hidden_state[0]
    at = [3, len(ids) // 2, len(ids) - 2]
    np.save(folder / "golden" / "rows.npy", rows[at].numpy())
    top_k = settings.get("top_k_tokens_per_head") or settings["top_k_tokesns_per_head"]
    wide = [6, 4, 3, 2][: settings["n_predict"]]
    positions = []
    for p in at:
        chain, margins = head.chain(rows[p], ids[p + 1])
        positions.append({"position": p, "token": ids[p + 1], "chain": chain, "margins": margins,
                          "candidates": head.candidates(rows[p], ids[p + 1], top_k, settings["n_candidates"]),
                          "wide_top_k": wide, "wide": head.candidates(rows[p], ids[p + 1], wide, 8)})
    (folder / "golden" / "golden.json").write_text(json.dumps({"base": base, "ids": ids, "positions": positions}) + "\n")


@torch.no_grad()
def check_base(name):
    """What is wrong with a stored base; empty when nothing is."""
    golden = json.loads((OUT / name / "golden" / "golden.json").read_text())
    model = AutoModelForCausalLM.from_pretrained(OUT / name, dtype=torch.float32, attn_implementation="eager").eval()
    logits = model(input_ids=torch.tensor([golden["ids"]]), use_cache=False).logits[0]
    difference = (logits[golden["stored_rows"]] - torch.from_numpy(np.load(OUT / name / "golden" / "logits.npy"))).abs().max().item()
    wrong = [] if difference < 1e-4 else [f"logits differ by {difference}"]
    wrong += [f"another answer to {run['prompt_ids']}" for run in golden["greedy"] if greedy(model, run["prompt_ids"])[0] != run["ids"]]
    tokenizer = Tokenizer.from_file(str(OUT / name / "tokenizer.json"))
    wrong += [f"other ids of {t['text']!r}" for t in golden["texts"] if tokenizer.encode(t["text"]).ids != t["ids"]]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", default=list(BASES))
    options = parser.parse_args()
    torch.set_num_threads(2)
    if options.check:
        wrong = [f"{name}: {text}" for name in options.names for text in check_base(name)]
        print("\n".join([*wrong, f"make_base_variants: {len(options.names)} bases, {len(wrong)} differences"]))
        raise SystemExit(1 if wrong else 0)
    for name in options.names:
        model, ids = make_base(name, OUT)
        for head, (base, *_) in HEADS.items():
            if base == name:
                make_head(head, OUT, model, ids)


if __name__ == "__main__":
    main()
