"""Laguna and its DFlash drafter in plain PyTorch, written from the published facts, for small checkpoints in any layout.

read_target and read_drafter turn a folder's tensors, stored in whatever format and under whatever spelling, into plain
float64 weights by the formats' definitions (make_format_vectors.read). The forwards have no cache and recompute
everything. T rows, H hidden, one residual stream [T, H]. `wide` is the type that is computed in: float64 for stored
outputs, float32 to see what rounding alone does.
"""
import json
import math
from collections import defaultdict

import make_format_vectors as formats
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

UNUSED = (".input_global_scale", ".k_scale", ".v_scale", ".inv_freq")


def kind_of(parts, columns):
    """The stored format of a linear layer, in the spelling of make_format_vectors."""
    def bits(words):
        return words.shape[-1] * 32 // columns

    if "weight_packed" in parts:
        packed = parts["weight_packed"]
        return "nvfp4" if packed.dtype == torch.uint8 else f"int{bits(packed)}"
    if "biases" in parts:
        return f"affine{bits(parts['weight'])}"
    if "scales" in parts:
        return "mlx_nvfp4"
    return "fp8" if "weight_scale" in parts else "plain"


def dequantise(parts, columns):
    """[out, columns] or a stack of them, as float64."""
    kind = kind_of(parts, columns)
    if kind == "plain":
        return parts["weight"].double()
    if parts.get("weight", parts.get("weight_packed")).ndim == 3:
        stack = zip(*(tensor.unbind(0) for tensor in parts.values()))
        return torch.stack([dequantise(dict(zip(parts, layer)), columns) for layer in stack])
    parts = {name: tensor.reshape(1) if tensor.ndim == 0 else tensor for name, tensor in parts.items()}
    return torch.from_numpy(formats.read(parts, kind)).double()


def columns_of(module, config):
    """Input columns of a target's linear layer."""
    if module.endswith("o_proj"):
        layer = int(module.split(".")[2])
        heads = config.get("num_attention_heads_per_layer") or [config["num_attention_heads"]] * config["num_hidden_layers"]
        return heads[layer] * config["head_dim"]
    if not module.endswith("down_proj"):
        return config["hidden_size"]
    if ".experts" in module or "switch_mlp" in module:
        return config["moe_intermediate_size"]
    return config["shared_expert_intermediate_size" if "shared_expert" in module else "intermediate_size"]


def modules(tensors):
    """Tensors by the module they belong to: {module: {leaf: tensor}}."""
    found = defaultdict(dict)
    for name, tensor in tensors.items():
        if not name.endswith(UNUSED):
            module, _, leaf = name.rpartition(".")
            found[module][leaf] = tensor
    return found


def halves(weight):
    """Gate and up of joined rows, the gate's first."""
    return weight.chunk(2, dim=-2)


def read_target(folder):
    """(config, weights): weights by published names without `.weight`, experts stacked as `experts.gate_proj` ..."""
    config = json.loads((folder / "config.json").read_text())
    tensors = {name.removeprefix("language_model."): t for name, t in load_file(folder / "model.safetensors").items()}
    plain, experts = {}, defaultdict(dict)
    for module, parts in modules(tensors).items():
        # The bare leaves that are no module of their own.
        for leaf in ("e_score_correction_bias", "sink", "gate_up_proj", "down_proj"):
            if leaf in parts and (leaf not in ("gate_up_proj", "down_proj") or module.endswith("experts")):
                owner = module.removesuffix(".experts").removesuffix(".gate") if leaf.startswith("e_") else module
                plain[f"{owner}.{leaf}"] = parts.pop(leaf).double()
        if not parts:
            continue
        name = module.replace("shared_experts", "shared_expert").replace("switch_mlp", "experts")
        name = name.removesuffix(".proj")
        weight = dequantise(parts, columns_of(module, config)) if "norm" not in module else parts["weight"].double()
        stem, _, last = name.rpartition(".")
        owner, _, number = stem.rpartition(".")
        if owner.endswith("experts") and number.isdigit():
            experts[f"{owner}.{last}"][int(number)] = weight
        else:
            plain[name] = weight
    for name, stack in experts.items():
        plain[name] = torch.stack([stack[i] for i in range(len(stack))])
    for name in [name for name in plain if name.endswith("gate_up_proj")]:
        stem = name.removesuffix("gate_up_proj")
        plain[stem + "gate_proj"], plain[stem + "up_proj"] = halves(plain.pop(name))
    return config, plain


