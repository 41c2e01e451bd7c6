#include <simdjson.h>

#include <fstream>
#include <system_error>
#include <tuple>

#include "tokenizer/config_node.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

namespace dom = simdjson::dom;

constexpr uintmax_t kMaxConfigBytes = uintmax_t{16} << 20;
constexpr uintmax_t kMaxTokenizerBytes = uintmax_t{1} << 30;
constexpr int kMaxDepth = 64;

Result<simdjson::padded_string> read_bytes(const std::filesystem::path& path, uintmax_t limit) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
    return Error{ErrorCode::kNotFound, path.string() + ": no such file"};
  }
  if (!std::filesystem::exists(path, error)) {
    return Error{ErrorCode::kIo, path.string() + ": expected a file, found a link to none",
                 "the download is incomplete; run it again"};
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorCode::kIo, path.string() + ": expected a file, found something else"};
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return Error{ErrorCode::kIo, path.string() + ": " + error.message()};
  if (size > limit) {
    return Error{ErrorCode::kLimit, path.string() + ": expected at most " + std::to_string(limit) +
                                        " bytes, found " + std::to_string(size)};
  }
  std::ifstream in(path, std::ios::binary);
  simdjson::padded_string bytes(static_cast<size_t>(size));
  if (!in || (size > 0 && !in.read(bytes.data(), static_cast<std::streamsize>(size)))) {
    return Error{ErrorCode::kIo, path.string() + ": cannot be read"};
  }
  return bytes;
}

Result<dom::element> parse(dom::parser& parser, const simdjson::padded_string& bytes,
                           const std::string& name) {
  dom::element root;
  const simdjson::error_code code = parser.parse(bytes).get(root);
  if (code != simdjson::SUCCESS) {
    return Error{ErrorCode::kInvalid,
                 name + ": expected JSON, found: " + simdjson::error_message(code)};
  }
  return root;
}

// Copies an element into a tree, leaving out the members of "model" called vocab and merges when
// `skip_tables`.
Result<ConfigNode> copy(dom::element element, std::string where, int depth, bool skip_tables) {
  if (depth > kMaxDepth)
    return Error{ErrorCode::kLimit, where.substr(0, 200) + ": nested too deeply"};
  ConfigNode node;
  node.where = std::move(where);
  switch (element.type()) {
    case dom::element_type::NULL_VALUE:
      break;
    case dom::element_type::BOOL:
      node.kind = ConfigNode::Kind::kBool;
      std::ignore = element.get(node.boolean);
      break;
    case dom::element_type::INT64:
      node.kind = ConfigNode::Kind::kInteger;
      std::ignore = element.get(node.integer);
      break;
    case dom::element_type::UINT64:  // beyond int64: no setting has such a value
    case dom::element_type::DOUBLE:
      node.kind = ConfigNode::Kind::kNumber;
      break;
    case dom::element_type::STRING: {
      node.kind = ConfigNode::Kind::kString;
      std::string_view text;
      std::ignore = element.get(text);
      node.text = text;
      break;
    }
    case dom::element_type::ARRAY: {
      node.kind = ConfigNode::Kind::kArray;
      dom::array items;
      if (element.get(items) != simdjson::SUCCESS)
        return Error{ErrorCode::kInvalid, node.where + ": not an array"};
      for (const dom::element item : items) {
        SPINDRIFT_TRY(ConfigNode copied,
                      copy(item, node.where + "[" + std::to_string(node.items.size()) + "]",
                           depth + 1, false));
        node.items.push_back(std::move(copied));
      }
      break;
    }
    case dom::element_type::OBJECT: {
      node.kind = ConfigNode::Kind::kObject;
      const std::string separator = depth == 0 ? ": " : ".";
      dom::object members;
      if (element.get(members) != simdjson::SUCCESS)
        return Error{ErrorCode::kInvalid, node.where + ": not an object"};
      for (const dom::key_value_pair member : members) {
        if (skip_tables && depth == 1 && (member.key == "vocab" || member.key == "merges"))
          continue;
        const std::string key(member.key);
        if (node.members.size() < 256 && node.find(key) != nullptr) {
          return Error{ErrorCode::kInvalid,
                       node.where + separator + printable(key) + ": expected once, found twice"};
        }
        SPINDRIFT_TRY(ConfigNode copied,
                      copy(member.value, node.where + separator + printable(key), depth + 1,
                           skip_tables && depth == 0 && key == "model"));
        node.members.push_back({key, std::move(copied)});
      }
      break;
    }
  }
  return node;
}

Error wrong(const std::string& where, std::string_view expected) {
  return {ErrorCode::kInvalid,
          where + ": expected " + std::string(expected) + ", found something else"};
}

