#include "tokenizer/pre_tokenizer.h"

#include <array>
#include <utility>

#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kBehaviors = {{
    {"Isolated", SplitBehavior::kIsolated},
    {"Removed", SplitBehavior::kRemoved},
    {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
    {"MergedWithNext", SplitBehavior::kMergedWithNext},
    {"Contiguous", SplitBehavior::kContiguous},
}};

using Stage = Result<std::unique_ptr<PreTokenizer>>;

Stage make_split(const ConfigNode& node) {
  ConfigReader reader(node);
  reader.skip("type");
  SPINDRIFT_TRY(const ConfigNode* pattern_node, reader.object("pattern"));
  SPINDRIFT_TRY(auto pattern, make_pattern(*pattern_node));
  SPINDRIFT_TRY(const std::string name, reader.string("behavior"));
  SPINDRIFT_TRY(const bool invert, reader.boolean("invert"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  for (const auto& [known, behavior] : kBehaviors) {
    if (known == name) {
      return std::unique_ptr<PreTokenizer>(
          std::make_unique<SplitStage>(std::move(pattern), behavior, invert));
    }
  }
  return Error{ErrorCode::kUnsupported,
               node.where + ".behavior: unknown split behavior " + in_quotes(name)};
}

Stage make_digits(const ConfigNode& node) {
  ConfigReader reader(node);
  reader.skip("type");
  SPINDRIFT_TRY(const bool individual, reader.boolean("individual_digits"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  return std::unique_ptr<PreTokenizer>(std::make_unique<DigitsStage>(individual));
}

Stage make_byte_level(const ConfigNode& node, bool spell_bytes) {
  ConfigReader reader(node);
  reader.skip("type");
  reader.skip("trim_offsets");  // offsets only
  SPINDRIFT_TRY(const bool add_prefix_space, reader.boolean("add_prefix_space"));
  SPINDRIFT_TRY(const bool use_regex, reader.boolean_or("use_regex", true));
  SPINDRIFT_TRY_STATUS(reader.finish());
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<ByteLevelStage>(add_prefix_space, use_regex, spell_bytes));
}

Stage make_metaspace(const ConfigNode& node) {
  using Prepend = MetaspaceStage::Prepend;
  ConfigReader reader(node);
  reader.skip("type");
  reader.skip("str_rep");  // a copy of replacement
  SPINDRIFT_TRY(std::string replacement, reader.string("replacement"));
  SPINDRIFT_TRY(const bool add_prefix_space, reader.boolean_or("add_prefix_space", true));
  SPINDRIFT_TRY(const auto scheme, reader.optional_string("prepend_scheme"));
  SPINDRIFT_TRY(const bool split, reader.boolean_or("split", true));
  SPINDRIFT_TRY_STATUS(reader.finish());
  if (replacement.empty() || code_point_at(replacement, 0).bytes != replacement.size()) {
    return Error{ErrorCode::kInvalid, node.where + ".replacement: expected one character, found " +
                                          in_quotes(replacement)};
  }
  Prepend prepend = Prepend::kAlways;
  const std::string name = scheme.value_or("always");
  if (name == "first") {
    prepend = Prepend::kFirst;
  } else if (name == "never") {
    prepend = Prepend::kNever;
  } else if (name != "always") {
    return Error{ErrorCode::kUnsupported,
                 node.where + ".prepend_scheme: unknown scheme " + in_quotes(name)};
  }
  if (!add_prefix_space && prepend != Prepend::kNever) {
    return Error{ErrorCode::kInvalid,
                 node.where + ".add_prefix_space: expected agreement with prepend_scheme \"" +
                     name + "\", found false"};
  }
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<MetaspaceStage>(std::move(replacement), prepend, split));
}

Status flatten(const ConfigNode& node, int depth, std::vector<const ConfigNode*>& out) {
  if (depth > kMaxDepth) {
    return Error{ErrorCode::kLimit, node.where.substr(0, 200) + ": nested too deeply"};
  }
  ConfigReader reader(node);
  SPINDRIFT_TRY(const std::string type, reader.type());
  if (type != "Sequence") {
    out.push_back(&node);
    return ok_status();
  }
  SPINDRIFT_TRY(const ConfigNode* list, reader.array("pretokenizers"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  for (const ConfigNode& item : list->items) SPINDRIFT_TRY_STATUS(flatten(item, depth + 1, out));
  return ok_status();
}

}  // namespace

Result<PreTokenizerChain> make_pre_tokenizers(const ConfigNode* node) {
  PreTokenizerChain chain;
  if (node == nullptr) return chain;
  std::vector<const ConfigNode*> nodes;
  SPINDRIFT_TRY_STATUS(flatten(*node, 0, nodes));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string type = nodes[i]->find("type")->text;
    const bool last = i + 1 == nodes.size();
    Stage stage = Error{ErrorCode::kUnsupported,
                        nodes[i]->where + ": unknown pre-tokenizer " + in_quotes(type)};
    if (type == "Split") stage = make_split(*nodes[i]);
    if (type == "Digits") stage = make_digits(*nodes[i]);
    if (type == "Metaspace") stage = make_metaspace(*nodes[i]);
    if (type == "ByteLevel") {
      stage = make_byte_level(*nodes[i], !last);
      chain.pieces_are_bytes = last;
    }
    if (!stage.ok()) return stage.error();
    chain.stages.push_back(std::move(stage).value());
  }
  return chain;
}

}  // namespace spindrift
