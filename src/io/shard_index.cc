#include "io/shard_index.h"

#include <simdjson.h>

#include <algorithm>
#include <map>

#include "io/file.h"
#include "io/quote.h"

namespace spindrift {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxDepth = 64;

bool plain_file_name(std::string_view name, std::string_view suffix) {
  if (name.size() <= suffix.size() || name.size() > 255 || !name.ends_with(suffix) ||
      name.front() == '.')
    return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
}

std::string shown(dom::element value) { return quoted_for_message(simdjson::minify(value)); }

class IndexReader {
 public:
  IndexReader(std::string_view file_name, std::string_view suffix)
      : file_name_(file_name), suffix_(suffix) {}

  Result<ShardIndex> read(const simdjson::padded_string& json) {
    dom::parser parser;
    if (const auto code = parser.allocate(json.size(), kMaxDepth)) return not_json(code);
    dom::element document;
    if (const auto code = parser.parse(json).get(document)) return not_json(code);
    dom::object top;
    if (document.get(top)) return not_json(simdjson::INCORRECT_TYPE);
    bool seen = false;
    for (const auto [key, value] : top) {
      if (key != "weight_map") continue;
      if (seen) return bad("key `weight_map`: expected it once, found it twice");
      seen = true;
      SPINDRIFT_TRY_STATUS(read_map(value));
    }
    if (entries_.empty())
      return bad("key `weight_map`: expected tensors and their files, found nothing");
    return finish();
  }

 private:
  Error bad(const std::string& what) const {
    return {ErrorCode::kInvalid, std::string(file_name_) + ": " + what};
  }
  Error not_json(simdjson::error_code code) const {
    return bad(std::string("expected a JSON object, found broken JSON (") +
               simdjson::error_message(code) + ")");
  }

  static std::string at_tensor(std::string_view tensor) {
    return "key `weight_map`, tensor " + quoted_for_message(tensor, 200) + ": ";
  }

  Status read_map(dom::element value) {
    dom::object object;
    if (value.get(object))
      return bad("key `weight_map`: expected an object, found " + shown(value));
    for (const auto [tensor, element] : object) {
      std::string_view file;
      if (element.get(file))
        return bad(at_tensor(tensor) + "expected a file name, found " + shown(element));
      if (!plain_file_name(file, suffix_))
        return bad(at_tensor(tensor) + "expected a file of this folder that ends in " +
                   std::string(suffix_) + ", found " + shown(element));
      const auto [at, added] =
          files_.try_emplace(std::string(file), static_cast<uint32_t>(files_.size()));
      if (files_.size() > kMaxShards)
        return bad("key `weight_map`: expected at most " + std::to_string(kMaxShards) +
                   " files, found more");
      entries_.emplace_back(tensor, at->second);
    }
    return ok_status();
  }

  Result<ShardIndex> finish() {
    ShardIndex index;
    std::vector<uint32_t> position(files_.size());
    for (const auto& [file, met] : files_) {
      position[met] = static_cast<uint32_t>(index.files.size());
      index.files.push_back(file);
    }
    for (auto& [tensor, file] : entries_) file = position[file];
    std::sort(entries_.begin(), entries_.end());
    const auto twice =
        std::adjacent_find(entries_.begin(), entries_.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != entries_.end())
      return bad(at_tensor(twice->first) + "expected it once, found it twice");
    index.tensors = std::move(entries_);
    return index;
  }

  std::string_view file_name_, suffix_;
  std::map<std::string, uint32_t> files_;  // value: order of first appearance
  std::vector<std::pair<std::string, uint32_t>> entries_;
};

}  // namespace

Result<ShardIndex> parse_shard_index(std::string_view json, std::string_view file_name,
                                     std::string_view suffix) {
  return IndexReader(file_name, suffix).read(simdjson::padded_string(json));
}

Result<ShardIndex> read_shard_index(const std::filesystem::path& path, std::string_view suffix) {
  SPINDRIFT_TRY(const std::string json, read_file(path, kMaxShardIndexBytes));
  return parse_shard_index(json, path.string(), suffix);
}

}  // namespace spindrift
