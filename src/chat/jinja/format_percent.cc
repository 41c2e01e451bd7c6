// "%..." % args
#include <algorithm>
#include <cmath>
#include <optional>

#include "chat/jinja/format.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

class Percent {
 public:
  Percent(Runtime& rt, const Str& format, const Value& args)
      : rt_(rt), format_(format.view()), html_(format.markup), args_(args) {}

  std::string run() {
    for (at_ = 0; at_ < format_.size();) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_ += format_.substr(at_, percent - at_);
      at_ = percent + 1;
      if (percent < format_.size()) directive();
      check_size(rt_, out_);
    }
    // A single list or dict counts as a mapping, of which not every entry need be used.
    const bool all = args_.is(Kind::kTuple)
                         ? next_ >= args_.list->size
                         : (next_ > 0 || args_.is(Kind::kDict) || args_.is(Kind::kList));
    if (!all) fail_type("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  char now() const {
    if (at_ >= format_.size()) fail("incomplete format");
    return format_[at_];
  }

  Value argument() {
    if (mapped_value_) return *mapped_value_;
    if (args_.is(Kind::kTuple)) {
      if (next_ >= args_.list->size) fail_type("not enough arguments for format string");
      return args_.list->data[next_++];
    }
    if (next_++ > 0) fail_type("not enough arguments for format string");
    return args_;
  }

  void directive() {
    FormatSpec spec;
    mapped_value_.reset();
    if (now() == '(') {
      const size_t close = format_.find(')', at_);
      if (close == std::string_view::npos) fail("incomplete format key");
      if (!args_.is(Kind::kDict)) fail_type("format requires a mapping");
      const Value* v = find(*args_.dict, format_.substr(at_ + 1, close - at_ - 1));
      if (v == nullptr)
        fail("format: no key '" + std::string(format_.substr(at_ + 1, close - at_ - 1)) + "'");
      mapped_value_ = *v;
      at_ = close + 1;
    }
    for (bool more = true; more;) {
      switch (now()) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          if (spec.sign != '+') spec.sign = ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          spec.zero = true;
          break;
        default:
          more = false;
      }
      if (more) ++at_;
    }
    spec.width = amount();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (now() == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(0, amount());
    }
    if (now() == 'l' || now() == 'h' || now() == 'L') ++at_;
    const char type = now();
    ++at_;
    convert(type, spec);
  }

  int64_t amount() {
    if (now() != '*') return read_number(format_, &at_);
    ++at_;
    const int64_t n = index_of(argument(), "a format width");
    if (n > kMaxFormatWidth || n < -kMaxFormatWidth)
      fail_limit("a format asks for a width or precision of more than 65536");
    return n;
  }

  std::string shown(const Value& v) {
    const std::string plain = to_str(rt_, v);
    return html_ && !(v.is_str() && v.str->markup) ? escape_html(plain) : plain;
  }

  void text(FormatSpec spec, std::string value) {
    spec.zero = false;
    if (spec.precision) value.resize(byte_offset(value, static_cast<size_t>(*spec.precision)));
    out_ += pad(spec, value, '>');
  }

  void convert(char type, FormatSpec spec) {
    switch (type) {
      case '%':
        out_.push_back('%');
        return;
      case 's':
        return text(spec, shown(argument()));
      case 'r':
        return text(spec, to_repr(rt_, argument()));
      case 'a':
        return text(spec, ascii_repr(rt_, argument()));
      case 'c': {
        const Value v = argument();
        if (v.is_str() && v.str->length == 1) return text(spec, std::string(v.text()));
        if (!v.is_whole()) fail_type("%c requires a whole number or one character");
        return text(spec, character(v));
      }
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return whole(type, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        Value v = argument();
        if (v.is_undefined()) fail_undefined(v);
        if (!v.is_number()) fail_type("a real number is required for %" + std::string(1, type));
        spec.type = type;
        if (spec.align == '<') spec.zero = false;
        out_ += format_float(spec, to_real(v));
        return;
      }
      default:
        fail("unsupported format character '" + std::string(1, type) + "'");
    }
  }

  void whole(char type, FormatSpec spec) {
    const Value v = argument();
    if (v.is_undefined()) fail_undefined(v);
    BigInt n;
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (v.is_whole())
      n = to_big(v);
    else if (v.is(Kind::kFloat) && decimal && std::isfinite(v.real))
      n = BigInt::from_double_trunc(v.real);
    else
      fail_type("a number is required for %" + std::string(1, type));
    std::string prefix;
    std::string digits = whole_digits(n, decimal ? 'd' : type, &prefix, spec.alternate);
    if (spec.precision && static_cast<size_t>(*spec.precision) > digits.size())
      digits.insert(0, static_cast<size_t>(*spec.precision) - digits.size(), '0');
    if (spec.align == '<') spec.zero = false;
    out_ += lay_out(spec, n.negative(), prefix, digits, "");
  }

  Runtime& rt_;
  std::string_view format_;
  bool html_;
  const Value& args_;
  size_t at_ = 0;
  size_t next_ = 0;
  std::optional<Value> mapped_value_;
  std::string out_;
};

}  // namespace

std::string format_percent(Runtime& rt, const Str& format, const Value& args) {
  return Percent(rt, format, args).run();
}

}  // namespace spindrift::jinja
