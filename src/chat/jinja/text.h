#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift::jinja {

// UTF-8 text with the answers Python's str gives. All inputs are valid UTF-8 unless said otherwise.

size_t count_code_points(std::string_view text);
// Reads the code point at *at and moves behind it; *at < text.size().
char32_t next_code_point(std::string_view text, size_t* at);
void append_code_point(char32_t c, std::string* out);
// Byte offset of code point `index`, at most text.size().
size_t byte_offset(std::string_view text, size_t index);

bool is_space(char32_t c);      // str.isspace, and \s of a str pattern
bool is_line_end(char32_t c);   // where str.splitlines cuts
bool is_printable(char32_t c);  // str.isprintable
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);
bool is_word(char32_t c);  // \w of a str pattern
bool is_identifier(std::string_view text);
int decimal_value(char32_t c);  // 0..9 of a decimal digit of any script, or -1

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);  // str.title
std::string swapcase(std::string_view text);
std::string casefold(std::string_view text);

// Without `chars`: white space. With: any of its code points.
std::string_view strip(std::string_view text, std::optional<std::string_view> chars, bool left,
                       bool right);

// Where `wanted` first stands at or behind `from`, and where it last stands; npos when nowhere.
// Time grows with the sum of both lengths, never with their product.
size_t find_text(std::string_view text, std::string_view wanted, size_t from = 0);
size_t rfind_text(std::string_view text, std::string_view wanted);

// str.split / rsplit; max < 0 = no limit. Without separator: runs of white space; a separator is
// not empty.
std::vector<std::string_view> split(std::string_view text,
                                    std::optional<std::string_view> separator, int64_t max,
                                    bool from_right);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

// str.replace; max < 0 = all. The result may not exceed `limit` bytes (TemplateError).
std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t max,
                    size_t limit);

}  // namespace spindrift::jinja
