#include "unit/kernels/kernel_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/bf16.h"
#include "kernels/registry.h"

namespace spindrift::testing {
namespace {

using kernels::InRows;
using kernels::OutRows;
using kernels::Table;
using Ids = std::span<const int64_t>;

std::vector<std::byte> as_bytes(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> as_bytes(const std::vector<uint16_t>& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A kernel that works on one row at a time, in place on a copy of the input.
RowKernel in_place(std::string name, int64_t size,
                   std::function<void(const Table&, int64_t id, std::span<float>)> work,
                   decltype(RowKernel::exact) exact) {
  RowKernel k{std::move(name), size, size, {}, std::move(exact), 0x1p-21};
  k.run = [size, work = std::move(work)](const Table& table, Ids ids, InRows x, OutRows y) {
    for (size_t i = 0; i < x.size(); ++i) {
      std::copy_n(x[i], size, y[i]);
      work(table, ids[i], {y[i], static_cast<size_t>(size)});
    }
  };
  return k;
}

// Data that belongs to row `id`.
std::vector<float> side(int64_t id, int64_t size) {
  return Noise(static_cast<uint64_t>(900 + id)).values(size);
}

double d(float x) { return static_cast<double>(x); }

RowKernel rms_norm_case(int64_t size) {
  const std::vector<float> weight = side(-1, size);
  return in_place(
      "rms_norm " + std::to_string(size), size,
      [weight](const Table& t, int64_t, std::span<float> x) { t.rms_norm(x, weight, 1e-6F, x); },
      [weight](int64_t, std::span<const float> x, std::span<double> y, std::span<double> m) {
        double sum = 0.0;
        for (const float v : x) sum += d(v) * d(v);
        const double root = std::sqrt(sum / static_cast<double>(x.size()) + 1e-6);
        for (size_t i = 0; i < x.size(); ++i) {
          y[i] = d(x[i]) / root * d(weight[i]);
          m[i] = std::fabs(y[i]);
        }
      });
}

RowKernel rope_case(int64_t size, int64_t rotated) {
  const auto angles = [rotated](int64_t id) {
    std::pair<std::vector<float>, std::vector<float>> r;
    for (const float a : side(id, rotated / 2)) {
      r.first.push_back(std::cos(a));
      r.second.push_back(std::sin(a));
    }
    return r;
  };
  return in_place(
      "rope " + std::to_string(size) + "/" + std::to_string(rotated), size,
      [angles](const Table& t, int64_t id, std::span<float> x) {
        const auto [cos, sin] = angles(id);
        t.rope(x, cos, sin);
      },
      [angles](int64_t id, std::span<const float> x, std::span<double> y, std::span<double> m) {
        const auto [cos, sin] = angles(id);
        const size_t n = cos.size();
        for (size_t i = 0; i < x.size(); ++i) {
          y[i] = d(x[i]);
          m[i] = std::fabs(y[i]);
        }
        for (size_t i = 0; i < n; ++i) {
          y[i] = d(x[i]) * d(cos[i]) - d(x[i + n]) * d(sin[i]);
          y[i + n] = d(x[i + n]) * d(cos[i]) + d(x[i]) * d(sin[i]);
          m[i] = m[i + n] = std::fabs(d(x[i])) + std::fabs(d(x[i + n]));
        }
      });
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

RowKernel silu_mul_case(int64_t size) {
  return in_place(
      "silu_mul " + std::to_string(size), size,
      [size](const Table& t, int64_t id, std::span<float> x) { t.silu_mul(x, side(id, size), x); },
      [size](int64_t id, std::span<const float> x, std::span<double> y, std::span<double> m) {
        const std::vector<float> up = side(id, size);
        for (size_t i = 0; i < x.size(); ++i) {
          y[i] = d(x[i]) * sigmoid(d(x[i])) * d(up[i]);
          m[i] = std::fabs(y[i]);
        }
      });
}

RowKernel layer_norm_case(int64_t size) {
  const std::vector<float> weight = side(-1, size), bias = side(-2, size);
  return in_place(
      "layer_norm " + std::to_string(size), size,
      [weight, bias](const Table& t, int64_t, std::span<float> x) {
        t.layer_norm(x, weight, bias, 1e-5F, x);
      },
      [weight, bias](int64_t, std::span<const float> x, std::span<double> y, std::span<double> m) {
        const auto count = static_cast<double>(x.size());
        double sum = 0.0, squares = 0.0, largest = 0.0;
        for (const float v : x) {
          sum += d(v);
          largest = std::max(largest, std::fabs(d(v)));
        }
        const double mean = sum / count;
        for (const float v : x) squares += (d(v) - mean) * (d(v) - mean);
        const double root = std::sqrt(squares / count + 1e-5);
        for (size_t i = 0; i < x.size(); ++i) {
          y[i] = (d(x[i]) - mean) / root * d(weight[i]) + d(bias[i]);
          m[i] = (std::fabs(d(x[i])) + largest) / root * std::fabs(d(weight[i])) +
                 std::fabs(d(bias[i]));
        }
      });
}

RowKernel gelu_case(bool with_tanh, int64_t size) {
  return in_place(
      (with_tanh ? "gelu_tanh " : "gelu ") + std::to_string(size), size,
      [with_tanh](const Table& t, int64_t, std::span<float> x) {
        (with_tanh ? t.gelu_tanh : t.gelu)(x);
      },
      [with_tanh](int64_t, std::span<const float> x, std::span<double> y, std::span<double> m) {
        for (size_t i = 0; i < x.size(); ++i) {
          const double v = d(x[i]);
          const double cube = 0.7978845608028654 * (v + 0.044715 * v * v * v);
          y[i] = 0.5 * v * (1.0 + (with_tanh ? std::tanh(cube) : std::erf(v / std::sqrt(2.0))));
          m[i] = std::fabs(v);
        }
      });
}

RowKernel softplus_gate_case(int64_t gates, int64_t run) {
  return in_place(
      "softplus_gate " + std::to_string(gates) + "x" + std::to_string(run), gates * run,
      [gates](const Table& t, int64_t id, std::span<float> x) {
        t.softplus_gate(side(id, gates), x);
      },
      [gates, run](int64_t id, std::span<const float> x, std::span<double> y, std::span<double> m) {
        const std::vector<float> gate = side(id, gates);
        for (size_t i = 0; i < x.size(); ++i) {
          y[i] = d(x[i]) * softplus(d(gate[i / static_cast<size_t>(run)]));
          m[i] = std::fabs(y[i]);
        }
      });
}

RowKernel add_case(int64_t size) {
  return in_place(
      "add " + std::to_string(size), size,
      [size](const Table& t, int64_t id, std::span<float> x) { t.add(x, side(id, size)); },
      [size](int64_t id, std::span<const float> x, std::span<double> y, std::span<double> m) {
        const std::vector<float> delta = side(id, size);
        for (size_t i = 0; i < x.size(); ++i) {
          y[i] = d(x[i]) + d(delta[i]);
          m[i] = std::fabs(y[i]);
        }
      });
}

RowKernel scale_add_case(int64_t size) {
  return in_place(
      "scale_add " + std::to_string(size), size,
      [size](const Table& t, int64_t id, std::span<float> x) {
        t.scale_add(x, 2.5F, side(id, size));
      },
      [size](int64_t id, std::span<const float> x, std::span<double> y, std::span<double> m) {
        const std::vector<float> delta = side(id, size);
        for (size_t i = 0; i < x.size(); ++i) {
          y[i] = d(x[i]) * 2.5 + d(delta[i]);
          m[i] = std::fabs(d(x[i])) * 2.5 + std::fabs(d(delta[i]));
        }
      });
}

// One row of the test = the addends of one sum, one after the other.
RowKernel weighted_sum_case(int64_t size, int64_t addends) {
  RowKernel k{"weighted_sum " + std::to_string(size) + "x" + std::to_string(addends),
              size * addends,
              size,
              {},
              {},
              0x1p-21};
  k.run = [size, addends](const Table& table, Ids ids, InRows x, OutRows y) {
    for (size_t i = 0; i < x.size(); ++i) {
      std::vector<const float*> rows;
      for (int64_t a = 0; a < addends; ++a) rows.push_back(x[i] + a * size);
      table.weighted_sum(rows, side(ids[i], addends), {y[i], static_cast<size_t>(size)});
    }
  };
  k.exact = [size, addends](int64_t id, std::span<const float> x, std::span<double> y,
                            std::span<double> m) {
    const std::vector<float> weights = side(id, addends);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = m[i] = 0.0;
      for (size_t a = 0; a < weights.size(); ++a) {
        const double term = d(weights[a]) * d(x[a * static_cast<size_t>(size) + i]);
        y[i] += term;
        m[i] += std::fabs(term);
      }
    }
  };
  return k;
}

RowKernel router_case(kernels::ScoreFunc func, float softcap, int64_t size) {
  return in_place(
      "router_scores " + std::to_string(static_cast<int>(func)) + "/" + std::to_string(softcap) +
          "/" + std::to_string(size),
      size,
      [=](const Table& t, int64_t, std::span<float> x) {
        const std::vector<float> logits(x.begin(), x.end());
        t.router_scores(func, softcap, logits, x);
      },
      [=](int64_t, std::span<const float> x, std::span<double> y, std::span<double> m) {
        double sum = 0.0;
        for (size_t i = 0; i < x.size(); ++i) {
          double z = d(x[i]);
          if (softcap > 0.0F) z = d(softcap) * std::tanh(z / d(softcap));
          y[i] = func == kernels::ScoreFunc::kSigmoid        ? sigmoid(z)
                 : func == kernels::ScoreFunc::kSqrtSoftplus ? std::sqrt(softplus(z))
                                                             : std::exp(z);
          sum += y[i];
        }
        for (size_t i = 0; i < x.size(); ++i) {
          if (func == kernels::ScoreFunc::kSoftmax) y[i] /= sum;
          m[i] = y[i];
        }
      });
}

std::vector<RowKernel> attention_cases() {
  return {
      attention_case({}),
      attention_case({.head_dim = 128, .group = 3, .committed = 70}),
      attention_case({.head_dim = 64, .group = 5, .committed = 50, .window = 20}),
      attention_case({.head_dim = 80, .group = 1, .committed = 33, .window = 1}),
      attention_case({.head_dim = 20, .group = 3, .committed = 0, .sinks = true}),
      attention_case({.head_dim = 16, .group = 5, .committed = 21, .tree = true}),
      attention_case({.head_dim = 128, .group = 2, .committed = 40, .dtype = DType::kBf16}),
      attention_case({.head_dim = 7, .committed = 40, .tree = true, .sinks = true, .gaps = true}),
  };
}

constexpr int64_t kMaxStaged = 64;
constexpr int64_t kBlock = 16;  // positions of a committed block

// Keys and values laid out as a cache does: committed positions in blocks, head-major inside a
// block, and staged rows one after the other, all heads of a row together. The case uses KV head 1
// of 2.
class AttentionFixture {
 public:
  explicit AttentionFixture(const AttentionCase& c) : c_(c) {
    Noise noise(31);
    const int64_t floats = 2 * c.head_dim * (c.committed + kBlock + kMaxStaged);
    keys_ = noise.values(floats);
    values_ = noise.values(floats);
    if (c.dtype == DType::kBf16) {
      for (float& v : keys_) v = bf16_to_float(bf16_from_float(v));
      for (float& v : values_) v = bf16_to_float(bf16_from_float(v));
    }
    key_bytes_ = stored(keys_);
    value_bytes_ = stored(values_);
    for (int64_t i = 0; i < kMaxStaged; ++i) {
      parents_.push_back(c.tree ? noise.below(i + 1) - 1 : i - 1);
    }
    sinks_ = noise.values(c.group);
  }

  kernels::AttentionShape shape() const { return {c_.head_dim, c_.group, 1, 0.2F}; }
  std::span<const float> sinks() const {
    return c_.sinks ? std::span<const float>(sinks_) : std::span<const float>();
  }

  // What row `id` sees.
  std::vector<kernels::KeySegment> segments(int64_t id) const {
    std::vector<int64_t> path;
    for (int64_t at = id; at >= 0; at = parents_[static_cast<size_t>(at)]) path.push_back(at);
    std::reverse(path.begin(), path.end());
    const Position q = c_.committed + static_cast<Position>(path.size()) - 1;
    const Position oldest = c_.window == 0 ? 0 : std::max<Position>(0, q - c_.window + 1);
    std::vector<kernels::KeySegment> result;
    for (Position p = oldest; p < c_.committed;) {
      Position end = std::min<Position>((p / kBlock + 1) * kBlock, c_.committed);
      if (c_.gaps) end = std::min(end, p + 1 + p % 5);
      result.push_back(segment(p, end - p, block_start(p), c_.head_dim, kBlock * c_.head_dim));
      p = c_.gaps ? end + end % 3 : end;
    }
    for (size_t i = 0; i < path.size();) {  // runs of staged rows become one segment
      size_t n = 1;
      while (i + n < path.size() && path[i + n] == path[i] + static_cast<int64_t>(n)) ++n;
      const Position first = c_.committed + static_cast<Position>(i);
      if (first >= oldest) {
        result.push_back(segment(first, static_cast<int64_t>(n), staged_start(path[i]),
                                 2 * c_.head_dim, c_.head_dim));
        i += n;
      } else {
        ++i;
      }
    }
    return result;
  }

  float key(const kernels::KeySegment& s, int64_t i, int64_t dim) const {
    return keys_[element(s, i, dim)];
  }
  float value(const kernels::KeySegment& s, int64_t i, int64_t dim) const {
    return values_[element(s, i, dim)];
  }

 private:
  std::vector<std::byte> stored(const std::vector<float>& values) const {
    if (c_.dtype == DType::kF32) return as_bytes(values);
    std::vector<uint16_t> codes;
    for (const float v : values) codes.push_back(bf16_from_float(v));
    return as_bytes(codes);
  }
  int64_t block_start(Position p) const {
    return (p / kBlock) * kBlock * 2 * c_.head_dim + (p % kBlock) * c_.head_dim;
  }
  int64_t staged_start(int64_t row) const {
    return ((c_.committed + kBlock - 1) / kBlock * kBlock + row) * 2 * c_.head_dim;
  }
  kernels::KeySegment segment(Position first, int64_t count, int64_t at, int64_t position_stride,
                              int64_t head_stride) const {
    const int64_t bytes = at * dtype_bytes(c_.dtype);
    return {first,
            count,
            c_.dtype,
            key_bytes_.data() + bytes,
            value_bytes_.data() + bytes,
            position_stride,
            head_stride};
  }
  size_t element(const kernels::KeySegment& s, int64_t i, int64_t dim) const {
    return static_cast<size_t>((s.keys - key_bytes_.data()) / dtype_bytes(c_.dtype) +
                               i * s.position_stride + s.head_stride + dim);
  }

  AttentionCase c_;
  std::vector<float> keys_, values_, sinks_;
  std::vector<std::byte> key_bytes_, value_bytes_;
  std::vector<int64_t> parents_;
};

}  // namespace

RowKernel attention_case(const AttentionCase& c) {
  const auto fixture = std::make_shared<const AttentionFixture>(c);
  const int64_t width = c.head_dim * c.group;
  RowKernel k{"attention " + std::to_string(c.head_dim) + "x" + std::to_string(c.group) + "/" +
                  std::to_string(c.committed),
              width,
              width,
              {},
              {},
              0x1p-19};
  k.run = [=](const Table& table, Ids ids, InRows x, OutRows y) {
    std::vector<std::vector<kernels::KeySegment>> segments;
    for (const int64_t id : ids) segments.push_back(fixture->segments(id));
    std::vector<kernels::AttentionRow> rows;
    int64_t most = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      rows.push_back({x[i], y[i], segments[i], fixture->sinks()});
      int64_t keys = 0;
      for (const kernels::KeySegment& s : segments[i]) keys += s.count;
      most = std::max(most, keys);
    }
    std::vector<float> scratch(static_cast<size_t>(
        kernels::attention_scratch(static_cast<int64_t>(ids.size()), fixture->shape(), most)));
    table.attention(rows, fixture->shape(), scratch);
  };
  k.exact = [=](int64_t id, std::span<const float> x, std::span<double> y, std::span<double> m) {
    const std::vector<kernels::KeySegment> segments = fixture->segments(id);
    for (int64_t h = 0; h < c.group; ++h) {
      std::vector<double> weights;
      double sum = 0.0;
      for (const kernels::KeySegment& s : segments) {
        for (int64_t i = 0; i < s.count; ++i) {
          double dot = 0.0;
          for (int64_t j = 0; j < c.head_dim; ++j) {
            dot += d(x[static_cast<size_t>(h * c.head_dim + j)]) * d(fixture->key(s, i, j));
          }
          weights.push_back(std::exp(dot * d(0.2F)));
          sum += weights.back();
        }
      }
      if (c.sinks) sum += std::exp(d(fixture->sinks()[static_cast<size_t>(h)]));
      for (int64_t j = 0; j < c.head_dim; ++j) {
        const auto o = static_cast<size_t>(h * c.head_dim + j);
        y[o] = m[o] = 0.0;
        size_t at = 0;
        for (const kernels::KeySegment& s : segments) {
          for (int64_t i = 0; i < s.count; ++i, ++at) {
            const double term = weights[at] / sum * d(fixture->value(s, i, j));
            y[o] += term;
            m[o] += std::fabs(term);
          }
        }
      }
    }
  };
  return k;
}

std::vector<RowKernel> kernel_cases(std::string_view kernel) {
  using kernels::ScoreFunc;
  if (kernel.starts_with("linear_")) return linear_cases(kernel);
  static const std::map<std::string_view, std::function<std::vector<RowKernel>()>> kCases = {
      {"rms_norm",
       [] {
         return std::vector{rms_norm_case(1), rms_norm_case(128), rms_norm_case(300)};
       }},
      {"rope",
       [] {
         return std::vector{rope_case(128, 64), rope_case(128, 128), rope_case(50, 22),
                            rope_case(8, 2)};
       }},
      {"silu_mul",
       [] {
         return std::vector{silu_mul_case(512), silu_mul_case(37)};
       }},
      {"layer_norm",
       [] {
         return std::vector{layer_norm_case(16), layer_norm_case(128), layer_norm_case(300)};
       }},
      {"gelu",
       [] {
         return std::vector{gelu_case(false, 128), gelu_case(false, 37)};
       }},
      {"gelu_tanh",
       [] {
         return std::vector{gelu_case(true, 128), gelu_case(true, 37)};
       }},
      {"softplus_gate",
       [] {
         return std::vector{softplus_gate_case(100, 1), softplus_gate_case(8, 32),
                            softplus_gate_case(19, 21)};
       }},
      {"add",
       [] {
         return std::vector{add_case(256), add_case(35)};
       }},
      {"weighted_sum",
       [] {
         return std::vector{weighted_sum_case(256, 8), weighted_sum_case(35, 3),
                            weighted_sum_case(9, 1)};
       }},
      {"scale_add",
       [] {
         return std::vector{scale_add_case(256), scale_add_case(35)};
       }},
      {"router_scores",
       [] {
         return std::vector{router_case(ScoreFunc::kSigmoid, 0.0F, 256),
                            router_case(ScoreFunc::kSqrtSoftplus, 0.0F, 37),
                            router_case(ScoreFunc::kSoftmax, 0.0F, 45),
                            router_case(ScoreFunc::kSigmoid, 1.5F, 35),
                            router_case(ScoreFunc::kSoftmax, 30.0F, 64)};
       }},
      {"attention", attention_cases},
  };
  const auto found = kCases.find(kernel);
  return found == kCases.end() ? std::vector<RowKernel>() : found->second();
}

}  // namespace spindrift::testing
