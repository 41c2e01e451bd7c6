#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pre_tokenizer.h"

namespace spindrift {
namespace {

// Rewrites every piece through append(piece text, new text).
template <class Append>
void rewrite(Pieces& pieces, const Append& append) {
  std::string text;
  text.reserve(pieces.text.size() + pieces.spans.size());
  for (Span& piece : pieces.spans) {
    const size_t begin = text.size();
    append(std::string_view(pieces.text).substr(piece.begin, piece.end - piece.begin), text);
    piece = {begin, text.size()};
  }
  pieces.text = std::move(text);
}

}  // namespace

ByteLevelStage::ByteLevelStage(bool add_prefix_space, bool use_regex, bool spell_bytes)
    : add_prefix_space_(add_prefix_space), spell_bytes_(spell_bytes) {
  if (use_regex) {
    split_ = std::make_unique<SplitStage>(make_scanner(kGpt2Expression), SplitBehavior::kIsolated,
                                          false);
  }
}

Status ByteLevelStage::apply(Pieces& pieces) const {
  if (add_prefix_space_) {
    rewrite(pieces, [](std::string_view piece, std::string& text) {
      if (!piece.starts_with(' ')) text += ' ';
      text += piece;
    });
  }
  if (split_ != nullptr) SPINDRIFT_TRY_STATUS(split_->apply(pieces));
  if (spell_bytes_) {
    rewrite(pieces,
            [](std::string_view piece, std::string& text) { text += bytes_to_symbols(piece); });
  }
  return ok_status();
}

}  // namespace spindrift
