#include "nn/attention.h"

#include <algorithm>
#include <memory>

#include "core/check.h"
#include "core/meter.h"
#include "core/thread_pool.h"
#include "nn/parallel.h"

namespace spindrift::nn {
namespace {

constexpr int64_t kRowBlock = kernels::kAttentionRows;

// One KV head of one block of rows of one part.
struct Task {
  int64_t part = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t kv_head = 0;
  int64_t cost = 0;  // keys visited, times rows
};

int64_t keys_seen(const KvCache& cache, Position q) {
  const Position window = cache.shape().window;
  return window == 0 ? q + 1 : std::min(q + 1, window);
}

// Runs consecutive tasks on one thread; neighbours differ in the KV head only, so the segments of
// a block of rows are looked up once.
class Worker {
 public:
  Worker(std::span<const AttentionPart> parts, int64_t heads, float scale,
         std::span<const float> sinks, const kernels::Table& kernels)
      : parts_(parts), heads_(heads), scale_(scale), sinks_(sinks), kernels_(kernels) {}

  void run(const Task& task) {
    const AttentionPart& part = parts_[static_cast<size_t>(task.part)];
    if (task.part != part_ || task.first_row != first_row_) look_up(task, part);
    const KvShape& shape = part.cache->shape();
    const kernels::AttentionShape call{.head_dim = shape.head_dim,
                                       .group = heads_ / shape.kv_heads,
                                       .kv_head = task.kv_head,
                                       .scale = scale_};
    const int64_t offset = task.kv_head * call.group * call.head_dim;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int64_t row = task.first_row + static_cast<int64_t>(i);
      rows_[i].q = part.q.row(row).data() + offset;
      rows_[i].out = part.out.row(row).data() + offset;
      if (!sinks_.empty())
        rows_[i].sinks = sinks_.subspan(static_cast<size_t>(task.kv_head * call.group),
                                        static_cast<size_t>(call.group));
    }
    const auto floats = static_cast<size_t>(kernels::attention_scratch(task.rows, call, max_keys_));
    if (floats > scratch_size_) {
      scratch_ = std::make_unique_for_overwrite<float[]>(floats);
      scratch_size_ = floats;
    }
    kernels_.attention(rows_, call, {scratch_.get(), floats});
  }

 private:
  void look_up(const Task& task, const AttentionPart& part) {
    part_ = task.part;
    first_row_ = task.first_row;
    segments_.clear();
    ends_.clear();
    max_keys_ = 0;
    for (int64_t row = task.first_row; row < task.first_row + task.rows; ++row) {
      const Position q = part.paths->positions()[static_cast<size_t>(row)];
      part.cache->visible(q, part.paths->path(row), segments_);
      ends_.push_back(segments_.size());
      max_keys_ = std::max(max_keys_, keys_seen(*part.cache, q));
    }
    rows_.assign(ends_.size(), {});
    for (size_t i = 0, begin = 0; i < ends_.size(); begin = ends_[i++])
      rows_[i].segments = std::span(segments_).subspan(begin, ends_[i] - begin);
  }

  std::span<const AttentionPart> parts_;
  int64_t heads_;
  float scale_;
  std::span<const float> sinks_;
  const kernels::Table& kernels_;
  int64_t part_ = -1, first_row_ = -1, max_keys_ = 0;
  std::vector<kernels::KeySegment> segments_;
  std::vector<size_t> ends_;
  std::vector<kernels::AttentionRow> rows_;
  std::unique_ptr<float[]> scratch_;
  size_t scratch_size_ = 0;
};

std::vector<Task> list_tasks(std::span<const AttentionPart> parts) {
  std::vector<Task> tasks;
  for (size_t p = 0; p < parts.size(); ++p) {
    const KvCache& cache = *parts[p].cache;
    const int64_t rows = parts[p].q.rows();
    for (int64_t first = 0; first < rows; first += kRowBlock) {
      const int64_t count = std::min(kRowBlock, rows - first);
      int64_t cost = 0;
      for (int64_t r = first; r < first + count; ++r)
        cost += keys_seen(cache, parts[p].paths->positions()[static_cast<size_t>(r)]);
      for (int64_t head = 0; head < cache.shape().kv_heads; ++head)
        tasks.push_back({static_cast<int64_t>(p), first, count, head, cost});
    }
  }
  return tasks;
}

// A part's rows together see committed keys from the oldest that its first position sees.
void count(const AttentionPart& part, int64_t heads, Meter& meter) {
  const KvShape& shape = part.cache->shape();
  Position oldest = part.cache->committed();
  for (const Position q : part.paths->positions()) {
    const int64_t seen = keys_seen(*part.cache, q);
    oldest = std::min(oldest, q + 1 - seen);
    meter.attention_multiply_adds += 2 * seen * heads * shape.head_dim;
  }
  meter.context_bytes += (part.cache->committed() - oldest) * 2 * shape.kv_heads * shape.head_dim *
                         dtype_bytes(shape.dtype);
}

}  // namespace

