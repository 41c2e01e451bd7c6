#include "tokenizer/post_processor.h"

#include <string>

#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr int kMaxDepth = 16;

Result<TokenId> read_id(const ConfigNode& node, TokenId vocab_end) {
  if (node.kind != ConfigNode::Kind::kInteger || node.integer < 0 || node.integer >= vocab_end) {
    return node.unexpected("a token id from 0 to " + std::to_string(vocab_end - 1));
  }
  return static_cast<TokenId>(node.integer);
}

Result<std::vector<TokenId>> template_ids(const ConfigNode& tokens, const ConfigNode& name,
                                          TokenId vocab_end) {
  const ConfigNode* entry = tokens.find(name.text);
  if (entry == nullptr) return name.unexpected("a key of special_tokens");
  ConfigReader reader(*entry);
  reader.skip("id");      // the key again
  reader.skip("tokens");  // the spellings of ids
  SPINDRIFT_TRY(const ConfigNode* list, reader.array("ids"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  std::vector<TokenId> ids;
  for (const ConfigNode& item : list->items) {
    SPINDRIFT_TRY(const TokenId id, read_id(item, vocab_end));
    ids.push_back(id);
  }
  return ids;
}

Result<PostProcessor> make_template(const ConfigNode& node, TokenId vocab_end) {
  ConfigReader reader(node);
  reader.skip("type");
  reader.skip("pair");  // one sequence at a time
  SPINDRIFT_TRY(const ConfigNode* single, reader.array("single"));
  SPINDRIFT_TRY(const ConfigNode* tokens, reader.object("special_tokens"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  PostProcessor out;
  bool seen_text = false;
  for (const ConfigNode& item : single->items) {
    if (item.kind != ConfigNode::Kind::kObject || item.members.size() != 1) {
      return item.unexpected("an object with one member, SpecialToken or Sequence");
    }
    const auto& [kind, value] = item.members.front();
    ConfigReader part(value);
    part.skip("type_id");
    SPINDRIFT_TRY(const std::string name, part.string("id"));
    SPINDRIFT_TRY_STATUS(part.finish());
    if (kind == "Sequence") {
      if (name != "A" || seen_text) {
        return Error{ErrorCode::kUnsupported,
                     value.where + ".id: expected sequence A once, found " + in_quotes(name)};
      }
      seen_text = true;
    } else if (kind == "SpecialToken") {
      SPINDRIFT_TRY(const auto ids, template_ids(*tokens, *value.find("id"), vocab_end));
      auto& side = seen_text ? out.after : out.before;
      side.insert(side.end(), ids.begin(), ids.end());
    } else {
      return Error{ErrorCode::kUnsupported, item.where + ": unknown key " + in_quotes(kind)};
    }
  }
  if (!seen_text) {
    return Error{ErrorCode::kInvalid,
                 single->where + ": expected sequence A once, found it nowhere"};
  }
  return out;
}

// RobertaProcessing and BertProcessing: ["spelling", id] pairs cls and sep around the text.
Result<PostProcessor> make_cls_sep(const ConfigNode& node, TokenId vocab_end) {
  ConfigReader reader(node);
  for (const char* key : {"type", "trim_offsets", "add_prefix_space"})
    reader.skip(key);  // offsets only
  PostProcessor out;
  for (const bool leading : {true, false}) {
    SPINDRIFT_TRY(const ConfigNode* pair, reader.array(leading ? "cls" : "sep"));
    if (pair->items.size() != 2) return pair->unexpected("a pair of spelling and id");
    SPINDRIFT_TRY(const TokenId id, read_id(pair->items[1], vocab_end));
    (leading ? out.before : out.after).push_back(id);
  }
  SPINDRIFT_TRY_STATUS(reader.finish());
  return out;
}

Result<PostProcessor> make_one(const ConfigNode& node, TokenId vocab_end, int depth) {
  if (depth > kMaxDepth)
    return Error{ErrorCode::kLimit, node.where.substr(0, 200) + ": nested too deeply"};
  ConfigReader reader(node);
  SPINDRIFT_TRY(const std::string type, reader.type());
  if (type == "TemplateProcessing") return make_template(node, vocab_end);
  if (type == "RobertaProcessing" || type == "BertProcessing") return make_cls_sep(node, vocab_end);
  if (type == "ByteLevel") {
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"})
      reader.skip(key);  // offsets only
    SPINDRIFT_TRY_STATUS(reader.finish());
    return PostProcessor{};
  }
  if (type != "Sequence") {
    return Error{ErrorCode::kUnsupported,
                 node.where + ": unknown post-processor " + in_quotes(type)};
  }
  SPINDRIFT_TRY(const ConfigNode* list, reader.array("processors"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  PostProcessor out;
  bool adds = false;
  for (const ConfigNode& item : list->items) {
    SPINDRIFT_TRY(PostProcessor part, make_one(item, vocab_end, depth + 1));
    if (part.before.empty() && part.after.empty()) continue;
    if (adds) {
      return Error{ErrorCode::kUnsupported,
                   item.where + ": expected one post-processor that adds tokens, found two"};
    }
    adds = true;
    out = std::move(part);
  }
  return out;
}

}  // namespace

Result<PostProcessor> make_post_processor(const ConfigNode* node, TokenId vocab_end) {
  if (node == nullptr) return PostProcessor{};
  return make_one(*node, vocab_end, 0);
}

}  // namespace spindrift
