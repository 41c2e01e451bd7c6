#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "tokenizer/char_class.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/unicode_tables.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

bool is_unnormalized(char32_t c) {
  const auto ranges = unicode_tables::unnormalized();
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c,
                       [](char32_t value, const auto& range) { return value < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form)
      : compose_(form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc),
        compatible_(form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd) {}

  Status apply(NormalizedText& text) const override {
    if (is_ascii(text.text)) return ok_status();
    std::string out;
    std::vector<utf8proc_int32_t> run;  // decomposed, not yet ordered
    for (size_t pos = 0; pos < text.text.size();) {
      const CodePoint c = code_point_at(text.text, pos);
      pos += c.bytes;
      if (is_unnormalized(c.value)) {
        flush(run, out);
        append_code_point(c.value, out);
      } else {
        decompose(c.value, run);
      }
    }
    flush(run, out);
    text.text = std::move(out);
    return ok_status();
  }

 private:
  void decompose(char32_t c, std::vector<utf8proc_int32_t>& run) const {
    std::array<utf8proc_int32_t, 32> parts;  // the longest decomposition has 18
    const int options = UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (compatible_ ? UTF8PROC_COMPAT : 0);
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                               static_cast<utf8proc_ssize_t>(parts.size()),
                                               static_cast<utf8proc_option_t>(options), &boundary);
    if (count < 1 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
      run.push_back(static_cast<utf8proc_int32_t>(c));
    } else {
      run.insert(run.end(), parts.begin(), parts.begin() + count);
    }
  }

  // Orders the combining marks, composes, and appends the result.
  void flush(std::vector<utf8proc_int32_t>& run, std::string& out) const {
    const auto rank = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
    for (auto begin = run.begin(); begin != run.end();) {
      if (rank(*begin) == 0) {
        ++begin;
        continue;
      }
      const auto end =
          std::find_if(begin, run.end(), [&](utf8proc_int32_t c) { return rank(c) == 0; });
      std::stable_sort(begin, end,
                       [&](utf8proc_int32_t a, utf8proc_int32_t b) { return rank(a) < rank(b); });
      begin = end;
    }
    auto length = static_cast<utf8proc_ssize_t>(run.size());
    if (compose_ && length > 0) {
      length = utf8proc_normalize_utf32(
          run.data(), length, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    }
    for (utf8proc_ssize_t i = 0; i < length; ++i) {
      append_code_point(static_cast<char32_t>(run[static_cast<size_t>(i)]), out);
    }
    run.clear();
  }

  bool compose_, compatible_;
};

class LowercaseNormalizer : public Normalizer {
 public:
  Status apply(NormalizedText& text) const override {
    const auto exceptions = unicode_tables::lowercase_exceptions();
    std::string out;
    out.reserve(text.text.size());
    for (size_t pos = 0; pos < text.text.size();) {
      const CodePoint c = code_point_at(text.text, pos);
      pos += c.bytes;
      const auto found = std::lower_bound(
          exceptions.begin(), exceptions.end(), c.value,
          [](const auto& item, char32_t value) { return item.code_point < value; });
      if (found != exceptions.end() && found->code_point == c.value) {
        append_code_point(found->first, out);
        if (found->second != 0) append_code_point(found->second, out);
      } else {
        append_code_point(
            static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))), out);
      }
    }
    text.text = std::move(out);
    return ok_status();
  }
};

class StripAccentsNormalizer : public Normalizer {
 public:
  Status apply(NormalizedText& text) const override {
    std::string out;
    out.reserve(text.text.size());
    for (size_t pos = 0; pos < text.text.size();) {
      const CodePoint c = code_point_at(text.text, pos);
      if (!CharClasses::get().is(c.value, kCombiningMark)) {
        out.append(text.text, pos, c.bytes);
      } else if (pos == 0) {
        text.at_origin = false;
      }
      pos += c.bytes;
    }
    text.text = std::move(out);
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_unicode_normalizer(UnicodeForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}
std::unique_ptr<Normalizer> make_lowercase_normalizer() {
  return std::make_unique<LowercaseNormalizer>();
}
std::unique_ptr<Normalizer> make_strip_accents_normalizer() {
  return std::make_unique<StripAccentsNormalizer>();
}

}  // namespace spindrift
