#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// Character classes as the `tokenizers` package sees them, written by tools/tokenizer_unicode.py.
// The package mixes three Unicode versions (its Oniguruma, Rust's standard library, its
// normalisation crate); each table names its use.
namespace spindrift::unicode_tables {

struct CodePointRange {
  char32_t first = 0, last = 0;  // inclusive
};

// How \p{name} (name "w": \w) of the system's libonig differs from the package's Oniguruma.
struct PropertyDelta {
  std::string_view name;
  std::span<const CodePointRange> missing;  // in the package's class only
  std::span<const CodePointRange> surplus;  // in the system's class only
};

// A code point whose lower case is not what utf8proc says; `second` 0 = one code point.
struct LowercaseException {
  char32_t code_point, first, second;
};

std::span<const CodePointRange> letters();          // \p{L}
std::span<const CodePointRange> numbers();          // \p{N}
std::span<const CodePointRange> spaces();           // \s, the same in every engine
std::span<const CodePointRange> numeric();          // Digits
std::span<const CodePointRange> word();             // single_word
std::span<const CodePointRange> combining_marks();  // StripAccents
std::span<const CodePointRange>
unnormalized();  // inert in the package's NFC, NFD, NFKC, NFKD, not in utf8proc's
std::span<const LowercaseException> lowercase_exceptions();
std::span<const PropertyDelta> property_deltas();

}  // namespace spindrift::unicode_tables
