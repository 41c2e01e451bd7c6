// Tokenizes texts for tools/tokenizer_parity.py: reads records from stdin, writes answers to
// stdout.
//   tokenize_file MODEL encode [add_special] [plain]   each record: u32 length, text     -> "id id
//   id\n" tokenize_file MODEL decode [skip_special]          each record: u32 count, i32 ids   ->
//   u32 length, text tokenize_file MODEL stream [skip_special]          as decode, through a
//   TokenStream; exit 1 when a piece is no UTF-8 tokenize_file MODEL time as encode; prints "bytes
//   tokens seconds" of all records
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

int run(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto loaded = Tokenizer::load(argv[1]);
  if (!loaded.ok()) {
    std::cerr << loaded.error().message << "\n";
    return 3;
  }
  const Tokenizer& tokenizer = *loaded.value();
  const std::string mode = argv[2];
  EncodeOptions options;
  bool skip_special = false;
  for (int i = 3; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "add_special") options.add_special = true;
    if (flag == "plain") options.parse_special = false;
    if (flag == "skip_special") skip_special = true;
  }
  const std::string input((std::istreambuf_iterator<char>(std::cin)), {});
  const auto start = std::chrono::steady_clock::now();
  size_t bytes = 0, tokens = 0;
  for (size_t at = 0; at + 4 <= input.size();) {
    uint32_t length = 0;
    std::memcpy(&length, input.data() + at, 4);
    at += 4;
    if (mode == "encode" || mode == "time") {
      const auto ids = tokenizer.encode(std::string_view(input).substr(at, length), options);
      at += length;
      if (!ids.ok()) {
        std::cerr << ids.error().message << "\n";
        return 1;
      }
      bytes += length;
      tokens += ids.value().size();
      if (mode == "time") continue;
      std::string line;
      for (const TokenId id : ids.value()) line += std::to_string(id) + ' ';
      std::cout << line << '\n';
      continue;
    }
    std::vector<TokenId> ids(length);
    std::memcpy(ids.data(), input.data() + at, size_t{length} * 4);
    at += size_t{length} * 4;
    std::string text;
    if (mode == "decode") {
      text = tokenizer.decode(ids, skip_special);
    } else {
      TokenStream stream(tokenizer, skip_special);
      for (size_t i = 0; i <= ids.size(); ++i) {
        const std::string piece = i < ids.size() ? stream.push(ids[i]) : stream.finish();
        if (!valid_utf8(piece)) return 1;
        text += piece;
      }
    }
    const auto size = static_cast<uint32_t>(text.size());
    std::cout.write(reinterpret_cast<const char*>(&size), 4);
    std::cout << text;
  }
  if (mode == "time") {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << bytes << ' ' << tokens << ' ' << seconds.count() << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace spindrift

int main(int argc, char** argv) { return spindrift::run(argc, argv); }
