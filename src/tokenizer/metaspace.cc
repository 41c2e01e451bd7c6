#include "tokenizer/pre_tokenizer.h"

namespace spindrift {

MetaspaceStage::MetaspaceStage(std::string replacement, Prepend prepend, bool split)
    : replacement_(std::move(replacement)), prepend_(prepend) {
  if (split) {
    split_ = std::make_unique<SplitStage>(make_literal_pattern(replacement_),
                                          SplitBehavior::kMergedWithNext, false);
  }
}

Status MetaspaceStage::apply(Pieces& pieces) const {
  std::string text;
  text.reserve(pieces.text.size() + pieces.text.size() / 2);
  bool first = pieces.at_origin;
  for (Span& piece : pieces.spans) {
    const size_t begin = text.size();
    const std::string_view old =
        std::string_view(pieces.text).substr(piece.begin, piece.end - piece.begin);
    const bool marked = old.starts_with(' ') || old.starts_with(replacement_);
    if (!marked && (prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && first))) {
      text += replacement_;
    }
    for (const char c : old) {
      if (c == ' ') {
        text += replacement_;
      } else {
        text += c;
      }
    }
    piece = {begin, text.size()};
    first = false;
  }
  pieces.text = std::move(text);
  return split_ != nullptr ? split_->apply(pieces) : ok_status();
}

}  // namespace spindrift
