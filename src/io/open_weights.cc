#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "io/mmap_file.h"
#include "io/quote.h"
#include "io/safetensors.h"
#include "io/shard_index.h"
#include "io/torch_bin.h"
#include "io/weight_store.h"

namespace spindrift {
namespace {

// How the weights of a folder may be stored, in the order they are looked for.
struct Form {
  std::string_view file, suffix;  // the single file; the end of its and of every shard's name
  bool torch;
};
constexpr std::array kForms = {Form{"model.safetensors", ".safetensors", false},
                               Form{"pytorch_model.bin", ".bin", true}};

// Collects mapped files and their tensors, then becomes a store.
struct Checkpoint {
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<StoredTensor> tensors;
};

// Appends the tensors that a reader found in `file`, the last of out.files.
template <class Tensor>
void add_tensors(std::vector<Tensor> tensors, const MappedFile& file, Checkpoint& out) {
  for (Tensor& t : tensors)
    out.tensors.push_back(
        {std::move(t.name), t.dtype, std::move(t.shape),
         file.bytes().subspan(static_cast<size_t>(t.begin), static_cast<size_t>(t.end - t.begin)),
         static_cast<uint32_t>(out.files.size() - 1)});
}

// Maps a file and appends it; its tensors come with names ascending.
Status add_file(const std::filesystem::path& path, const Form& form, Checkpoint& out) {
  SPINDRIFT_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  out.files.push_back(file);
  if (form.torch) {
    SPINDRIFT_TRY(auto tensors, parse_torch_bin(file->bytes(), path.string()));
    add_tensors(std::move(tensors), *file, out);
  } else {
    SPINDRIFT_TRY(SafetensorsHeader header, parse_safetensors_header(file->bytes(), path.string()));
    add_tensors(std::move(header.tensors), *file, out);
  }
  return ok_status();
}

// Index and shards must agree: both lists have ascending names, so one walk finds the first
// difference.
Status check_against_index(const std::filesystem::path& index_path, const ShardIndex& index,
                           Checkpoint& checkpoint) {
  auto& stored = checkpoint.tensors;
  std::sort(stored.begin(), stored.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::tie(a.name, a.file) < std::tie(b.name, b.file);
  });
  const auto fail = [&](std::string_view tensor, const std::string& what) {
    return Error{ErrorCode::kCorrupt,
                 index_path.string() + ": tensor " + quoted_for_message(tensor, 200) + ": " + what};
  };
  size_t s = 0;
  for (const auto& [name, file] : index.tensors) {
    if (s < stored.size() && stored[s].name < name)
      return fail(stored[s].name, "expected every tensor of the shards here, found it only in " +
                                      index.files[stored[s].file]);
    if (s == stored.size() || stored[s].name != name)
      return fail(name, "expected it in " + index.files[file] + ", found it in no shard");
    if (s + 1 < stored.size() && stored[s + 1].name == name)
      return fail(name, "expected it in one shard, found it in " + index.files[stored[s].file] +
                            " and in " + index.files[stored[s + 1].file]);
    if (stored[s].file != file)
      return fail(name, "expected it in " + index.files[file] + ", found it in " +
                            index.files[stored[s].file]);
    ++s;
  }
  if (s < stored.size())
    return fail(stored[s].name, "expected every tensor of the shards here, found it only in " +
                                    index.files[stored[s].file]);
  return ok_status();
}

Result<std::unique_ptr<WeightStore>> finish(const std::filesystem::path& folder,
                                            Checkpoint checkpoint) {
  return std::make_unique<WeightStore>(folder.string(), std::move(checkpoint.files),
                                       std::move(checkpoint.tensors));
}

// True when there is something of this name, of whatever kind: a folder or a dangling link in the
// place of a weight file is an error to report, not a file to pass over.
bool occupied(const std::filesystem::path& path) {
  std::error_code code;
  return std::filesystem::symlink_status(path, code).type() !=
             std::filesystem::file_type::not_found &&
         !code;
}

Result<std::unique_ptr<WeightStore>> open_sharded(const std::filesystem::path& folder,
                                                  const std::filesystem::path& index_path,
                                                  const Form& form) {
  SPINDRIFT_TRY(const ShardIndex index, read_shard_index(index_path, form.suffix));
  Checkpoint checkpoint;
  checkpoint.tensors.reserve(index.tensors.size());
  for (const std::string& file : index.files)
    SPINDRIFT_TRY_STATUS(add_file(folder / file, form, checkpoint));
  SPINDRIFT_TRY_STATUS(check_against_index(index_path, index, checkpoint));
  return finish(folder, std::move(checkpoint));
}

}  // namespace

Result<std::unique_ptr<WeightStore>> open_weights(const std::filesystem::path& folder) {
  for (const Form& form : kForms) {
    const std::filesystem::path single = folder / form.file;
    if (occupied(single)) {
      Checkpoint checkpoint;
      SPINDRIFT_TRY_STATUS(add_file(single, form, checkpoint));
      return finish(folder, std::move(checkpoint));
    }
    const std::filesystem::path index_path = folder / (std::string(form.file) + ".index.json");
    if (occupied(index_path)) return open_sharded(folder, index_path, form);
  }
  return Error{ErrorCode::kNotFound,
               folder.string() +
                   ": expected model.safetensors, pytorch_model.bin or the .index.json of either, "
                   "found none of them"};
}

}  // namespace spindrift
