#include "tokenizer/special_tokens.h"

#include "tokenizer/config_node.h"

namespace spindrift {
namespace {

constexpr const char* kFiles[] = {"tokenizer_config.json", "special_tokens_map.json"};

Result<std::optional<std::string>> read_text(const ConfigNode& node) {
  if (node.is_null()) return std::optional<std::string>();
  if (node.kind == ConfigNode::Kind::kString) return std::optional<std::string>(node.text);
  const ConfigNode* content = node.find("content");
  if (content == nullptr || content->kind != ConfigNode::Kind::kString) {
    return node.unexpected("a string or an object with a string \"content\"");
  }
  return std::optional<std::string>(content->text);
}

Status read_file(const ConfigNode& root, SpecialTokens& out) {
  struct Slot {
    const char* key;
    std::optional<std::string>* text;
  };
  const Slot slots[] = {{"bos_token", &out.bos},  {"eos_token", &out.eos}, {"unk_token", &out.unk},
                        {"sep_token", &out.sep},  {"pad_token", &out.pad}, {"cls_token", &out.cls},
                        {"mask_token", &out.mask}};
  for (const Slot& slot : slots) {
    const ConfigNode* node = root.find(slot.key);
    if (node == nullptr || slot.text->has_value()) continue;
    SPINDRIFT_TRY(*slot.text, read_text(*node));
  }
  const ConfigNode* additional = root.find("additional_special_tokens");
  if (additional == nullptr || additional->is_null() || !out.additional.empty()) return ok_status();
  if (additional->kind != ConfigNode::Kind::kArray) return additional->unexpected("an array");
  for (const ConfigNode& item : additional->items) {
    SPINDRIFT_TRY(const auto text, read_text(item));
    if (text) out.additional.push_back(*text);
  }
  return ok_status();
}

}  // namespace

Result<SpecialTokens> read_special_tokens(const std::filesystem::path& model_dir) {
  SpecialTokens out;
  for (const char* name : kFiles) {
    Result<ConfigNode> root = read_config_file(model_dir / name);
    if (!root.ok()) {
      if (root.error().code == ErrorCode::kNotFound) continue;
      return root.error();
    }
    if (root.value().kind != ConfigNode::Kind::kObject) return root.value().unexpected("an object");
    SPINDRIFT_TRY_STATUS(read_file(root.value(), out));
  }
  return out;
}

}  // namespace spindrift
