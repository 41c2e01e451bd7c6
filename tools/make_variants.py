#!/usr/bin/env python3
"""Writes tests/golden/variants: one small random checkpoint for each layout, config shape and drafter, with its outputs.

usage: make_variants.py [--check] [NAME...]

The tensors are what compressed-tensors and MLX write; the outputs are computed by laguna_reference.py in float64 from
the values that the stored tensors decompress to. `tolerance` in golden.json is derived: sixteen times what the same
forward in float32 differs by, since another order of the same sums rounds otherwise. --check writes nothing: it computes
every stored output again and, where the variant is one that transformers has, compares with transformers too.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

import make_format_vectors as formats
import mlx.core as mx
import numpy as np
import torch
from laguna_reference import Drafter, Target, read_drafter, read_target
from safetensors.torch import save_file

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "variants"
FULL, SLIDING = "full_attention", "sliding_attention"
VOCABULARY, TOKENS, STEPS = 64, 72, 24
STORED_ROWS = [0, 1, 23, 24, 25, 47, 71]  # around the window's edge, first and last
YARN = {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 8.0, "original_max_position_embeddings": 64,
        "beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": 1.2, "partial_rotary_factor": 0.5}
PLAIN_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
CT_FORMATS = {"nvfp4": "nvfp4-pack-quantized", "fp8": "float-quantized", "int4": "pack-quantized", "int8": "pack-quantized"}


def base_config(**changes):
    config = {
        "architectures": ["LagunaForCausalLM"], "model_type": "laguna", "vocab_size": VOCABULARY, "hidden_size": 32,
        "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "moe_routed_scaling_factor": 2.5,
        "norm_topk_prob": True, "sliding_window": 24, "gating": "per-head", "num_attention_heads_per_layer": [2, 4, 2],
        "layer_types": [FULL, SLIDING, FULL], "mlp_layer_types": ["dense", "sparse", "sparse"],
        "rope_parameters": {FULL: YARN, SLIDING: PLAIN_ROPE}, "bos_token_id": 2, "eos_token_id": [2, 24], "pad_token_id": 9,
        "attention_bias": False, "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
    return {key: value for key, value in (config | changes).items() if value is not None}


def published(config, seed, joined=False):
    """Random weights under the published names: linear layers by module, everything else by tensor name."""
    random = torch.Generator().manual_seed(seed)
    hidden, d, kv = config["hidden_size"], config["head_dim"], config["num_key_value_heads"]
    linears, others = {}, {}

    def linear(name, out, columns, gain=1.2):
        linears[name] = torch.randn(out, columns, generator=random) * gain / columns**0.5

    def vector(name, size, center=1.0, spread=0.3):
        others[name] = center + spread * torch.randn(size, generator=random)

    def mlp(name, inner):
        if joined:
            linear(f"{name}.gate_up_proj", 2 * inner, hidden)
        else:
            linear(f"{name}.gate_proj", inner, hidden)
            linear(f"{name}.up_proj", inner, hidden)
        linear(f"{name}.down_proj", hidden, inner)

    linear("model.embed_tokens", VOCABULARY, hidden, gain=hidden**0.5)
    linear("lm_head", VOCABULARY, hidden)
    vector("model.norm.weight", hidden)
    for i, heads in enumerate(config["num_attention_heads_per_layer"]):
        name = f"model.layers.{i}"
        vector(f"{name}.input_layernorm.weight", hidden)
        vector(f"{name}.post_attention_layernorm.weight", hidden)
        for part, out in (("q", heads * d), ("k", kv * d), ("v", kv * d), ("g", heads)):
            linear(f"{name}.self_attn.{part}_proj", out, hidden)
        linear(f"{name}.self_attn.o_proj", hidden, heads * d)
        vector(f"{name}.self_attn.q_norm.weight", d)
        vector(f"{name}.self_attn.k_norm.weight", d)
        if config.get("swa_attention_sink_enabled") and config["layer_types"][i] == SLIDING:
            vector(f"{name}.self_attn.sink", heads, center=0.5, spread=1.0)
        if config["mlp_layer_types"][i] == "dense":
            mlp(f"{name}.mlp", config["intermediate_size"])
            continue
        linear(f"{name}.mlp.gate", config["num_experts"], hidden)
        vector(f"{name}.mlp.experts.e_score_correction_bias", config["num_experts"], center=0.0, spread=0.1)
        for expert in range(config["num_experts"]):
            mlp(f"{name}.mlp.experts.{expert}", config["moe_intermediate_size"])
        mlp(f"{name}.mlp.shared_expert", config["shared_expert_intermediate_size"])
    return linears, others


def affine(weight, bits, group):
    parts = mx.quantize(mx.array(weight.numpy()).astype(mx.bfloat16), group, bits)
    return dict(zip(("weight", "scales", "biases"), map(formats.to_torch, parts)))


def mlx_nvfp4(weight):
    parts = mx.quantize(mx.array(weight.numpy()), 16, 4, mode="nvfp4")
    return dict(zip(("weight", "scales"), map(formats.to_torch, parts)))


def store(weight, how):
    """The tensors of one linear layer; `how` is a plain type, a kind of compressed-tensors, or (MLX kind, group)."""
    if isinstance(how, tuple):
        kind, group = how
        return mlx_nvfp4(weight) if kind == "mlx_nvfp4" else affine(weight, int(kind[-1]), group)
    if how in TYPES:
        return {"weight": weight.to(TYPES[how])}
    variant = {"fp8": {"strategy": "block", "scale": "f32"}, "int4": {"group": 32, "scale": "bf16"},
               "int8": {"group": 16, "scale": "bf16"}, "nvfp4": {}}[how]
    parts = formats.compress(weight, how, variant)
    return parts | ({"input_global_scale": torch.tensor([100.0])} if how == "nvfp4" else {})


def stored(linears, others, choose, plain="bf16"):
    """The file's tensors: linear layers as choose(module) says; norms in `plain`, router biases in f32."""
    tensors = {}
    for name, weight in linears.items():
        tensors |= {f"{name}.{leaf}": part for leaf, part in store(weight, choose(name)).items()}
    for name, vector in others.items():
        tensors[name] = vector.float() if name.endswith("e_score_correction_bias") else vector.to(TYPES[plain])
    return tensors


