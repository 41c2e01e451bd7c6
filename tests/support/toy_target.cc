#include "support/toy_target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/thread_pool.h"

namespace spindrift::testing {
namespace {

constexpr int64_t kHidden = ToyTarget::kHidden;

std::vector<float> noise(uint64_t seed, int64_t count, float scale) {
  std::vector<float> out;
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto bits = static_cast<int32_t>(static_cast<uint32_t>(state >> 33U) & 0xFFFFFFU);
    out.push_back(scale * (static_cast<float>(bits) / 8388608.0F - 1.0F));
  }
  return out;
}

// One layer's keys and values: positions [first, first + rows) committed, more of them staged.
struct ToyKeys {
  Position first = 0;
  std::vector<float> keys, values, staged_keys, staged_values;
};

void add_row(std::vector<float>& to, const std::vector<float>& from, size_t row) {
  const auto at = from.begin() + static_cast<ptrdiff_t>(row * kHidden);
  to.insert(to.end(), at, at + kHidden);
}

// A copy of some positions' keys and values.
class ToyBlock final : public SharedBlock {
 public:
  struct Layer {
    std::vector<float> keys, values;
  };
  ToyBlock(std::array<Layer, ToyTarget::kLayers> held, bool windowed)
      : layers(std::move(held)), windowed_(windowed) {}
  int64_t bytes() const override {
    int64_t floats = 0;
    for (const Layer& layer : layers) floats += std::ssize(layer.keys) + std::ssize(layer.values);
    return floats * static_cast<int64_t>(sizeof(float));
  }
  bool whole() const override { return !layers[0].keys.empty(); }
  void thin() override {
    if (windowed_)
      for (Layer& layer : layers) layer = {};
  }
  int64_t thin_bytes() const override { return windowed_ ? 0 : bytes(); }

  std::array<Layer, ToyTarget::kLayers> layers;

 private:
  bool windowed_;
};

class ToySequence final : public Sequence {
 public:
  explicit ToySequence(Position window) : window_(window) {}
  Position block_positions() const override { return ToyTarget::kBlock; }
  std::unique_ptr<SharedBlock> share(int64_t index) const override {
    const Position first = index * ToyTarget::kBlock;
    SPINDRIFT_CHECK(first + ToyTarget::kBlock <= committed_, "shared positions are committed");
    std::array<ToyBlock::Layer, ToyTarget::kLayers> held;
    for (size_t l = 0; l < held.size() && layers[l].first <= first; ++l) {
      const auto at = static_cast<ptrdiff_t>((first - layers[l].first) * kHidden);
      const auto cut = [at](const std::vector<float>& from) {
        return std::vector(from.begin() + at, from.begin() + at + ToyTarget::kBlock * kHidden);
      };
      held[l] = {cut(layers[l].keys), cut(layers[l].values)};
    }
    return std::make_unique<ToyBlock>(std::move(held), window_ > 0);
  }
  void append(const SharedBlock& block) override {
    const auto& held = static_cast<const ToyBlock&>(block).layers;
    committed_ += ToyTarget::kBlock;
    for (size_t l = 0; l < held.size(); ++l) {
      ToyKeys& layer = layers[l];
      layer.keys.insert(layer.keys.end(), held[l].keys.begin(), held[l].keys.end());
      layer.values.insert(layer.values.end(), held[l].values.begin(), held[l].values.end());
      if (held[l].keys.empty()) {
        layer = {};
        layer.first = committed_;
      }
    }
    forget_unseen();
  }
  Position windowed_from(Position n) const override {
    return window_ == 0 ? n : std::min(n, first_visible(n));
  }
  void keep_from(Position first) override {
    keep_ = first;
    forget_unseen();
  }
  int64_t bytes_at(Position n) const override {
    return (n - std::min(n, first_visible(n))) * kHidden * ToyTarget::kLayers * 2 *
           static_cast<int64_t>(sizeof(float));
  }
  Position committed() const override { return committed_; }
  void commit(std::span<const RowIndex> path) override {
    for (ToyKeys& layer : layers) {
      for (const RowIndex row : path) {
        add_row(layer.keys, layer.staged_keys, static_cast<size_t>(row));
        add_row(layer.values, layer.staged_values, static_cast<size_t>(row));
      }
      layer.staged_keys.clear();
      layer.staged_values.clear();
    }
    committed_ += std::ssize(path);
    forget_unseen();
  }
  Status truncate(Position n) override {
    SPINDRIFT_CHECK(n <= committed_, "truncate goes back");
    for (ToyKeys& layer : layers) {
      if (layer.first > first_visible(n))
        return Error{ErrorCode::kUnsupported, "the window has moved on"};
    }
    for (ToyKeys& layer : layers) {
      const auto floats = static_cast<size_t>((n - layer.first) * kHidden);
      layer.keys.resize(floats);
      layer.values.resize(floats);
    }
    committed_ = n;
    return ok_status();
  }
  int64_t kv_bytes() const override {
    int64_t bytes = 0;
    for (const ToyKeys& layer : layers)
      bytes += static_cast<int64_t>(2 * sizeof(float) * layer.keys.size());
    return bytes;
  }
  std::vector<std::byte> state_bytes() const override {
    std::vector<std::byte> out;
    for (const ToyKeys& layer : layers)
      for (const std::vector<float>* part : {&layer.keys, &layer.values}) {
        const auto skip = static_cast<size_t>((first_visible(committed_) - layer.first) * kHidden);
        const auto bytes = std::as_bytes(std::span(*part).subspan(skip));
        out.insert(out.end(), bytes.begin(), bytes.end());
      }
    return out;
  }
  Position first_visible(Position query) const {
    return window_ == 0 ? 0 : std::max<Position>(0, query - window_ + 1);
  }

