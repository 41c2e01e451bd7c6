#!/usr/bin/env python3
"""Builds the tensor names of every published Laguna release and loads them.

usage: published_names.py [--loader build/release/tests/unit/models/load_folder] [--keep FOLDER] [RELEASE...]

The names, types and shapes come from what is published about each release: which modules exist, which are quantised and
how. It shares nothing with `spindrift synth`. Where a count or a size of a release is published, the list must have it.
Each list becomes a folder with true headers, real vectors and scalars and holes for matrices, which the loader must take
with no tensor unread, none missing and no warning. Releases whose config.json is at hand (../shared/reference/laguna, or
SPINDRIFT_SHARED) are loaded with that config too. Exit code 1 when anything differs.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SPINDRIFT_SHARED", ROOT.parent / "shared"))
VOCAB, HEAD_DIM, KV_HEADS, EXPERTS, WINDOW = 100352, 128, 8, 256, 512
SIZE = {"F32": 4, "BF16": 2, "F8_E4M3": 1, "U8": 1, "I32": 4, "U32": 4, "I64": 8}


@dataclass(frozen=True)
class Model:
    layers: int
    hidden: int
    dense: int
    heads: tuple  # full, sliding
    top_k: int
    inner: int
    dense_layers: int = 1
    all_full: bool = False
    per_element: bool = False

    def full(self, layer):
        return self.all_full or layer % 4 == 0


XS = Model(40, 2048, 8192, (48, 64), 8, 512)
S = Model(48, 3072, 12288, (48, 72), 10, 1024)
M = Model(70, 4096, 16384, (64, 64), 16, 1024, dense_layers=3, all_full=True, per_element=True)


@dataclass(frozen=True)
class Release:
    model: Model
    quant: str = ""  # how what is quantised is stored
    where: tuple = ()  # which modules: "experts", "shared", "dense"
    plain_experts_from: int = 1 << 30  # layers whose experts are not quantised after all
    eight_bits_from: int = 1 << 30  # layers whose experts have eight bits (int)
    scalar_scales: bool = False
    mlx: bool = False
    everything: bool = False  # MLX 4-bit: all linear layers, the router in eight bits
    config: str = ""  # file in the reference folder
    tensors: int = 0  # published count
    bytes: int = 0  # published size of the weight files, headers included
    layout: dict = field(default_factory=dict)  # config values of this release alone

    def format(self, module, layer):
        if self.everything:
            return "affine8" if module == "router" else "affine4"
        if module not in self.where or (module == "experts" and layer >= self.plain_experts_from):
            return "bf16"
        if self.quant == "int":
            return "int8" if layer >= self.eight_bits_from else "int4"
        return self.quant


ALL_MLPS = ("experts", "shared", "dense")
XS2 = {"gating": True, "rope": (32.0, 4096, 64.0, 1.0, 0.5)}
XS21 = {"gating": "per-head", "rope": (32.0, 8192, 64.0, 1.3465735902799727, 0.5)}
S_BF16 = {"gating": "per-head", "rope": (128.0, 8192, 32.0, 1.4852030263919618, 0.5)}
S_QUANT = {"gating": "per-head", "rope": (32.0, 8192, 32.0, 1.3465735902799727, 0.5)}
M1 = {"gating": "per-element", "rope": (64.0, 4096, 64.0, 1.0, 1.0)}
RELEASES = {
    "Laguna-XS.2": Release(XS, config="Laguna-XS.2.config.json", layout=XS2),
    "Laguna-XS.2-NVFP4": Release(XS, "nvfp4", ALL_MLPS, config="Laguna-XS.2-NVFP4.config.json", layout=XS2),
    "Laguna-XS.2-FP8": Release(XS, "fp8", ALL_MLPS, config="Laguna-XS.2-FP8.config.json", layout=XS2),
    "Laguna-XS.2-INT4": Release(XS, "int", ("experts",), eight_bits_from=31, config="Laguna-XS.2-INT4.config.json",
                                layout=XS2),
    "Laguna-XS.2-4bit (mlx)": Release(XS, mlx=True, everything=True, layout=XS2),
    "Laguna-XS-2.1": Release(XS, config="Laguna-XS-2.1.config.derived.json", layout=XS21),
    "Laguna-XS-2.1-NVFP4": Release(XS, "nvfp4", ("experts", "shared"), bytes=21_576_601_504,
                                   config="Laguna-XS-2.1-NVFP4.config.derived.json", layout=XS21),
    "Laguna-XS-2.1-INT4": Release(XS, "int", ("experts",), eight_bits_from=31,
                                  config="Laguna-XS-2.1-INT4.config.derived.json", layout=XS21),
    "Laguna-XS-2.1-NVFP4-mlx": Release(XS, "mlx-nvfp4", ("experts", "shared"), mlx=True, layout=XS21),
    "Laguna-S-2.1": Release(S, config="Laguna-S-2.1.config.derived.json", layout=S_BF16),
    "Laguna-S-2.1-NVFP4@0761412": Release(
        S, "nvfp4", ("experts",), scalar_scales=True, tensors=145_153, bytes=71_916_714_120,
        config="Laguna-S-2.1-NVFP4.rev0761412.config.derived.json", layout=S_QUANT),
    "Laguna-S-2.1-NVFP4@f8fdfcd": Release(
        S, "nvfp4", ("experts",), plain_experts_from=40, scalar_scales=True, tensors=126_721, bytes=99_717_279_864,
        config="Laguna-S-2.1-NVFP4.revf8fdfcd.config.derived.json", layout=S_QUANT),
    "Laguna-S-2.1-FP8": Release(S, "fp8", ("experts",), config="Laguna-S-2.1-FP8.config.derived.json", layout=S_QUANT),
    "Laguna-M.1": Release(M, config="Laguna-M.1.config.derived.json", layout=M1),
    "Laguna-M.1-NVFP4": Release(M, "nvfp4", ALL_MLPS, layout=M1),
}


@dataclass(frozen=True)
class Drafter:
    layers: int
    hidden: int
    heads: int
    dense: int
    taps: tuple
    target: str
    config: str
    tensors: int
    bytes: int = 0


DRAFTERS = {
    "Laguna-XS-2.1-DFlash": Drafter(5, 2048, 64, 8192, (1, 13, 25, 33, 39), "Laguna-XS-2.1-NVFP4",
                                    "Laguna-XS-2.1-DFlash.config.derived.json", 58),
    "Laguna-S-2.1-DFlash": Drafter(6, 3072, 72, 12288, (1, 10, 19, 29, 38, 47), "Laguna-S-2.1-NVFP4@f8fdfcd",
                                   "Laguna-S-2.1-DFlash.config.derived.json", 69, 2_229_962_896),
}


def ceil_div(a, b):
    return -(-a // b)


def linear(name, out, inner, form, release, stack=()):
    """The tensors of one linear layer, [out, inner], as (name, type, shape, value of a scalar)."""
    rows = [*stack, out]
    if form == "bf16":
        yield f"{name}.weight", "BF16", [*rows, inner]
    elif form == "nvfp4":
        one = [] if release.scalar_scales else [1]
        yield f"{name}.weight_packed", "U8", [*rows, inner // 2]
        yield f"{name}.weight_scale", "F8_E4M3", [*rows, inner // 16]
        yield f"{name}.weight_global_scale", "F32", one
        yield f"{name}.input_global_scale", "F32", one
    elif form == "fp8":
        yield f"{name}.weight", "F8_E4M3", [*rows, inner]
        yield f"{name}.weight_scale", "BF16", [ceil_div(out, 128), ceil_div(inner, 128)]
    elif form in ("int4", "int8"):
        yield f"{name}.weight_packed", "I32", [*rows, inner // (8 if form == "int4" else 4)]
        yield f"{name}.weight_scale", "BF16", [*rows, inner // 128]
        yield f"{name}.weight_shape", "I64", [2], (out, inner)
    elif form in ("affine4", "affine8"):
        yield f"{name}.weight", "U32", [*rows, inner // (8 if form == "affine4" else 4)]
        yield f"{name}.scales", "BF16", [*rows, inner // 64]
        yield f"{name}.biases", "BF16", [*rows, inner // 64]
    elif form == "mlx-nvfp4":
        yield f"{name}.weight", "U32", [*rows, inner // 8]
        yield f"{name}.scales", "U8", [*rows, inner // 16]
    else:
        raise ValueError(form)


def mlp(name, hidden, inner, form, release, stack=()):
    yield from linear(f"{name}.gate_proj", inner, hidden, form, release, stack)
    yield from linear(f"{name}.up_proj", inner, hidden, form, release, stack)
    yield from linear(f"{name}.down_proj", hidden, inner, form, release, stack)


def attention(name, layer, release):
    model, form = release.model, release.format("attention", layer)
    heads = model.heads[0 if model.full(layer) else 1]
    gate_rows = heads * HEAD_DIM if model.per_element else heads
    for part, rows in (("q", heads * HEAD_DIM), ("k", KV_HEADS * HEAD_DIM), ("v", KV_HEADS * HEAD_DIM), ("g", gate_rows)):
        yield from linear(f"{name}.{part}_proj", rows, model.hidden, form, release)
    yield from linear(f"{name}.o_proj", model.hidden, heads * HEAD_DIM, form, release)
    yield f"{name}.q_norm.weight", "BF16", [HEAD_DIM]
    yield f"{name}.k_norm.weight", "BF16", [HEAD_DIM]
    if release.quant and not release.mlx:  # every compressed-tensors release carries scales of an FP8 cache
        yield f"{name}.k_scale", "BF16", [1]
        yield f"{name}.v_scale", "BF16", [1]


def mixture(name, layer, release):
    model = release.model
    yield from linear(f"{name}.gate", EXPERTS, model.hidden, release.format("router", layer), release)
    owner = "gate" if release.mlx else "experts"
    yield f"{name}.{owner}.e_score_correction_bias", "F32", [EXPERTS]
    form = release.format("experts", layer)
    if release.mlx:
        yield from mlp(f"{name}.switch_mlp", model.hidden, model.inner, form, release, (EXPERTS,))
    for expert in range(0 if release.mlx else EXPERTS):
        yield from mlp(f"{name}.experts.{expert}", model.hidden, model.inner, form, release)
    yield from mlp(f"{name}.shared_expert", model.hidden, model.inner, release.format("shared", layer), release)


def target_tensors(release):
    model = release.model
    yield from linear("model.embed_tokens", VOCAB, model.hidden, release.format("embedding", 0), release)
    yield from linear("lm_head", VOCAB, model.hidden, release.format("head", 0), release)
    yield "model.norm.weight", "BF16", [model.hidden]
    for layer in range(model.layers):
        name = f"model.layers.{layer}"
        yield f"{name}.input_layernorm.weight", "BF16", [model.hidden]
        yield f"{name}.post_attention_layernorm.weight", "BF16", [model.hidden]
        yield from attention(f"{name}.self_attn", layer, release)
        if layer < model.dense_layers:
            yield from mlp(f"{name}.mlp", model.hidden, model.dense, release.format("dense", layer), release)
        else:
            yield from mixture(f"{name}.mlp", layer, release)


def drafter_tensors(drafter):
    hidden, width = drafter.hidden, drafter.heads * HEAD_DIM
    yield "fc.weight", "BF16", [hidden, len(drafter.taps) * hidden]
    yield "hidden_norm.weight", "BF16", [hidden]
    yield "norm.weight", "BF16", [hidden]
    for tap in range(len(drafter.taps)):
        yield f"aux_hidden_norms.{tap}.weight", "BF16", [hidden]
    for layer in range(drafter.layers):
        name = f"layers.{layer}"
        yield f"{name}.input_layernorm.weight", "BF16", [hidden]
        yield f"{name}.post_attention_layernorm.weight", "BF16", [hidden]
        yield f"{name}.self_attn.qkv_proj.weight", "BF16", [width + 2 * KV_HEADS * HEAD_DIM, hidden]
        yield f"{name}.self_attn.o_proj.weight", "BF16", [hidden, width]
        yield f"{name}.self_attn.g_proj.weight", "BF16", [drafter.heads, hidden]
        yield f"{name}.self_attn.q_norm.weight", "BF16", [HEAD_DIM]
        yield f"{name}.self_attn.k_norm.weight", "BF16", [HEAD_DIM]
        yield f"{name}.mlp.gate_proj.weight", "BF16", [drafter.dense, hidden]
        yield f"{name}.mlp.up_proj.weight", "BF16", [drafter.dense, hidden]
        yield f"{name}.mlp.down_proj.weight", "BF16", [hidden, drafter.dense]


def rope_parameters(release):
    factor, original, beta_fast, multiplier, partial = release.layout["rope"]
    full = {"rope_type": "yarn", "rope_theta": 500000.0, "factor": factor, "original_max_position_embeddings": original,
            "beta_fast": beta_fast, "beta_slow": 1.0, "attention_factor": multiplier, "partial_rotary_factor": partial}
    if release.model.all_full:
        return full
    sliding = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}
    return {"full_attention": full, "sliding_attention": sliding}


def quantization(release):
    if release.mlx:
        return {"group_size": 64 if release.everything else 16, "bits": 4}
    attention_parts = [rf"re:.*\.self_attn\.{part}_proj$" for part in "qkvog"]
    ignore = ["lm_head", *attention_parts, r"re:.*\.mlp\.gate$"]
    parts = ("gate_proj", "up_proj", "down_proj")
    if "shared" not in release.where:
        ignore += [rf"re:.*\.mlp\.shared_expert\.{part}$" for part in parts]
    if "dense" not in release.where:
        ignore += [f"model.layers.0.mlp.{part}" for part in parts]
    if release.plain_experts_from < release.model.layers:
        ignore.append(r"re:^model\.layers\.4[0-7]\.mlp\.experts(\..*)?$")
    name = {"nvfp4": "nvfp4-pack-quantized", "fp8": "float-quantized", "int": "pack-quantized"}[release.quant]
    groups = {"group_0": {"format": name, "targets": ["Linear"]}}
    if release.quant == "int":
        four = r"re:.*layers\.([1-9]|[12]\d|30)\..*(gate_proj|up_proj|down_proj)$"
        groups = {"group_0": {"format": name, "targets": [four], "weights": {"num_bits": 4, "type": "int"}},
                  "group_1": {"format": name, "targets": [r"re:.*layers\.3[1-9]\..*(gate_proj|up_proj|down_proj)$"],
                              "weights": {"num_bits": 8, "type": "int"}}}
    return {"quant_method": "compressed-tensors", "format": name, "config_groups": groups, "ignore": ignore}


def target_config(release):
    model = release.model
    config = {
        "model_type": "laguna", "architectures": ["LagunaForCausalLM"], "vocab_size": VOCAB, "hidden_size": model.hidden,
        "intermediate_size": model.dense, "num_hidden_layers": model.layers, "num_attention_heads": model.heads[0],
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "max_position_embeddings": 131072, "rms_norm_eps": 1e-6,
        "num_experts": EXPERTS, "num_experts_per_tok": model.top_k, "moe_intermediate_size": model.inner,
        "shared_expert_intermediate_size": model.inner, "mlp_only_layers": list(range(model.dense_layers)),
        "gating": release.layout["gating"], "rope_parameters": rope_parameters(release),
        "sliding_window": 0 if model.all_full else WINDOW}
    if not model.all_full:
        full = [model.full(layer) for layer in range(model.layers)]
        config["layer_types"] = ["full_attention" if yes else "sliding_attention" for yes in full]
        config["num_attention_heads_per_layer"] = [model.heads[0 if yes else 1] for yes in full]
    if release.quant or release.everything:
        config["quantization_config"] = quantization(release)
    return config


def drafter_config(drafter):
    return {
        "model_type": "laguna", "architectures": ["DFlashLagunaForCausalLM"], "hidden_size": drafter.hidden,
        "intermediate_size": drafter.dense, "num_hidden_layers": drafter.layers, "num_attention_heads": drafter.heads,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "rms_norm_eps": 1e-6, "vocab_size": VOCAB,
        "draft_vocab_size": VOCAB, "max_position_embeddings": 262144, "rope_theta": 500000.0, "sliding_window": WINDOW,
        "layer_types": ["sliding_attention"] * drafter.layers, "gating": "per-head", "num_experts": 0,
        "attention_bias": False,
        "dflash_config": {"block_size": 16, "mask_token_id": 12, "causal": True, "target_layer_ids": list(drafter.taps),
                          "num_target_layers": RELEASES[drafter.target].model.layers}}


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def size_of(tensor):
    return elements(tensor[2]) * SIZE[tensor[1]]


def write_shard(path, tensors):
    """True headers and vectors; matrices are holes. Vectors come first, in one piece."""
    vectors = [t for t in tensors if len(t[2]) < 2]
    header, offset = {}, 0
    for tensor in vectors + [t for t in tensors if len(t[2]) >= 2]:
        name, dtype, shape = tensor[:3]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size_of(tensor)]}
        offset += size_of(tensor)
    one = {"F32": struct.pack("<f", 1.0), "BF16": b"\x80\x3f"}
    values = (struct.pack("<2q", *t[3]) if len(t) > 3 else one[t[1]] * elements(t[2]) for t in vectors)
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(values))
        file.truncate(8 + len(text) + offset)


def write_folder(folder, tensors, config):
    """As many shards as 5.12 GB in each make: names of one layer may lie in two."""
    folder.mkdir(parents=True)
    shards, filled = [[]], 0
    for tensor in tensors:
        if shards[-1] and filled + size_of(tensor) > 5_120_000_000:
            shards.append([])
            filled = 0
        shards[-1].append(tensor)
        filled += size_of(tensor)
    names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    for name, shard in zip(names, shards):
        write_shard(folder / name, shard)
    weight_map = {tensor[0]: name for name, shard in zip(names, shards) for tensor in shard}
    index = {"metadata": {"total_size": sum(map(size_of, tensors))}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    write_config(folder, config)


def write_config(folder, config):
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))


def published_config(name):
    path = SHARED / "reference/laguna" / name
    return path.read_text() if name and path.is_file() else None


def check_published(name, tensors, count, size):
    """Complaints about a list that is not what is published about its release."""
    names = {tensor[0] for tensor in tensors}
    total = sum(map(size_of, tensors))
    if len(names) != len(tensors):
        yield f"{name}: {len(tensors) - len(names)} names twice"
    if count and len(tensors) != count:
        yield f"{name}: published with {count} tensors, built {len(tensors)}"
    if size and not 0.999 * size < total < size:
        yield f"{name}: published with {size} bytes, built {total}"


def load(loader, *folders):
    result = subprocess.run([loader, *map(str, folders)], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout.splitlines()


def check_load(name, loader, folders, expected):
    """Complaints of the loader; `expected` has (tensors, ignored) for each folder."""
    code, lines = load(loader, *folders)
    wanted = [f"tensors {tensors} ignored {ignored} " for tensors, ignored in expected]
    if code != 0 or len(lines) != len(wanted) or not all(map(str.startswith, lines, wanted)):
        yield f"{name}: expected {wanted}, found exit code {code}: {lines}"


def unused(tensors):
    return sum(t[0].endswith((".k_scale", ".v_scale", ".input_global_scale")) for t in tensors)


def check_target(name, release, folder, loader):
    tensors = list(target_tensors(release))
    yield from check_published(name, tensors, release.tensors, release.bytes)
    write_folder(folder, tensors, target_config(release))
    expected = [(len(tensors), unused(tensors))]
    yield from check_load(name, loader, [folder], expected)
    published = published_config(release.config)
    if published:
        write_config(folder, published)
        yield from check_load(f"{name} with its published config", loader, [folder], expected)
    print(f"{name}: {len(tensors)} tensors, {sum(map(size_of, tensors)) / 1e9:.2f} GB, {unused(tensors)} known and unused"
          + (", published config too" if published else ""), flush=True)


def check_table(name, tensors):
    """Against the stored header of the published file."""
    path = SHARED / f"reference/laguna/golden/{name}.tensors.json"
    if not path.is_file():
        return
    stored = {key: (entry["dtype"], entry["shape"]) for key, entry in json.loads(path.read_text()).items()}
    built = {tensor[0]: (tensor[1], tensor[2]) for tensor in tensors}
    for key in sorted(stored.keys() | built.keys()):
        if stored.get(key) != built.get(key):
            yield f"{name}: `{key}`: published {stored.get(key)}, built {built.get(key)}"


def check_drafter(name, drafter, folder, loader):
    tensors = list(drafter_tensors(drafter))
    yield from check_published(name, tensors, drafter.tensors, drafter.bytes)
    yield from check_table(name, tensors)
    target = list(target_tensors(RELEASES[drafter.target]))
    write_folder(folder / "target", target, target_config(RELEASES[drafter.target]))
    write_folder(folder / "drafter", tensors, drafter_config(drafter))
    expected = [(len(target), unused(target)), (len(tensors), 0)]
    folders = [folder / "target", folder / "drafter"]
    yield from check_load(name, loader, folders, expected)
    published = published_config(drafter.config)
    if published:
        write_config(folder / "drafter", published)
        yield from check_load(f"{name} with its published config", loader, folders, expected)
    print(f"{name}: {len(tensors)} tensors" + (", published config too" if published else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loader", default=str(ROOT / "build/release/tests/unit/models/load_folder"))
    parser.add_argument("--keep", type=Path, help="leave the folders there")
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    arguments = parser.parse_args()
    known = {**RELEASES, **DRAFTERS}
    complaints = [f"unknown release {name}" for name in arguments.releases if name not in known]
    for name in arguments.releases or known:
        if name not in known:
            continue
        with tempfile.TemporaryDirectory(prefix="spindrift-names-") as temporary:
            folder = (arguments.keep or Path(temporary)) / name.replace(" ", "")
            check = check_target if name in RELEASES else check_drafter
            complaints += check(name, known[name], folder, arguments.loader)
    if not published_config("Laguna-XS.2.config.json"):
        print(f"published configs not compared: {SHARED / 'reference/laguna'} is missing")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