def stack_experts(tensors, config, into):
    """Per-expert tensors as one stack each: `into` is the module's name, with or without a leaf below."""
    experts = config["num_experts"]
    for first in [name for name in tensors if ".experts.0." in name]:
        stem, leaf = first.split(".experts.0.")
        stack = torch.stack([tensors.pop(f"{stem}.experts.{e}.{leaf}") for e in range(experts)])
        tensors[f"{stem}.{into}.{leaf}" if into == "switch_mlp" else f"{stem}.{into}.{leaf.removesuffix('.weight')}"] = stack
    return tensors


def rename(tensors, **pairs):
    for old, new in pairs.items():
        tensors = {name.replace(old, new): tensor for name, tensor in tensors.items()}
    return tensors


def plain_target(config, seed, kind="bf16"):
    return config | {"torch_dtype": {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}[kind]}, stored(
        *published(config, seed), lambda name: kind, kind)


def fused_experts(seed):
    config = base_config()
    tensors = stack_experts(stored(*published(config, seed, joined=True), lambda name: "bf16"), config, "experts")
    # transformers joins the experts' gate and up alone.
    for name in [name for name in tensors if name.endswith("gate_up_proj.weight")]:
        gate, up = tensors.pop(name).chunk(2)
        tensors[name.replace("gate_up", "gate")], tensors[name.replace("gate_up", "up")] = gate.clone(), up.clone()
    tensors = rename(tensors, shared_expert="shared_experts")
    return config, rename(tensors, **{"experts.e_score_correction_bias": "gate.e_score_correction_bias"})


def mlx_target(config, seed, choose, joined=False):
    tensors = stored(*published(config, seed, joined), choose)
    tensors = rename(stack_experts(tensors, config, "switch_mlp"),
                     **{"experts.e_score_correction_bias": "gate.e_score_correction_bias"})
    bits = {"group_size": 64, "bits": 4}
    for name in sorted({name.rpartition(".")[0] for name in tensors if name.endswith(".scales")}):
        kind, group = choose(name)
        bits[name] = {"group_size": group, "bits": int(kind[-1])}
    return config | {"quantization": bits, "quantization_config": bits}, tensors


def affine_g128(seed):
    config = base_config(hidden_size=128, num_hidden_layers=2, num_attention_heads_per_layer=[2, 4],
                         layer_types=[FULL, SLIDING], mlp_layer_types=["dense", "sparse"])
    inner = {"o_proj": 32, "down_proj": 32}
    return mlx_target(config, seed, lambda name: ("affine4", inner.get(name.rpartition(".")[2], 128)))