RowPaths::RowPaths(Position committed, int64_t rows, std::span<const RowIndex> parents) {
  SPINDRIFT_CHECK(parents.empty() || static_cast<int64_t>(parents.size()) == rows,
                  "one parent a row, or none for a chain");
  const auto count = static_cast<size_t>(rows);
  positions_.resize(count);
  offsets_.assign(count, 0);
  lengths_.resize(count);
  bool chain = true;
  for (size_t i = 0; i < count; ++i) {
    const RowIndex parent = parents.empty() ? static_cast<RowIndex>(i) - 1 : parents[i];
    SPINDRIFT_CHECK(parent >= kRoot && parent < static_cast<RowIndex>(i), "parents come first");
    chain = chain && parent == static_cast<RowIndex>(i) - 1;
    lengths_[i] = parent == kRoot ? 1 : lengths_[static_cast<size_t>(parent)] + 1;
    positions_[i] = committed + lengths_[i] - 1;
  }
  if (chain) {
    indices_.resize(count);
    for (size_t i = 0; i < count; ++i) indices_[i] = static_cast<RowIndex>(i);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    offsets_[i] = static_cast<int64_t>(indices_.size());
    if (parents[i] != kRoot) {
      const auto parent = static_cast<size_t>(parents[i]);
      for (int64_t d = 0; d < lengths_[parent]; ++d)
        indices_.push_back(indices_[static_cast<size_t>(offsets_[parent] + d)]);
    }
    indices_.push_back(static_cast<RowIndex>(i));
  }
}

int64_t RowPaths::rows() const { return static_cast<int64_t>(positions_.size()); }
std::span<const Position> RowPaths::positions() const { return positions_; }
std::span<const RowIndex> RowPaths::path(int64_t row) const {
  const auto r = static_cast<size_t>(row);
  return std::span(indices_).subspan(static_cast<size_t>(offsets_[r]),
                                     static_cast<size_t>(lengths_[r]));
}

void attention(std::span<const AttentionPart> parts, int64_t heads, float scale,
               std::span<const float> sinks, const Exec& ex) {
  for (const AttentionPart& part : parts) {
    const KvShape& shape = part.cache->shape();
    SPINDRIFT_CHECK(heads % shape.kv_heads == 0 && part.q.cols() == heads * shape.head_dim &&
                        part.out.cols() == part.q.cols() && part.q.rows() == part.paths->rows() &&
                        part.out.rows() == part.q.rows(),
                    "rows have the heads of the cache");
    if (ex.meter != nullptr) count(part, heads, *ex.meter);
  }
  SPINDRIFT_CHECK(sinks.empty() || static_cast<int64_t>(sinks.size()) == heads, "a sink a head");
  const std::vector<Task> tasks = list_tasks(parts);
  int64_t total = 0;
  for (const Task& task : tasks) total += task.cost;
  const int64_t width = parts.empty() ? 0 : parts[0].q.cols() / parts[0].cache->shape().kv_heads;
  const int64_t shares = total * width < 2 * kWorthSharing ? 1 : share_count(ex);

  const auto run_share = [&](int64_t first, int64_t last) {
    Worker worker(parts, heads, scale, sinks, *ex.kernels);
    const int64_t begin = total * first / shares, end = total * last / shares;
    int64_t start = 0;  // a task belongs to the share that its first piece of work lies in
    for (const Task& task : tasks) {
      if (start >= begin && start < end) worker.run(task);
      start += task.cost;
    }
  };
  for_cells(ex, shares, run_share);
}

}  // namespace spindrift::nn
