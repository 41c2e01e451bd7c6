#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "tokenizer/config_node.h"
#include "tokenizer/pattern.h"

namespace spindrift {

// A text cut into words. Spans are ordered, not empty and do not overlap; text between them is
// dropped.
struct Pieces {
  std::string text;
  std::vector<Span> spans;
  bool at_origin = true;  // the first span starts at byte 0 of what was to be encoded
};

// One stage: cuts the pieces further, or rewrites them.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual Status apply(Pieces& pieces) const = 0;
};

// What Split does with a match: a piece of its own, dropped, or joined to a neighbour; kContiguous
// joins neighbouring matches.
enum class SplitBehavior : uint8_t {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

// A part of a piece: a match, or what lies between matches.
struct Part {
  Span span;
  bool is_match = false;
};
// Joins or drops the parts of one piece as `behavior` says and appends the pieces that are left and
// not empty.
void arrange_parts(std::vector<Part>& parts, SplitBehavior behavior, std::vector<Span>& out);

// Cuts every piece at the matches of a pattern.
class SplitStage : public PreTokenizer {
 public:
  SplitStage(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Status apply(Pieces& pieces) const override;

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;  // matches and gaps change roles
};

// Digits, or runs of them, become pieces of their own.
class DigitsStage : public PreTokenizer {
 public:
  explicit DigitsStage(bool individual) : individual_(individual) {}
  Status apply(Pieces& pieces) const override;

 private:
  bool individual_;
};

// Puts a space before pieces that start with none (optional), cuts by GPT-2's expression
// (optional), and spells every byte in the ByteLevel alphabet (unless the model takes bytes).
class ByteLevelStage : public PreTokenizer {
 public:
  ByteLevelStage(bool add_prefix_space, bool use_regex, bool spell_bytes);
  Status apply(Pieces& pieces) const override;

 private:
  bool add_prefix_space_;
  bool spell_bytes_;
  std::unique_ptr<SplitStage> split_;  // null without use_regex
};

// Spaces become `replacement`, which may also be put in front, and pieces start at it.
class MetaspaceStage : public PreTokenizer {
 public:
  enum class Prepend : uint8_t { kFirst, kNever, kAlways };
  MetaspaceStage(std::string replacement, Prepend prepend, bool split);
  Status apply(Pieces& pieces) const override;

 private:
  std::string replacement_;
  Prepend prepend_;
  std::unique_ptr<SplitStage> split_;
};

struct PreTokenizerChain {
  std::vector<std::unique_ptr<PreTokenizer>> stages;
  bool pieces_are_bytes = false;  // ByteLevel came last, and its alphabet is left to the model
};
// From the value of "pre_tokenizer" (null: no stage, the whole text is one piece). Unknown types
// and keys are refused.
Result<PreTokenizerChain> make_pre_tokenizers(const ConfigNode* node);

}  // namespace spindrift