Result<Vocabulary> read_vocabulary(dom::object model, const std::string& where) {
  dom::object vocab;
  if (model["vocab"].get(vocab) != simdjson::SUCCESS)
    return wrong(where, "an object of spellings and ids");
  std::vector<std::pair<std::string_view, int64_t>> entries;
  entries.reserve(vocab.size());
  for (const dom::key_value_pair entry : vocab) {
    int64_t id = 0;
    if (entry.value.get(id) != simdjson::SUCCESS) {
      return wrong(where + "[" + in_quotes(entry.key) + "]", "an integer id");
    }
    entries.emplace_back(entry.key, id);
  }
  return Vocabulary::build(std::move(entries), where);
}

// The two sides of one merge.
Result<std::pair<std::string_view, std::string_view>> read_merge(dom::element merge,
                                                                 const std::string& where) {
  std::string_view line;
  if (merge.get(line) == simdjson::SUCCESS) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      return wrong(where, "two spellings with one space between");
    }
    return std::pair(line.substr(0, space), line.substr(space + 1));
  }
  dom::array pair;
  std::string_view left, right;
  if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
      pair.at(0).get(left) != simdjson::SUCCESS || pair.at(1).get(right) != simdjson::SUCCESS) {
    return wrong(where, "\"left right\" or [\"left\", \"right\"]");
  }
  return std::pair(left, right);
}

Result<std::vector<MergeRule>> read_merges(dom::object model, const Vocabulary& vocabulary,
                                           size_t prefix_bytes, const std::string& where) {
  dom::array list;
  if (model["merges"].get(list) != simdjson::SUCCESS) return wrong(where, "an array");
  std::vector<MergeRule> merges;
  std::string joined;
  size_t index = 0;
  for (const dom::element merge : list) {
    const auto here = [&] { return where + "[" + std::to_string(index) + "]"; };
    std::string_view line;
    if (merge.get(line) == simdjson::SUCCESS && line.starts_with("#version")) continue;
    SPINDRIFT_TRY(const auto sides, read_merge(merge, here()));
    const auto [left, right] = sides;
    if (right.size() < prefix_bytes)
      return wrong(here(), "a right side that starts with continuing_subword_prefix");
    joined.assign(left);
    joined += right.substr(prefix_bytes);
    MergeRule rule{};
    struct Part {
      std::string_view spelling;
      TokenId* id;
    };
    for (const Part& part :
         {Part{left, &rule.left}, Part{right, &rule.right}, Part{joined, &rule.result}}) {
      *part.id = vocabulary.find(part.spelling);
      if (*part.id == kNoToken) {
        return Error{ErrorCode::kInvalid, here() + ": expected a token of the vocabulary, found " +
                                              in_quotes(part.spelling)};
      }
    }
    merges.push_back(rule);
    ++index;
  }
  return merges;
}

}  // namespace

Result<ConfigNode> read_config_file(const std::filesystem::path& path) {
  SPINDRIFT_TRY(const simdjson::padded_string bytes, read_bytes(path, kMaxConfigBytes));
  dom::parser parser;
  SPINDRIFT_TRY(const dom::element root, parse(parser, bytes, path.string()));
  return copy(root, path.string(), 0, false);
}

namespace {

Result<TokenizerFile> read_tokenizer(const simdjson::padded_string& bytes,
                                     const std::string& name) {
  dom::parser parser;
  SPINDRIFT_TRY(const dom::element root, parse(parser, bytes, name));
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS) return wrong(name, "an object");
  TokenizerFile file;
  SPINDRIFT_TRY(file.root, copy(root, name, 0, true));
  dom::object model;
  if (object["model"].get(model) != simdjson::SUCCESS) return wrong(name + ": model", "an object");
  const ConfigNode* type = file.root.find("model")->find("type");
  if (type != nullptr && type->text != "BPE") {
    return Error{ErrorCode::kUnsupported,
                 type->where + ": expected BPE, found " + in_quotes(type->text)};
  }
  const ConfigNode* prefix = file.root.find("model")->find("continuing_subword_prefix");
  SPINDRIFT_TRY(file.vocabulary, read_vocabulary(model, name + ": model.vocab"));
  SPINDRIFT_TRY(file.merges,
                read_merges(model, file.vocabulary, prefix == nullptr ? 0 : prefix->text.size(),
                            name + ": model.merges"));
  return file;
}

}  // namespace

Result<TokenizerFile> read_tokenizer_file(const std::filesystem::path& path) {
  SPINDRIFT_TRY(const simdjson::padded_string bytes, read_bytes(path, kMaxTokenizerBytes));
  return read_tokenizer(bytes, path.string());
}

Result<TokenizerFile> parse_tokenizer_file(std::string_view json, const std::string& name) {
  return read_tokenizer(simdjson::padded_string(json), name);
}

}  // namespace spindrift
