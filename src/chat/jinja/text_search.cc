#include <cstdint>
#include <vector>

#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

// Up to here the library's search, which may compare all of `wanted` at each place, is good enough.
constexpr size_t kShortWanted = 64;

// Text read forwards, or backwards from its end.
template <bool Backwards>
struct Reader {
  std::string_view text;
  char operator[](size_t i) const { return text[Backwards ? text.size() - 1 - i : i]; }
};

// Knuth, Morris and Pratt: where `wanted` first stands in `text`, both as they are read.
template <bool Backwards>
size_t find_long(std::string_view text, std::string_view wanted) {
  if (wanted.size() > text.size()) return std::string_view::npos;
  const Reader<Backwards> in{text}, what{wanted};
  // border[i]: how much of the beginning of `wanted` ends at its byte i, all of it not counted.
  std::vector<uint32_t> border(wanted.size());
  size_t matched = 0;
  const auto advance = [&](char c) {
    while (matched > 0 && what[matched] != c) matched = border[matched - 1];
    if (what[matched] == c) ++matched;
  };
  for (size_t i = 1; i < wanted.size(); ++i) {
    advance(what[i]);
    border[i] = static_cast<uint32_t>(matched);
  }
  matched = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    advance(in[i]);
    if (matched == wanted.size()) return i + 1 - matched;
  }
  return std::string_view::npos;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view wanted, size_t from) {
  if (wanted.size() <= kShortWanted || from > text.size()) return text.find(wanted, from);
  const size_t at = find_long<false>(text.substr(from), wanted);
  return at == std::string_view::npos ? at : from + at;
}

size_t rfind_text(std::string_view text, std::string_view wanted) {
  if (wanted.size() <= kShortWanted) return text.rfind(wanted);
  const size_t at = find_long<true>(text, wanted);
  return at == std::string_view::npos ? at : text.size() - at - wanted.size();
}

}  // namespace spindrift::jinja