def compressed(config, seed, choose):
    """What compressed-tensors writes when modules are stored in formats of their own."""
    linears, others = published(config, seed)
    kinds = {name: choose(name) for name in linears}
    groups = {}
    for kind in CT_FORMATS:
        names = [name for name, own in kinds.items() if own == kind]
        if names:
            weights = json.loads(formats.args_of(kind, {"strategy": "block", "group": 32 if kind == "int4" else 16}).model_dump_json())
            groups[f"group_{len(groups)}"] = {"format": CT_FORMATS[kind], "targets": names, "weights": weights}
    quantization = {"quant_method": "compressed-tensors", "quantization_status": "compressed", "config_groups": groups,
                    "format": "mixed-precision" if len(groups) > 1 else next(iter(groups.values()))["format"],
                    "ignore": [name for name, kind in kinds.items() if kind == "bf16"]}
    return config | {"quantization_config": quantization}, stored(linears, others, kinds.__getitem__)


def mixed_precision(seed):
    def choose(name):
        if ".experts." in name:
            return "nvfp4" if ".1." in name else "int4"
        if "self_attn" in name and "g_proj" not in name:
            return "fp8"
        return "int8" if ".shared_expert." in name else "bf16"
    return compressed(base_config(), seed, choose)


def prefixed(seed):
    config, tensors = plain_target(base_config(), seed)
    return config, {"language_model." + name: tensor for name, tensor in tensors.items()}


TARGETS = {
    "f32": lambda seed: plain_target(base_config(), seed, "f32"),
    "f16": lambda seed: plain_target(base_config(), seed, "f16"),
    "sinks": lambda seed: plain_target(base_config(swa_attention_sink_enabled=True), seed),
    "sqrtsoftplus": lambda seed: plain_target(base_config(moe_router_score_func="sqrtsoftplus"), seed),
    "softmax-scores": lambda seed: plain_target(base_config(moe_router_score_func="softmax"), seed),
    "flat-rope": lambda seed: plain_target(base_config(rope_parameters={k: v for k, v in YARN.items() if k != "partial_rotary_factor"},
                                                       partial_rotary_factor=0.5), seed),
    "fused-experts": fused_experts,
    "language-model-prefix": prefixed,
    "mixed-precision": mixed_precision,
    "mlx-joined": lambda seed: mlx_target(base_config(), seed, lambda name: ("affine4", 32), joined=True),
    "mlx-affine-g32": lambda seed: mlx_target(base_config(), seed, lambda name: ("affine8" if "self_attn" in name else "affine4", 32)),
    "mlx-affine-g128": affine_g128,
}
# What transformers' Laguna can compute: the same features, whatever the layout.
IN_TRANSFORMERS = [name for name in TARGETS if name not in ("sinks", "sqrtsoftplus", "softmax-scores", "flat-rope")]

DRAFTER_TARGET = "f32"


def drafter_config(**changes):
    config = {
        "architectures": ["DFlashLagunaForCausalLM"], "model_type": "laguna", "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-6,
        "vocab_size": VOCABULARY, "draft_vocab_size": VOCABULARY, "max_position_embeddings": 4096, "rope_theta": 10000.0,
        "sliding_window": 24, "layer_types": [SLIDING] * 2, "gating": "per-head", "num_experts": 0, "attention_bias": False,
        "torch_dtype": "bfloat16", "eagle_aux_hidden_state_layer_ids": [2, 3],
        "dflash_config": {"block_size": 6, "mask_token_id": 12, "num_target_layers": 3, "target_layer_ids": [1, 2], "causal": True}}
    return config | changes


def drafter_weights(config, seed):
    random = torch.Generator().manual_seed(seed)
    hidden, d, layers = config["hidden_size"], config["head_dim"], config["num_hidden_layers"]
    heads, kv, inner = config["num_attention_heads"], config["num_key_value_heads"], config["intermediate_size"]
    linears, norms = {}, {}

    def linear(name, out, columns):
        linears[name] = torch.randn(out, columns, generator=random) * 1.2 / columns**0.5

    def norm(name, size):
        norms[name + ".weight"] = 1.0 + 0.3 * torch.randn(size, generator=random)

    linear("fc", hidden, layers * hidden)
    for name in ("hidden_norm", "norm", *(f"aux_hidden_norms.{i}" for i in range(layers))):
        norm(name, hidden)
    for i in range(layers):
        name = f"layers.{i}"
        for part in ("input_layernorm", "post_attention_layernorm"):
            norm(f"{name}.{part}", hidden)
        linear(f"{name}.self_attn.qkv_proj", (heads + 2 * kv) * d, hidden)
        linear(f"{name}.self_attn.o_proj", hidden, heads * d)
        linear(f"{name}.self_attn.g_proj", heads, hidden)
        for part in ("q_norm", "k_norm"):
            norm(f"{name}.self_attn.{part}", d)
        for part, out, columns in (("gate", inner, hidden), ("up", inner, hidden), ("down", hidden, inner)):
            linear(f"{name}.mlp.{part}_proj", out, columns)
    return linears, norms


