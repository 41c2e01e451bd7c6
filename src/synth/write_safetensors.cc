#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/thread_pool.h"
#include "synth/new_file.h"
#include "synth/write_weights.h"

namespace spindrift::synth {
namespace {

struct Placed {
  const PlannedTensor* tensor;
  int64_t offset;  // in the file's data
};
using Shard = std::vector<Placed>;

// In the order of the plan, a new shard wherever the next tensor does not fit or may not be there.
std::vector<Shard> divide(const CheckpointPlan& plan) {
  std::vector<Shard> shards;
  int64_t filled = 0;
  for (const PlannedTensor& tensor : plan.tensors) {
    const bool first = shards.empty();
    if (first || filled + tensor.bytes() > plan.shard_bytes ||
        shards.back().back().tensor->shard_group != tensor.shard_group) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back({&tensor, 0});
    filled += tensor.bytes();
  }
  for (Shard& shard : shards) {
    std::sort(shard.begin(), shard.end(), [](const Placed& a, const Placed& b) {
      const int64_t wide_a = dtype_bytes(a.tensor->dtype), wide_b = dtype_bytes(b.tensor->dtype);
      return wide_a != wide_b ? wide_a > wide_b : a.tensor->name < b.tensor->name;
    });
    int64_t offset = 0;
    for (Placed& placed : shard) {
      placed.offset = offset;
      offset += placed.tensor->bytes();
    }
  }
  return shards;
}

std::string header(const Shard& shard, const std::string& maker) {
  constexpr size_t kAlignment = 8;
  std::string json = "{\"__metadata__\":{\"format\":\"" + maker + "\"}";
  for (const Placed& placed : shard) {
    const PlannedTensor& tensor = *placed.tensor;
    json.append(",\"").append(tensor.name).append("\":{\"dtype\":\"");
    json.append(dtype_name(tensor.dtype)).append("\",\"shape\":[");
    for (size_t i = 0; i < tensor.shape.size(); ++i)
      json.append(i > 0 ? "," : "").append(std::to_string(tensor.shape[i]));
    json.append("],\"data_offsets\":[").append(std::to_string(placed.offset)).append(",");
    json.append(std::to_string(placed.offset + tensor.bytes())).append("]}");
  }
  json += '}';
  json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(json.size() >> (8 * i) & 0xFF);
  return length + json;
}

struct Block {
  const Placed* placed;
  int64_t number;
};

Status write_data(const Shard& shard, int64_t begin, const NewFile& file, const Filler& filler,
                  const Exec& ex, bool sparse) {
  std::vector<Block> blocks;
  for (const Placed& placed : shard) {
    if (sparse && !always_written(*placed.tensor)) continue;
    for (int64_t i = 0; i < Filler::blocks(*placed.tensor); ++i) blocks.push_back({&placed, i});
  }
  std::mutex lock;
  std::optional<Error> failure;
  for_cells(ex, std::ssize(blocks), [&](int64_t first, int64_t last) {
    std::vector<std::byte> buffer(Filler::kBlockBytes);
    for (int64_t i = first; i < last; ++i) {
      const auto& [placed, number] = blocks[static_cast<size_t>(i)];
      const int64_t from = number * Filler::kBlockBytes;
      const int64_t count = std::min(Filler::kBlockBytes, placed->tensor->bytes() - from);
      const std::span out(buffer.data(), static_cast<size_t>(count));
      filler.fill(*placed->tensor, number, out);
      const Status done = file.write(begin + placed->offset + from, out);
      if (done.ok()) continue;
      const std::lock_guard guard(lock);
      failure = done.error();
      return;
    }
  });
  if (failure) return *failure;
  return ok_status();
}

std::string shard_name(size_t index, size_t count) {
  if (count == 1) return "model.safetensors";
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name.data();
}

std::string index(const std::vector<Shard>& shards, int64_t bytes) {
  std::vector<std::pair<std::string_view, size_t>> files;
  for (size_t i = 0; i < shards.size(); ++i)
    for (const Placed& placed : shards[i]) files.emplace_back(placed.tensor->name, i);
  std::sort(files.begin(), files.end());
  std::string json = "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(bytes);
  json += "\n  },\n  \"weight_map\": {";
  const char* separator = "\n";
  for (const auto& [name, shard] : files) {
    json.append(separator).append("    \"").append(name).append("\": \"");
    json.append(shard_name(shard, shards.size())).append("\"");
    separator = ",\n";
  }
  return json + "\n  }\n}\n";
}

}  // namespace

Status write_safetensors(const CheckpointPlan& plan, const std::filesystem::path& folder,
                         const Filler& filler, const Exec& ex, bool sparse) {
  const std::vector<Shard> shards = divide(plan);
  for (size_t i = 0; i < shards.size(); ++i) {
    const Placed& last = shards[i].back();
    const std::string head = header(shards[i], plan.maker);
    const auto begin = static_cast<int64_t>(head.size());
    SPINDRIFT_TRY(const NewFile file, NewFile::create(folder / shard_name(i, shards.size()),
                                                      begin + last.offset + last.tensor->bytes()));
    SPINDRIFT_TRY_STATUS(file.write(0, head));
    SPINDRIFT_TRY_STATUS(write_data(shards[i], begin, file, filler, ex, sparse));
  }
  if (shards.size() == 1) return ok_status();
  const std::string text = index(shards, plan.bytes());
  SPINDRIFT_TRY(const NewFile file, NewFile::create(folder / "model.safetensors.index.json",
                                                    static_cast<int64_t>(text.size())));
  return file.write(0, text);
}

}  // namespace spindrift::synth
