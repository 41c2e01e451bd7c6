#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace spindrift {

class MappedFile;

struct TensorInfo {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  std::string_view file;  // path of the file it lies in; lives as long as the store
  // One more name of the same bytes; the first name, ascending, is none.
  bool alias = false;
  int64_t own_bytes() const { return alias ? 0 : bytes; }
};

// What a file format's reader hands to a store: one tensor inside one of the mapped files.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // contiguous, row-major, inside files[file]
  uint32_t file = 0;
};

// The named tensors of one checkpoint, used in place from its mapped files, whatever format these
// have. It keeps the books on what a loader did with each tensor, so that a checkpoint with weights
// nobody asked for is noticed. Reading marks tensors: one thread loads. Views stay valid as long as
// the store.
class WeightStore {
 public:
  // `where` names the checkpoint in errors. Names must be distinct and every span inside its file.
  WeightStore(std::string where, std::vector<std::shared_ptr<const MappedFile>> files,
              std::vector<StoredTensor> tensors);
  ~WeightStore();
  WeightStore(const WeightStore&) = delete;
  WeightStore& operator=(const WeightStore&) = delete;

  // Null when there is no such tensor. Does not mark it.
  const TensorInfo* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // The tensor, which must have this type and shape, and marks it read. kNotFound when absent,
  // kInvalid with both types and shapes when different; both name file and tensor.
  Result<TensorView> get(std::string_view name, DType dtype, std::span<const int64_t> shape);
  Result<TensorView> get(std::string_view name, DType dtype, std::initializer_list<int64_t> shape) {
    return get(name, dtype, std::span<const int64_t>(shape.begin(), shape.size()));
  }
  // The tensor as it is, marked read; kNotFound when absent.
  Result<TensorView> get_any(std::string_view name);
  // The error of a tensor that is not `expected` ("U8 [4, 8]"): kNotFound when absent, else
  // kInvalid with what was found in which file.
  Error mismatch(std::string_view name, const std::string& expected) const;
  // Marks a tensor as known and deliberately unused; nothing happens when it is absent.
  void ignore(std::string_view name);

  std::vector<std::string> unread()
      const;  // neither read nor ignored, names ascending; a loader ends with none
  // kInvalid, naming the first few, when there are unread tensors.
  Status check_all_read() const;
  std::vector<std::string> ignored() const;  // ignored and never read, names ascending
  // Names that start with `prefix`, ascending; they live as long as the store.
  std::vector<std::string_view> names(std::string_view prefix = {}) const;
  size_t size() const;                                  // number of tensors
  int64_t total_bytes() const { return total_bytes_; }  // of all tensors, shared ones once

  const std::string& where() const { return where_; }
  const std::vector<std::shared_ptr<const MappedFile>>& files() const { return files_; }

 private:
  struct Entry;
  const Entry* entry(std::string_view name) const;  // null when absent
  TensorView read(const Entry& found);              // marks it

  std::string where_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<std::string> file_names_;
  std::vector<Entry> entries_;  // names ascending
  int64_t total_bytes_ = 0;
};

// A store seen from a module: names are joined by '.', so scope / "layers" / 3 reads
// "layers.3.LEAF".
struct WeightScope {
  WeightStore* store = nullptr;
  std::string prefix;

  WeightScope operator/(std::string_view part) const { return {store, name(part)}; }
  WeightScope operator/(int64_t index) const {
    return *this / std::string_view(std::to_string(index));
  }
  std::string name(std::string_view leaf) const {
    return prefix.empty() ? std::string(leaf) : prefix + '.' + std::string(leaf);
  }

  const TensorInfo* find(std::string_view leaf) const { return store->find(name(leaf)); }
  bool has(std::string_view leaf) const { return store->has(name(leaf)); }
  Result<TensorView> get(std::string_view leaf, DType dtype, std::span<const int64_t> shape) const {
    return store->get(name(leaf), dtype, shape);
  }
  Result<TensorView> get(std::string_view leaf, DType dtype,
                         std::initializer_list<int64_t> shape) const {
    return store->get(name(leaf), dtype, shape);
  }
  Result<TensorView> get_any(std::string_view leaf) const { return store->get_any(name(leaf)); }
  Error mismatch(std::string_view leaf, const std::string& expected) const {
    return store->mismatch(name(leaf), expected);
  }
  void ignore(std::string_view leaf) const { store->ignore(name(leaf)); }
};

// Opens the weights of a model folder: the first that is there of `model.safetensors`, the shards
// of `model.safetensors.index.json`, `pytorch_model.bin`, the shards of
// `pytorch_model.bin.index.json`. The transformers library prefers the same way. Headers are read
// and checked; data is not, except that a `.bin` of up to 64 MiB has its checksums compared. Only
// the weights chosen and their index are opened. With an index, its shards must hold exactly the
// tensors it assigns to them. Tensors of a `.bin` that share a storage share their bytes in the
// store, too: several names, one address.
Result<std::unique_ptr<WeightStore>> open_weights(const std::filesystem::path& folder);

}  // namespace spindrift