def drafter(seed, how, prefix="", split=False):
    config = drafter_config()
    linears, norms = drafter_weights(config, seed)
    if split:
        d, heads, kv = config["head_dim"], config["num_attention_heads"], config["num_key_value_heads"]
        for name in [name for name in linears if name.endswith("qkv_proj")]:
            for part, rows in zip("qkv", linears.pop(name).split([heads * d, kv * d, kv * d])):
                linears[name.replace("qkv", part)] = rows
    tensors = stored(linears, norms, lambda name: how)
    return config, {prefix + name: tensor for name, tensor in tensors.items()}


def shapes_drafter(seed):
    """For the random five-layer targets of width 128 that are shared beside the repository."""
    config = drafter_config(hidden_size=128, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, vocab_size=3072,
                            draft_vocab_size=3072, layer_types=[SLIDING], eagle_aux_hidden_state_layer_ids=[4])
    config["dflash_config"] = config["dflash_config"] | {"num_target_layers": 5, "target_layer_ids": [3]}
    return config, stored(*drafter_weights(config, seed), lambda name: "nvfp4")


DRAFTERS = {
    "dflash-nvfp4": lambda seed: drafter(seed, "nvfp4"),
    "dflash-fp8": lambda seed: drafter(seed, "fp8"),
    "dflash-int4": lambda seed: drafter(seed, "int4"),
    "dflash-mlx-affine": lambda seed: drafter(seed, ("affine4", 32)),
    "dflash-mlx-nvfp4": lambda seed: drafter(seed, ("mlx_nvfp4", 16)),
    "dflash-prefixed-split": lambda seed: drafter(seed, "bf16", prefix="model.", split=True),
    "dflash-prefixed-split-int4": lambda seed: drafter(seed, "int4", prefix="model.", split=True),
}


def token_ids(seed):
    random = torch.Generator().manual_seed(seed)
    return [2] + torch.randint(3, VOCABULARY, (TOKENS - 1,), generator=random).tolist()


def rounded(values, digits=7):
    return [round(value, digits) for value in values]


def greedy(target, prompt):
    ids, margin = list(prompt), float("inf")
    for _ in range(STEPS):
        top = target.forward(ids)[0][-1].topk(2)
        ids.append(top.indices[0].item())
        margin = min(margin, (top.values[0] - top.values[1]).item())
    return {"prompt_ids": list(prompt), "ids": ids[len(prompt):], "smallest_margin": round(margin, 7)}


def tolerance_of(exact, narrow):
    return float(f"{16 * (exact - narrow.double()).abs().max().item():.1e}")


def target_outputs(folder, seed):
    config, weights = read_target(folder)
    target, ids = Target(config, weights), token_ids(seed)
    logits = target.forward(ids)[0]
    top = logits.topk(2, -1).values
    golden = {"ids": ids, "stored_rows": STORED_ROWS, "argmax": logits.argmax(-1).tolist(),
              "margin": rounded((top[:, 0] - top[:, 1]).tolist()), "logsumexp": rounded(logits.logsumexp(-1).tolist()),
              "greedy": [greedy(target, ids[:30]), greedy(target, ids[50:53])],
              "tolerance": tolerance_of(logits, Target(config, weights, torch.float32).forward(ids)[0])}
    return golden, {"logits": logits[STORED_ROWS]}


def drafter_outputs(folder, seed):
    config, weights = read_drafter(folder)
    pair = [(Target(*read_target(FOLDER / DRAFTER_TARGET), wide), Drafter(config, weights, wide))
            for wide in (torch.float64, torch.float32)]
    target, model = pair[0]
    ids = token_ids(seed)
    streams = target.forward(ids)[1]
    context = model.context(streams)
    narrow = pair[1][1].context([stream.float() for stream in streams])
    worst, blocks, arrays = tolerance_of(context, narrow), [], {"context": context[STORED_ROWS]}
    for position in (1, 23, 25, 60):
        hidden = model.block(target, context, ids[position], position)
        single = pair[1][1].block(pair[1][0], narrow, ids[position], position)
        worst = max(worst, tolerance_of(hidden, single), tolerance_of(target.head(hidden), pair[1][0].head(single)))
        top = target.head(hidden).topk(3, -1)
        blocks.append({"position": position, "bonus": ids[position], "top_ids": top.indices.tolist(),
                       "top_logits": [rounded(row) for row in top.values.tolist()]})
        arrays[f"hidden_{position}"] = hidden
    return {"target": DRAFTER_TARGET, "ids": ids, "context_rows": STORED_ROWS, "blocks": blocks, "tolerance": worst}, arrays


