#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace spindrift {

struct TagMatch {
  size_t at = std::string_view::npos;  // npos = none of the tags
  std::string_view tag;
};

// The first of the tags in a text; at the same place, the one listed first.
inline TagMatch find_tag(std::string_view text, std::initializer_list<std::string_view> tags) {
  TagMatch first;
  for (std::string_view tag : tags) {
    const size_t at = text.find(tag);
    if (at < first.at) first = {at, tag};
  }
  return first;
}

// How many bytes at the end of a text could be the beginning of a tag: they must wait for more
// text.
inline size_t partial_tag(std::string_view text, std::initializer_list<std::string_view> tags) {
  size_t longest = 0;
  for (std::string_view tag : tags)
    for (size_t size = std::min(tag.size() - 1, text.size()); size > longest; --size)
      if (text.substr(text.size() - size) == tag.substr(0, size)) longest = size;
  return longest;
}

}  // namespace spindrift
