#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spindrift {

// What drafting did in one request. A round is one target forward after prefill.
struct DraftStats {
  int64_t rounds = 0;                      // with at least one draft token
  int64_t plain_rounds = 0;                // with none
  int64_t drafted = 0;                     // draft tokens verified, tree nodes included
  int64_t accepted = 0;                    // draft tokens kept, after any cut at a stop or limit
  std::vector<int64_t> drafted_to_depth;   // [i] rounds that drafted to depth i + 1
  std::vector<int64_t> accepted_at_depth;  // [i] of those, rounds that kept that depth
  double draft_s = 0;                      // proposing and observing
  double verify_s = 0;                     // target forwards of the rounds with a draft
  std::string decision;                    // why speculation was on, narrowed or off

  double mean_accepted() const { return share(accepted, rounds); }
  double tokens_per_round(int64_t generated) const {
    return share(generated, rounds + plain_rounds);
  }
  std::vector<double> acceptance_by_position() const {
    std::vector<double> out;
    for (size_t i = 0; i < drafted_to_depth.size(); ++i)
      out.push_back(share(accepted_at_depth[i], drafted_to_depth[i]));
    return out;
  }
  // part / whole, 0 when nothing was counted.
  static double share(int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

struct GenerationStats {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;  // of the prompt: already in the conversation
  int64_t generated_tokens = 0;
  int64_t replays = 0;   // times this request was dropped for memory and replayed
  double prefill_s = 0;  // from admission to the first token
  double decode_s = 0;   // from the first token to the end
  DraftStats draft;

  double prefill_tokens_per_s() const {
    const auto n = static_cast<double>(prompt_tokens - reused_tokens);
    return prefill_s > 0 ? n / prefill_s : 0;
  }
  // The first token belongs to the prefill.
  double decode_tokens_per_s() const {
    return decode_s > 0 && generated_tokens > 1
               ? static_cast<double>(generated_tokens - 1) / decode_s
               : 0;
  }
};

}  // namespace spindrift
