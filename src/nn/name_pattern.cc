#include "nn/name_pattern.h"

#include <memory>
#include <optional>
#include <utility>

namespace spindrift::nn {
namespace {

constexpr std::string_view kPrefix = "re:";
constexpr int kMaxDepth = 32;

using Bytes = std::bitset<256>;

struct Node {
  enum class Kind : uint8_t { kBytes, kSequence, kChoice, kRepeat, kBegin, kEnd };
  Kind kind = Kind::kSequence;
  Bytes bytes;                  // kBytes
  std::optional<char> literal;  // kBytes of one byte
  bool at_least_once = false;   // kRepeat: + and not *
  bool many = true;             // kRepeat: * or + and not ?
  std::vector<Node> parts;
};

Bytes range(unsigned first, unsigned last) {
  Bytes set;
  for (unsigned byte = first; byte <= last; ++byte) set.set(byte);
  return set;
}

// \d, \w, \s and their complements; nullopt for other letters.
std::optional<Bytes> named_class(char letter) {
  const Bytes digits = range('0', '9');
  const Bytes word = digits | range('a', 'z') | range('A', 'Z') | range('_', '_');
  const Bytes space = range(' ', ' ') | range('\t', '\r');
  switch (letter) {
    case 'd':
      return digits;
    case 'D':
      return ~digits;
    case 'w':
      return word;
    case 'W':
      return ~word;
    case 's':
      return space;
    case 'S':
      return ~space;
    default:
      return std::nullopt;
  }
}

std::string quoted(std::string_view before, char c) {
  std::string text = "`";
  text.append(before).push_back(c);
  return text.append("`");
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Node> parse() {
    SPINDRIFT_TRY(Node all, choice(0));
    if (!done()) return unsupported("an unmatched `)`");
    return all;
  }

 private:
  bool done() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  static Error unsupported(const std::string& what) { return {ErrorCode::kUnsupported, what}; }

  Result<Node> choice(int depth) {
    if (depth > kMaxDepth) return unsupported("groups nested too deep");
    Node node;
    node.kind = Node::Kind::kChoice;
    do {
      SPINDRIFT_TRY(Node part, sequence(depth));
      node.parts.push_back(std::move(part));
    } while (take("|"));
    if (node.parts.size() > 1) return node;
    Node only = std::move(node.parts.front());
    return only;
  }

  Result<Node> sequence(int depth) {
    Node node;
    while (!done() && peek() != '|' && peek() != ')') {
      SPINDRIFT_TRY(Node part, atom(depth));
      if (!done() && (peek() == '*' || peek() == '+' || peek() == '?')) {
        Node repeat;
        repeat.kind = Node::Kind::kRepeat;
        repeat.at_least_once = peek() == '+';
        repeat.many = peek() != '?';
        repeat.parts.push_back(std::move(part));
        part = std::move(repeat);
        ++at_;
        if (!done() && (peek() == '?' || peek() == '*' || peek() == '+'))
          return unsupported("two repetitions of one thing");
      }
      node.parts.push_back(std::move(part));
    }
    return node;
  }

  static Node of(const Bytes& bytes) {
    Node node;
    node.kind = Node::Kind::kBytes;
    node.bytes = bytes;
    return node;
  }
  static Node of(char literal) {
    const auto byte = static_cast<unsigned char>(literal);
    Node node = of(range(byte, byte));
    node.literal = literal;
    return node;
  }

  Result<Node> atom(int depth) {
    if (take("(")) {
      if (!take("?:") && !done() && peek() == '?') return unsupported("a group with `(?`");
      SPINDRIFT_TRY(Node inside, choice(depth + 1));
      if (!take(")")) return unsupported("an unclosed group");
      return inside;
    }
    if (take("[")) return bracket();
    if (take(".")) return of(~range('\n', '\n'));
    if (take("^")) return anchor(Node::Kind::kBegin);
    if (take("$")) return anchor(Node::Kind::kEnd);
    if (take("\\")) return escape();
    const char c = peek();
    if (c == '*' || c == '+' || c == '?' || c == '{') return unsupported(quoted("", c));
    ++at_;
    return of(c);
  }

  static Node anchor(Node::Kind kind) {
    Node node;
    node.kind = kind;
    return node;
  }

  Result<Node> escape() {
    if (done()) return unsupported("`\\` at the end");
    const char c = text_[at_++];
    if (const auto named = named_class(c)) return of(*named);
    if (is_letter_or_digit(c)) return unsupported(quoted("\\", c));
    return of(c);
  }

  Result<Node> bracket() {
    const bool negated = take("^");
    Bytes set;
    for (bool first = true; first || !take("]"); first = false) {
      if (done()) return unsupported("an unclosed class");
      char c = text_[at_++];
      if (c == '\\') {
        if (done()) return unsupported("an unclosed class");
        c = text_[at_++];
        if (const auto named = named_class(c)) {
          set |= *named;
          continue;
        }
        if (is_letter_or_digit(c)) return unsupported(quoted("\\", c));
      }
      const auto low = static_cast<unsigned char>(c);
      unsigned char high = low;
      const bool ranges = at_ + 1 < text_.size() && peek() == '-' && text_[at_ + 1] != ']';
      if (ranges) {
        high = static_cast<unsigned char>(text_[at_ + 1]);
        at_ += 2;
        if (high < low || high == '\\') return unsupported("a range in a class");
      }
      set |= range(low, high);
    }
    return of(negated ? ~set : set);
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The literals right before a final `$`.
std::string plain_tail(const Node& node) {
  std::string tail;
  if (node.kind != Node::Kind::kSequence || node.parts.empty() ||
      node.parts.back().kind != Node::Kind::kEnd)
    return tail;
  for (size_t i = node.parts.size() - 1; i-- > 0 && node.parts[i].literal;)
    tail.insert(tail.begin(), *node.parts[i].literal);
  return tail;
}

}  // namespace

class PatternCompiler {
 public:
  explicit PatternCompiler(NamePattern& out) : out_(out) {}

  void emit(const Node& node) {
    using Op = NamePattern::Op;
    switch (node.kind) {
      case Node::Kind::kBytes:
        out_.sets_.push_back(node.bytes);
        add(Op::kByte, static_cast<uint32_t>(out_.sets_.size() - 1));
        return;
      case Node::Kind::kSequence:
        for (const Node& part : node.parts) emit(part);
        return;
      case Node::Kind::kChoice:
        return emit_choice(node);
      case Node::Kind::kRepeat:
        return emit_repeat(node);
      case Node::Kind::kBegin:
        add(Op::kBegin);
        return;
      case Node::Kind::kEnd:
        add(Op::kEnd);
        return;
    }
  }
  void finish() { add(NamePattern::Op::kMatch); }

 private:
  uint32_t here() const { return static_cast<uint32_t>(out_.steps_.size()); }
  uint32_t add(NamePattern::Op op, uint32_t a = 0, uint32_t b = 0) {
    out_.steps_.push_back({op, a, b});
    return here() - 1;
  }

  void emit_choice(const Node& node) {
    std::vector<uint32_t> jumps;
    for (size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const uint32_t split = add(NamePattern::Op::kSplit, here() + 1);
      emit(node.parts[i]);
      jumps.push_back(add(NamePattern::Op::kJump));
      out_.steps_[split].b = here();
    }
    emit(node.parts.back());
    for (const uint32_t jump : jumps) out_.steps_[jump].a = here();
  }

  void emit_repeat(const Node& node) {
    const Node& part = node.parts.front();
    if (node.at_least_once) {
      const uint32_t begin = here();
      emit(part);
      const uint32_t split = add(NamePattern::Op::kSplit, begin);
      out_.steps_[split].b = here();
      return;
    }
    const uint32_t split = add(NamePattern::Op::kSplit, here() + 1);
    emit(part);
    if (node.many) add(NamePattern::Op::kJump, split);
    out_.steps_[split].b = here();
  }

  NamePattern& out_;
};

Result<NamePattern> NamePattern::parse(std::string_view text) {
  NamePattern pattern;
  pattern.text_ = text;
  if (!text.starts_with(kPrefix)) return pattern;
  if (text.size() > kMaxBytes)
    return Error{ErrorCode::kUnsupported, "more than " + std::to_string(kMaxBytes) + " bytes"};
  SPINDRIFT_TRY(const Node node, Parser(text.substr(kPrefix.size())).parse());
  PatternCompiler compiler(pattern);
  compiler.emit(node);
  compiler.finish();
  pattern.tail_ = plain_tail(node);
  return pattern;
}

bool NamePattern::matches(std::string_view name) const {
  if (steps_.empty()) return name == text_;
  if (!name.ends_with(tail_)) return false;
  // Steps that are reached before the byte at `at`, each once.
  std::vector<uint32_t> now, next, stack;
  std::vector<size_t> seen(steps_.size(), SIZE_MAX);
  const auto reach = [&](uint32_t from, size_t at, std::vector<uint32_t>& into) {
    stack.assign(1, from);
    while (!stack.empty()) {
      const uint32_t step = stack.back();
      stack.pop_back();
      if (seen[step] == at) continue;
      seen[step] = at;
      const Step& s = steps_[step];
      if (s.op == Op::kMatch) return true;
      if (s.op == Op::kByte) into.push_back(step);
      if (s.op == Op::kJump || s.op == Op::kSplit) stack.push_back(s.a);
      if (s.op == Op::kSplit) stack.push_back(s.b);
      if ((s.op == Op::kBegin && at == 0) || (s.op == Op::kEnd && at == name.size()))
        stack.push_back(step + 1);
    }
    return false;
  };
  if (reach(0, 0, now)) return true;
  for (size_t at = 0; at < name.size() && !now.empty(); ++at) {
    next.clear();
    for (const uint32_t step : now)
      if (sets_[steps_[step].a].test(static_cast<unsigned char>(name[at])) &&
          reach(step + 1, at + 1, next))
        return true;
    now.swap(next);
  }
  return false;
}

}  // namespace spindrift::nn
