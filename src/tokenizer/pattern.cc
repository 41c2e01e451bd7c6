#include "tokenizer/pattern.h"

#include "tokenizer/regex.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}

  Status search(std::string_view text, SearchBudget&, std::vector<Span>& matches) const override {
    for (size_t at = text.find(literal_); at != std::string_view::npos;
         at = text.find(literal_, at + literal_.size())) {
      matches.push_back({at, at + literal_.size()});
    }
    return ok_status();
  }

 private:
  std::string literal_;
};

}  // namespace

std::unique_ptr<Pattern> make_literal_pattern(std::string literal) {
  return std::make_unique<LiteralPattern>(std::move(literal));
}

Result<std::unique_ptr<Pattern>> make_pattern(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kObject || node.members.size() != 1) {
    return node.unexpected("an object with one member, String or Regex");
  }
  const auto& [kind, value] = node.members.front();
  if (value.kind != ConfigNode::Kind::kString) return value.unexpected("a string");
  if (kind == "Regex") {
    if (auto scanner = make_scanner(value.text)) return scanner;
    return compile_regex(value.text, value.where);
  }
  if (kind != "String") {
    return Error{ErrorCode::kUnsupported, node.where + ": unknown key " + in_quotes(kind)};
  }
  if (value.text.empty()) return compile_regex("", value.where);  // matches between all characters
  return make_literal_pattern(value.text);
}

}  // namespace spindrift
