#include <algorithm>

#include "tokenizer/pre_tokenizer.h"

namespace spindrift {
namespace {

// Joins each part for which `joins` holds to the part before it.
template <class Joins>
void join_forward(std::vector<Part>& parts, const Joins& joins) {
  size_t kept = 0;
  bool previous_match = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part part = parts[i];
    if (kept > 0 && joins(part.is_match, previous_match)) {
      parts[kept - 1].span.end = part.span.end;
    } else {
      parts[kept++] = part;
    }
    previous_match = part.is_match;
  }
  parts.resize(kept);
}

}  // namespace

void arrange_parts(std::vector<Part>& parts, SplitBehavior behavior, std::vector<Span>& out) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kRemoved:
      std::erase_if(parts, [](const Part& part) { return part.is_match; });
      break;
    case SplitBehavior::kContiguous:
      join_forward(parts, [](bool match, bool previous) { return match == previous; });
      break;
    case SplitBehavior::kMergedWithPrevious:
      join_forward(parts, [](bool match, bool previous) { return match && !previous; });
      break;
    case SplitBehavior::kMergedWithNext: {
      // Seen from the end: a match joins the part after it unless that one is a match too.
      size_t kept = parts.size();
      bool next_match = false;
      for (size_t i = parts.size(); i-- > 0;) {
        const Part part = parts[i];
        if (kept < parts.size() && part.is_match && !next_match) {
          parts[kept].span.begin = part.span.begin;
        } else {
          parts[--kept] = part;
        }
        next_match = part.is_match;
      }
      parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(kept));
      break;
    }
  }
  for (const Part& part : parts) {
    if (part.span.begin < part.span.end) out.push_back(part.span);
  }
}

Status SplitStage::apply(Pieces& pieces) const {
  const std::string_view text = pieces.text;
  std::vector<Span> out;
  out.reserve(pieces.spans.size());
  std::vector<Span> matches;
  std::vector<Part> parts;
  SearchBudget budget(text.size());
  for (const Span& piece : pieces.spans) {
    matches.clear();
    SPINDRIFT_TRY_STATUS(
        pattern_->find_all(text.substr(piece.begin, piece.end - piece.begin), budget, matches));
    if (behavior_ == SplitBehavior::kIsolated) {  // the common case, without the detour over parts
      size_t done = piece.begin;
      for (const Span& match : matches) {
        if (done < piece.begin + match.begin) out.push_back({done, piece.begin + match.begin});
        if (match.begin < match.end)
          out.push_back({piece.begin + match.begin, piece.begin + match.end});
        done = piece.begin + match.end;
      }
      if (done < piece.end) out.push_back({done, piece.end});
      continue;
    }
    parts.clear();
    size_t done = piece.begin;
    for (const Span& match : matches) {
      const Span found{piece.begin + match.begin, piece.begin + match.end};
      if (done != found.begin) parts.push_back({{done, found.begin}, invert_});
      parts.push_back({found, !invert_});
      done = found.end;
    }
    if (done != piece.end) parts.push_back({{done, piece.end}, invert_});
    arrange_parts(parts, behavior_, out);
  }
  if (!pieces.spans.empty() && (out.empty() || out.front().begin != pieces.spans.front().begin)) {
    pieces.at_origin = false;
  }
  pieces.spans = std::move(out);
  return ok_status();
}

}  // namespace spindrift