def tokenizer():
    """Tokens that are their own ids: `t0` ... `t63`, for folders that want a tokenizer.json."""
    added = [{"id": i, "content": f"t{i};", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": False} for i in range(VOCABULARY)]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {f"t{i};": i for i in range(VOCABULARY)}, "merges": []}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level, "model": model}


def write(name, build, outputs, seed):
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "golden").mkdir(parents=True)
    config, tensors = build(seed)
    save_file({key: tensor.contiguous().clone() for key, tensor in tensors.items()}, folder / "model.safetensors",
              metadata={"format": "mlx" if "mlx" in name else "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    if outputs is None:
        shutil.rmtree(folder / "golden")
        return
    golden, arrays = outputs(folder, seed)
    (folder / "golden" / "golden.json").write_text(json.dumps(golden) + "\n")
    for key, array in arrays.items():
        np.save(folder / "golden" / f"{key}.npy", array.float().numpy())
    print(name, f"{(folder / 'model.safetensors').stat().st_size} bytes, tolerance {golden['tolerance']}",
          [run["smallest_margin"] for run in golden.get("greedy", [])], flush=True)


def in_transformers(folder, ids):
    """The logits of transformers' own Laguna with these weights."""
    from transformers import LagunaConfig, LagunaForCausalLM

    config, weights = read_target(folder)
    keys = ("architectures", "quantization", "quantization_config", "norm_topk_prob", "torch_dtype")
    model = LagunaForCausalLM(LagunaConfig(**{k: v for k, v in config.items() if k not in keys})).float().eval()
    model.set_attn_implementation("eager")
    state = {}
    for name, weight in weights.items():
        name = name.replace("mlp.e_score_correction_bias", "mlp.gate.e_score_correction_bias")
        name = name.replace("shared_expert.", "shared_experts.")
        bare = ".experts." in name or name.endswith(("e_score_correction_bias", "sink"))
        state[name if bare else name + ".weight"] = weight.float()
    for name in [name for name in state if name.endswith(".experts.gate_proj")]:
        up = state.pop(name.replace("gate_proj", "up_proj"))
        state[name.replace("gate_proj", "gate_up_proj")] = torch.cat([state.pop(name), up], 1)
    result = model.load_state_dict(state, strict=False)
    left = [key for key in result.missing_keys if "inv_freq" not in key] + list(result.unexpected_keys)
    if left:
        sys.exit(f"{folder.name}: transformers has other tensors: {left[:5]}")
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def check(name, outputs, seed):
    folder = FOLDER / name
    stored_json = json.loads((folder / "golden" / "golden.json").read_text())
    golden, arrays = outputs(folder, seed)
    for key, array in arrays.items():
        worst = np.abs(np.load(folder / "golden" / f"{key}.npy") - array.numpy()).max()
        if worst > 1e-5:
            sys.exit(f"{name}: stored {key} is off by {worst}")
    for key in ("ids", "argmax", "stored_rows", "context_rows"):
        if golden.get(key) != stored_json.get(key):
            sys.exit(f"{name}: stored {key} is another")
    if name in IN_TRANSFORMERS:
        logits = in_transformers(folder, golden["ids"])[STORED_ROWS]
        worst = (logits - arrays["logits"]).abs().max().item()
        if worst > golden["tolerance"]:
            sys.exit(f"{name}: off by {worst} from transformers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    torch.set_grad_enabled(False)
    work = [(name, build, target_outputs) for name, build in TARGETS.items()]
    work += [(name, build, drafter_outputs) for name, build in DRAFTERS.items()]
    work += [("dflash-shapes", shapes_drafter, None)]
    if not arguments.check:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "tokenizer.json").write_text(json.dumps(tokenizer(), indent=0) + "\n")
    done = 0
    for number, (name, build, outputs) in enumerate(work):
        if arguments.names and name not in arguments.names:
            continue
        if not arguments.check:
            write(name, build, outputs, 1000 + number)
        elif outputs is not None:
            check(name, outputs, 1000 + number)
        done += 1
    print(f"{done} variants")


if __name__ == "__main__":
    main()