  ToyKeys layers[ToyTarget::kLayers];

 private:
  void forget_unseen() {
    const Position first = std::min({first_visible(committed_), committed_, keep_});
    for (ToyKeys& layer : layers) forget(layer, first);
  }
  static void forget(ToyKeys& layer, Position before) {
    const auto floats =
        static_cast<ptrdiff_t>(std::max<Position>(0, before - layer.first) * kHidden);
    layer.keys.erase(layer.keys.begin(), layer.keys.begin() + floats);
    layer.values.erase(layer.values.begin(), layer.values.begin() + floats);
    layer.first = std::max(layer.first, before);
  }
  Position window_, committed_ = 0;
  Position keep_ = std::numeric_limits<Position>::max();
};

// A fixed-order dot product; reversed for the target that breaks the law.
float dot(const float* a, const float* b, bool reversed) {
  float sum = 0;
  for (int64_t i = 0; i < kHidden; ++i) {
    const int64_t k = reversed ? kHidden - 1 - i : i;
    sum = std::fma(a[k], b[k], sum);
  }
  return sum;
}

void multiply(const std::vector<float>& matrix, const float* x, float* y, bool reversed) {
  for (int64_t i = 0; i < kHidden; ++i) y[i] = dot(matrix.data() + i * kHidden, x, reversed);
}

struct Row {
  ToySequence* sequence = nullptr;
  int64_t index = 0;  // in its sequence's part of the batch
  Position position = 0;
  std::vector<int64_t> ancestors;  // staged rows, itself last
};

std::vector<Row> lay_out(std::span<const SeqRows> batch) {
  std::vector<Row> rows;
  for (const SeqRows& part : batch) {
    auto* sequence = static_cast<ToySequence*>(part.seq);
    const auto start = static_cast<size_t>(std::ssize(rows));
    for (size_t i = 0; i < part.tokens.size(); ++i) {
      const RowIndex parent = part.parents.empty() ? static_cast<RowIndex>(i) - 1 : part.parents[i];
      Row row{
          .sequence = sequence, .index = static_cast<int64_t>(i), .position = 0, .ancestors = {}};
      if (parent != kRoot) row.ancestors = rows[start + static_cast<size_t>(parent)].ancestors;
      row.ancestors.push_back(static_cast<int64_t>(i));
      row.position = sequence->committed() + std::ssize(row.ancestors) - 1;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// out = sum of values weighed by 1 / (0.1 + |q - k|^2), visible keys by ascending position.
void attend(const Row& row, const ToyKeys& keys, const float* q, float* out, bool reversed) {
  float total = 0;
  std::fill_n(out, kHidden, 0.0F);
  const auto add = [&](const float* k, const float* v) {
    float difference[kHidden];
    for (int64_t i = 0; i < kHidden; ++i) difference[i] = q[i] - k[i];
    const float weight = 1.0F / (0.1F + dot(difference, difference, reversed));
    total += weight;
    for (int64_t i = 0; i < kHidden; ++i) out[i] = std::fma(weight, v[i], out[i]);
  };
  const Position visible = row.sequence->first_visible(row.position);
  for (Position p = std::max(visible, keys.first); p < row.sequence->committed(); ++p)
    add(keys.keys.data() + (p - keys.first) * kHidden,
        keys.values.data() + (p - keys.first) * kHidden);
  for (size_t depth = 0; depth < row.ancestors.size(); ++depth)
    if (row.sequence->committed() + static_cast<Position>(depth) >= visible)
      add(keys.staged_keys.data() + row.ancestors[depth] * kHidden,
          keys.staged_values.data() + row.ancestors[depth] * kHidden);
  for (int64_t i = 0; i < kHidden; ++i) out[i] /= total;
}

}  // namespace

ToyTarget::ToyTarget(const ToyConfig& config)
    : config_(config),
      info_{
          .vocab = kVocab, .hidden = kHidden, .layers = kLayers, .max_context = config.max_context},
      embedding_(noise(1, kVocab * kHidden, 1.5F)),
      head_(noise(2, kVocab * kHidden, 3.0F)) {
  uint64_t seed = 3;
  for (Layer& layer : layers_)
    for (std::vector<float>* matrix : {&layer.q, &layer.k, &layer.v, &layer.o})
      *matrix = noise(seed++, kHidden * kHidden, 0.7F);
}

std::unique_ptr<Sequence> ToyTarget::open() const {
  return std::make_unique<ToySequence>(config_.window);
}

void ToyTarget::embed(std::span<const TokenId> ids, Rows out) const {
  for (size_t i = 0; i < ids.size(); ++i)
    std::copy_n(embedding_.data() + ids[i] * kHidden, kHidden,
                out.row(static_cast<int64_t>(i)).data());
}

void ToyTarget::lm_head(ConstRows hidden, Rows logits, const Exec& ex) const {
  for_cells(ex, hidden.rows() * kVocab, [&](int64_t first, int64_t last) {
    for (int64_t cell = first; cell < last; ++cell) {
      const int64_t row = cell / kVocab;
      const int64_t id = cell % kVocab;
      logits.row(row)[static_cast<size_t>(id)] =
          dot(head_.data() + id * kHidden, hidden.row(row).data(), false);
    }
  });
}

ForwardResult ToyTarget::forward(std::span<const SeqRows> batch, const ForwardOptions& options,
                                 Workspace& ws, const Exec& ex) const {
  const std::vector<Row> rows = lay_out(batch);
  const auto count = std::ssize(rows);
  const bool reversed = config_.breaks_row_law && count > 1;
  Rows x = ws.rows(0, count, kHidden);
  Rows q = ws.rows(1, count, kHidden);
  Rows mixed = ws.rows(2, count, kHidden);
  int64_t at = 0;
  for (const SeqRows& part : batch) {
    embed(part.tokens, x.slice(at, std::ssize(part.tokens)));
    for (ToyKeys& keys : static_cast<ToySequence*>(part.seq)->layers) {
      keys.staged_keys.assign(part.tokens.size() * kHidden, 0);
      keys.staged_values.assign(part.tokens.size() * kHidden, 0);
    }
    at += std::ssize(part.tokens);
  }
  for (int64_t r = 0; r < count; ++r)
    for (int64_t i = 0; i < kHidden; ++i)
      x.row(r)[static_cast<size_t>(i)] +=
          0.3F * static_cast<float>((rows[static_cast<size_t>(r)].position * (i + 3)) % 11 - 5);

  ws.tap_views.clear();
  for (size_t t = 0; t < options.taps.size(); ++t)
    ws.tap_views.push_back(ws.rows(8 + t, count, kHidden));
  const auto record = [&](const Tap& tap) {
    for (size_t t = 0; t < options.taps.size(); ++t)
      if (options.taps[t] == tap)
        for (int64_t r = 0; r < count; ++r)
          std::copy_n(x.row(r).data(), kHidden, ws.rows(8 + t, count, kHidden).row(r).data());
  };
  for (int l = 0; l < kLayers; ++l) {
    const Layer& layer = layers_[l];
    for_cells(ex, count, [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const Row& row = rows[static_cast<size_t>(r)];
        ToyKeys& keys = row.sequence->layers[l];
        multiply(layer.q, x.row(r).data(), q.row(r).data(), reversed);
        multiply(layer.k, x.row(r).data(), keys.staged_keys.data() + row.index * kHidden, reversed);
        multiply(layer.v, x.row(r).data(), keys.staged_values.data() + row.index * kHidden,
                 reversed);
      }
    });
    for_cells(ex, count, [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const Row& row = rows[static_cast<size_t>(r)];
        attend(row, row.sequence->layers[l], q.row(r).data(), mixed.row(r).data(), reversed);
        float out[kHidden];
        multiply(layer.o, mixed.row(r).data(), out, reversed);
        for (size_t i = 0; i < kHidden; ++i) {
          const float sum = x.row(r)[i] + 4.0F * out[i];
          x.row(r)[i] = 2.0F * sum / (1.0F + std::fabs(sum));
        }
      }
    });
    record({.kind = Tap::Kind::kAfterLayer, .layer = l});
  }
  record({.kind = Tap::Kind::kFinalNorm, .layer = 0});

  std::vector<int64_t> wanted;
  at = 0;
  for (const SeqRows& part : batch) {
    const auto part_rows = std::ssize(part.tokens);
    for (int64_t r = 0; r < part_rows; ++r)
      if (part.logits == LogitRows::kAll || (part.logits == LogitRows::kLast && r == part_rows - 1))
        wanted.push_back(at + r);
    at += part_rows;
  }
  Rows hidden = ws.rows(3, std::ssize(wanted), kHidden);
  Rows logits = ws.rows(4, std::ssize(wanted), kVocab);
  for (size_t i = 0; i < wanted.size(); ++i)
    std::copy_n(x.row(wanted[i]).data(), kHidden, hidden.row(static_cast<int64_t>(i)).data());
  lm_head(hidden, logits, ex);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (rows[static_cast<size_t>(wanted[i])].position + 1 == config_.poisoned)
      logits.row(static_cast<int64_t>(i))[5] = std::numeric_limits<float>::quiet_NaN();
  return {.logits = logits, .taps = ws.tap_views};
}

}  // namespace spindrift::testing
