#pragma once

#include <vector>

#include "core/result.h"
#include "core/types.h"
#include "tokenizer/config_node.h"

namespace spindrift {

// What the post-processor puts around a single sequence when special tokens are wanted.
struct PostProcessor {
  std::vector<TokenId> before, after;
};

// From "post_processor": null, TemplateProcessing, ByteLevel (offsets only), RobertaProcessing,
// BertProcessing, or a Sequence with at most one that adds tokens. Every id must be below
// `vocab_end`.
Result<PostProcessor> make_post_processor(const ConfigNode* node, TokenId vocab_end);

}  // namespace spindrift