def read_drafter(folder):
    config = json.loads((folder / "config.json").read_text())
    tensors = {name.removeprefix("model."): t for name, t in load_file(folder / "model.safetensors").items()}
    inner = {"o_proj": config["num_attention_heads"] * config["head_dim"], "down_proj": config["intermediate_size"],
             "fc": config["num_hidden_layers"] * config["hidden_size"]}
    weights = {}
    for module, parts in modules(tensors).items():
        columns = inner.get(module.rpartition(".")[2], config["hidden_size"])
        weights[module] = parts["weight"].double() if "norm" in module else dequantise(parts, columns)
    for layer in range(config["num_hidden_layers"]):
        name = f"layers.{layer}.self_attn."
        if name + "qkv_proj" not in weights:
            weights[name + "qkv_proj"] = torch.cat([weights.pop(name + part) for part in ("q_proj", "k_proj", "v_proj")])
    return config, weights


def rms(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def frequencies(entry, everything, rotated):
    """(angle per position of each pair, factor of cosine and sine)."""
    theta = entry["rope_theta"]
    plain = theta ** (-torch.arange(0, rotated, 2, dtype=torch.float64) / rotated)
    if entry.get("rope_type", "default") == "default":
        return plain, 1.0
    factor = entry["factor"]
    original = entry.get("original_max_position_embeddings") or everything["original_max_position_embeddings"]

    def correction(turns):
        return rotated * math.log(original / (2 * math.pi * turns)) / (2 * math.log(theta))

    low = max(math.floor(correction(entry.get("beta_fast", 32.0))), 0)
    high = min(math.ceil(correction(entry.get("beta_slow", 1.0))), rotated - 1)
    high = high + 0.001 if low == high else high
    ramp = ((torch.arange(rotated // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    multiplier = entry.get("attention_factor") or 0.1 * math.log(factor) + 1.0
    return plain * ((1 - ramp) + ramp / factor), multiplier


def rotate(x, positions, inverse, multiplier):
    """x [n, heads, d]: the first 2 * len(inverse) features of each head are turned, half against half."""
    angles = positions.double()[:, None] * inverse
    cos = (torch.cat([angles.cos()] * 2, -1) * multiplier)[:, None].to(x.dtype)
    sin = (torch.cat([angles.sin()] * 2, -1) * multiplier)[:, None].to(x.dtype)
    turned, rest = x[..., : cos.shape[-1]], x[..., cos.shape[-1]:]
    a, b = turned.chunk(2, -1)
    return torch.cat([turned * cos + torch.cat([-b, a], -1) * sin, rest], -1)


def attend(q, k, v, visible, sinks=None):
    """q [n, heads, d], k and v [m, kv, d], visible [n, m] -> [n, heads, d]. A sink is a key without a value."""
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = torch.einsum("nhd,mhd->hnm", q, k) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(~visible, -math.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks.to(q.dtype)[:, None, None].expand(-1, q.shape[0], 1)], -1)
    weights = scores.softmax(-1)[..., : k.shape[0]]
    return torch.einsum("hnm,mhd->nhd", weights, v)


def swiglu(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


class Target:
    """The forward of a target in the type `wide`."""

    def __init__(self, config, weights, wide=torch.float64):
        self.config, self.weights = config, {name: weight.to(wide) for name, weight in weights.items()}
        self.wide = wide

    def rope(self, layer):
        config = self.config
        everything = config["rope_parameters"]
        kind = config["layer_types"][layer] if config.get("layer_types") else "full_attention"
        nested = any(isinstance(value, dict) for value in everything.values())
        entry = everything[kind] if nested else everything
        default = 1.0 if nested else config.get("partial_rotary_factor", 1.0)
        rotated = int(config["head_dim"] * entry.get("partial_rotary_factor", default))
        return frequencies(entry, everything, rotated)

    def attention(self, x, layer):
        config, name = self.config, f"model.layers.{layer}.self_attn."
        w, d, rows = self.weights, config["head_dim"], x.shape[0]
        positions = torch.arange(rows)
        q, k, v = (F.linear(x, w[name + part]).view(rows, -1, d) for part in ("q_proj", "k_proj", "v_proj"))
        turn = self.rope(layer)
        q = rotate(rms(q, w[name + "q_norm"], config["rms_norm_eps"]), positions, *turn)
        k = rotate(rms(k, w[name + "k_norm"], config["rms_norm_eps"]), positions, *turn)
        visible = positions[None] <= positions[:, None]
        sliding = bool(config.get("layer_types")) and config["layer_types"][layer] == "sliding_attention"
        if sliding:
            visible &= positions[:, None] - positions[None] < config["sliding_window"]
        out = attend(q, k, v, visible, w.get(name + "sink"))
        gate = F.softplus(F.linear(x, w[name + "g_proj"]))
        return F.linear((out * gate.view(rows, out.shape[1], -1)).flatten(1), w[name + "o_proj"])

    def scores(self, logits):
        cap = self.config.get("moe_router_logit_softcapping", 0.0)
        logits = cap * torch.tanh(logits / cap) if cap else logits
        kind = self.config.get("moe_router_score_func", "sigmoid")
        if kind == "softmax":
            return logits.softmax(-1)
        return F.softplus(logits).sqrt() if kind == "sqrtsoftplus" else logits.sigmoid()

    def mlp(self, x, layer):
        config, name, w = self.config, f"model.layers.{layer}.mlp.", self.weights
        parts = ("gate_proj", "up_proj", "down_proj")
        if name + "gate" not in w:
            return swiglu(x, *(w[name + part] for part in parts))
        scores = self.scores(F.linear(x, w[name + "gate"]))
        chosen = (scores + w[name + "e_score_correction_bias"]).topk(config["num_experts_per_tok"], -1).indices
        weight = scores.gather(1, chosen)
        weight = weight / weight.sum(-1, keepdim=True)
        routed = torch.zeros_like(x)
        for row in range(x.shape[0]):
            for expert, share in zip(chosen[row], weight[row]):
                routed[row] += share * swiglu(x[row], *(w[f"{name}experts.{part}"][expert] for part in parts))
        shared = swiglu(x, *(w[f"{name}shared_expert.{part}"] for part in parts))
        return routed * config.get("moe_routed_scaling_factor", 1.0) + shared

    def embed(self, ids):
        return self.weights["model.embed_tokens"][ids]

    def head(self, rows):
        return F.linear(rows, self.weights["lm_head"])

    def forward(self, ids):
        """(logits [T, vocabulary], the stream after each layer)."""
        x, streams, eps = self.embed(torch.tensor(ids)), [], self.config["rms_norm_eps"]
        for layer in range(self.config["num_hidden_layers"]):
            name = f"model.layers.{layer}."
            x = x + self.attention(rms(x, self.weights[name + "input_layernorm"], eps), layer)
            x = x + self.mlp(rms(x, self.weights[name + "post_attention_layernorm"], eps), layer)
            streams.append(x)
        return self.head(rms(x, self.weights["model.norm"], eps)), streams


class Drafter:
    """A DFlash drafter's forward for one block."""

    def __init__(self, config, weights, wide=torch.float64):
        self.config, self.weights = config, {name: weight.to(wide) for name, weight in weights.items()}

    def context(self, streams):
        """One row for each position, from the streams after the tapped layers."""
        eps, w = self.config["rms_norm_eps"], self.weights
        taps = self.config["dflash_config"]["target_layer_ids"]
        normed = torch.cat([rms(streams[t], w[f"aux_hidden_norms.{i}"], eps) for i, t in enumerate(taps)], -1)
        return rms(F.linear(normed, w["fc"]), w["hidden_norm"], eps)

    def heads(self, x, layer, positions, first):
        """Queries, keys and values (`first` = 0) or keys and values alone (`first` = 1) of normed rows."""
        c, name, w = self.config, f"layers.{layer}.self_attn.", self.weights
        d, nh, kv, eps = c["head_dim"], c["num_attention_heads"], c["num_key_value_heads"], c["rms_norm_eps"]
        q, k, v = F.linear(x, w[name + "qkv_proj"]).split([nh * d, kv * d, kv * d], -1)
        plain = c["rope_theta"] ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        q = rotate(rms(q.view(-1, nh, d), w[name + "q_norm"], eps), positions, plain, 1.0)
        k = rotate(rms(k.view(-1, kv, d), w[name + "k_norm"], eps), positions, plain, 1.0)
        return (q, k, v.view(-1, kv, d))[first:]

    def block(self, target, context, bonus, position):
        """The normed rows of [bonus, mask, ...] at `position`, which follows the context rows before it."""
        c, w, eps = self.config, self.weights, self.config["rms_norm_eps"]
        dflash, context = c["dflash_config"], context[:position]
        ids = torch.full((dflash["block_size"],), dflash["mask_token_id"])
        ids[0] = bonus
        x, before = target.embed(ids), torch.arange(position)
        here = position + torch.arange(len(ids))
        everywhere = torch.cat([before, here])
        distance = here[:, None] - everywhere[None]
        visible = (distance >= 0) & (distance < c["sliding_window"])
        for layer in range(c["num_hidden_layers"]):
            name = f"layers.{layer}."
            norm = w[name + "input_layernorm"]
            h = rms(x, norm, eps)
            q, k, v = self.heads(h, layer, here, 0)
            old_k, old_v = self.heads(rms(context, norm, eps), layer, before, 1)
            out = attend(q, torch.cat([old_k, k]), torch.cat([old_v, v]), visible)
            gate = F.softplus(F.linear(h, w[name + "self_attn.g_proj"]))
            x = x + F.linear((out * gate[..., None]).flatten(1), w[name + "self_attn.o_proj"])
            h = rms(x, w[name + "post_attention_layernorm"], eps)
            x = x + swiglu(h, *(w[f"{name}mlp.{part}"] for part in ("gate_proj", "up_proj", "down_proj")))
        return rms(x, w["norm"], eps)
