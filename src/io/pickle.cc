#include "io/pickle.h"

#include <algorithm>

#include "core/utf8.h"
#include "io/pickle_builder.h"
#include "io/pickle_opcodes.h"

namespace spindrift {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxGlobalBytes = 256;  // of a module's or a global's name
constexpr uint8_t kProtocol = 2;

class Machine {
 public:
  Machine(std::span<const std::byte> source, const PickleRules& rules, std::string_view where)
      // One byte more than the limit shows that the limit was met; positions fit in 32 bits.
      : source_(source.first(std::min<size_t>(source.size(), kMaxPickleBytes + 1))),
        rules_(rules),
        where_(where),
        made_(source_, rules.views) {}

  Result<Pickle> run() {
    SPINDRIFT_TRY(opcode_, unsigned_argument(1));
    if (opcode_ != static_cast<uint64_t>(Opcode::kProto))
      return bad("a pickle, which starts with PROTO", "another opcode");
    SPINDRIFT_TRY(const uint64_t protocol, unsigned_argument(1));
    if (protocol != kProtocol)
      return bad("protocol 2", std::to_string(protocol), ErrorCode::kUnsupported);
    while (true) {
      at_opcode_ = at_;
      SPINDRIFT_TRY(opcode_, unsigned_argument(1));
      if (opcode_ == static_cast<uint64_t>(Opcode::kStop)) return finish();
      SPINDRIFT_TRY_STATUS(step(static_cast<Opcode>(opcode_)));
    }
  }

 private:
  // --- errors -----------------------------------------------------------------------------------
  Error placed(Error error) const {
    error.message = std::string(where_) + ": byte " + std::to_string(at_opcode_) + ", opcode " +
                    opcode_name(static_cast<uint8_t>(opcode_)) + ": " + error.message;
    return error;
  }
  Error bad(const std::string& expected, const std::string& found,
            ErrorCode code = ErrorCode::kInvalid) const {
    return placed({code, "expected " + expected + ", found " + found});
  }
  Error bad_value(const std::string& expected, const PickleValue& found) const {
    return bad(expected, describe(made_.pickle(), found));
  }

  // --- bytes ------------------------------------------------------------------------------------
  Status need(size_t bytes) const {
    if (bytes <= source_.size() - at_) return ok_status();
    const std::string place = std::string(where_) + ": byte " + std::to_string(at_opcode_) + ": ";
    if (source_.size() > static_cast<size_t>(kMaxPickleBytes))
      return Error{ErrorCode::kLimit, place + "expected a pickle of at most " +
                                          std::to_string(kMaxPickleBytes) + " bytes, found more"};
    return Error{ErrorCode::kCorrupt, place + "expected " + std::to_string(bytes) +
                                          " more bytes of the pickle, found " +
                                          std::to_string(source_.size() - at_)};
  }

  Result<uint64_t> unsigned_argument(size_t bytes) {
    SPINDRIFT_TRY_STATUS(need(bytes));
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;)
      value = value << 8 | std::to_integer<uint64_t>(source_[at_ + i]);
    at_ += bytes;
    return value;
  }

  // Text up to a line feed, which is consumed.
  Result<std::string_view> line() {
    const auto* text = reinterpret_cast<const char*>(source_.data()) + at_;
    const std::string_view rest(text, std::min(source_.size() - at_, kMaxGlobalBytes + 1));
    const size_t length = rest.find('\n');
    if (length == std::string_view::npos) {
      if (rest.size() <= kMaxGlobalBytes) return need(rest.size() + 1).error();
      return bad("a name of at most " + std::to_string(kMaxGlobalBytes) + " bytes", "a longer one",
                 ErrorCode::kLimit);
    }
    at_ += length + 1;
    return rest.substr(0, length);
  }

  // --- stack and memo ---------------------------------------------------------------------------
  Status push(const PickleValue& value) {
    if (stack_.size() == kMaxPickleStack)
      return bad("a stack of at most " + std::to_string(kMaxPickleStack) + " values", "one more",
                 ErrorCode::kLimit);
    stack_.push_back(value);
    return ok_status();
  }

  Status push_made(const Result<PickleValue>& value) {
    if (!value.ok()) return placed(value.error());
    return push(value.value());
  }

  // Values above the topmost mark.
  size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  Status need_values(size_t count) const {
    if (available() >= count) return ok_status();
    return bad(std::to_string(count) + " values on the stack above the last mark",
               std::to_string(available()));
  }

  Result<PickleValue> pop() {
    SPINDRIFT_TRY_STATUS(need_values(1));
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }

  Status push_mark() {
    if (marks_.size() == kMaxPickleMarks)
      return bad("at most " + std::to_string(kMaxPickleMarks) + " open marks", "one more",
                 ErrorCode::kLimit);
    marks_.push_back(stack_.size());
    return ok_status();
  }

  // Removes the topmost mark; returns how many values were above it.
  Result<size_t> close_mark() {
    if (marks_.empty()) return bad("an open mark", "none");
    const size_t count = available();
    marks_.pop_back();
    return count;
  }

  Status memo_put(uint64_t slot) {
    SPINDRIFT_TRY_STATUS(need_values(1));
    if (slot != memo_.size())
      return bad("the next memo slot, " + std::to_string(memo_.size()), std::to_string(slot));
    memo_.push_back(stack_.back());
    return ok_status();
  }

  Status memo_get(uint64_t slot) {
    if (slot >= memo_.size())
      return bad("a memo slot below " + std::to_string(memo_.size()), std::to_string(slot));
    return push(memo_[static_cast<size_t>(slot)]);
  }

  // --- plain values -----------------------------------------------------------------------------
  Status push_int(int64_t number) { return push({.kind = Kind::kInt, .number = number}); }
  Status push_bool(bool value) { return push({.kind = Kind::kBool, .number = value ? 1 : 0}); }

  Status push_long() {
    SPINDRIFT_TRY(const uint64_t length, unsigned_argument(1));
    if (length > 8)
      return bad("an integer of at most 8 bytes", std::to_string(length), ErrorCode::kLimit);
    SPINDRIFT_TRY(const uint64_t value, unsigned_argument(static_cast<size_t>(length)));
    if (length > 0 && value >> (8 * length - 1) != 0)
      return bad("an integer that is not negative", "a negative one");
    return push_int(static_cast<int64_t>(value));
  }

  Status push_text() {
    SPINDRIFT_TRY(const uint64_t length, unsigned_argument(4));
    SPINDRIFT_TRY_STATUS(need(static_cast<size_t>(length)));
    const PickleValue value{.kind = Kind::kString,
                            .index = static_cast<uint32_t>(at_),
                            .number = static_cast<int64_t>(length)};
    at_ += static_cast<size_t>(length);
    if (!valid_utf8(made_.pickle().text(value))) return bad("UTF-8 text", "other bytes");
    return push(value);
  }

  // Replaces the top `count` values by a tuple of them.
  Status make_tuple(size_t count) {
    SPINDRIFT_TRY_STATUS(need_values(count));
    const size_t first = stack_.size() - count;
    const auto tuple = made_.tuple(std::span(stack_).subspan(first));
    stack_.resize(first);
    return push_made(tuple);
  }

  // --- containers -------------------------------------------------------------------------------
  // Moves the top `count` values, key and value by turns, into the dictionary below them.
  Status set_items(size_t count) {
    if (count % 2 != 0) return bad("keys with their values", "an odd number of values");
    SPINDRIFT_TRY_STATUS(need_values(count + 1));
    const size_t first = stack_.size() - count;
    const PickleValue dict = stack_[first - 1];
    if (dict.kind != Kind::kDict) return bad_value("a dictionary below the items", dict);
    for (size_t i = first; i < stack_.size(); i += 2)
      if (const Status added = made_.add(dict, stack_[i], stack_[i + 1]); !added.ok())
        return placed(added.error());
    stack_.resize(first);
    return ok_status();
  }

  Status append(size_t count) {
    SPINDRIFT_TRY_STATUS(need_values(count + 1));
    const size_t first = stack_.size() - count;
    const PickleValue list = stack_[first - 1];
    if (list.kind != Kind::kList) return bad_value("a list below the items", list);
    for (size_t i = first; i < stack_.size(); ++i)
      if (const Status added = made_.add(list, {}, stack_[i]); !added.ok())
        return placed(added.error());
    stack_.resize(first);
    return ok_status();
  }

  // --- globals, storages, tensors ---------------------------------------------------------------
  Status push_global() {
    SPINDRIFT_TRY(const std::string_view module, line());
    SPINDRIFT_TRY(const std::string_view name, line());
    return push_made(made_.global(module, name));
  }

  Status push_storage() {
    SPINDRIFT_TRY(const PickleValue id, pop());
    return push_made(made_.storage(id));
  }

  Status reduce() {
    SPINDRIFT_TRY(const PickleValue arguments, pop());
    SPINDRIFT_TRY(const PickleValue callee, pop());
    return push_made(made_.reduce(callee, arguments));
  }

  Status build() {
    SPINDRIFT_TRY_STATUS(need_values(2));
    const bool root = marks_.empty() && stack_.size() == 2 && stack_[0].kind == Kind::kDict &&
                      stack_[0].number == 1;
    if (!root) return bad("the root OrderedDict to set attributes of", "another place");
    if (stack_[1].kind != Kind::kDict) return bad_value("a dictionary of attributes", stack_[1]);
    if (built_) return bad("attributes once", "them twice");
    built_ = true;
    stack_.pop_back();
    return ok_status();
  }

  // --- the machine ------------------------------------------------------------------------------
  bool allowed(Opcode opcode) const {
    switch (opcode) {
      case Opcode::kGlobal:
      case Opcode::kBinPersId:
      case Opcode::kReduce:
      case Opcode::kBuild:
        return rules_.tensors;
      case Opcode::kEmptyList:
      case Opcode::kAppend:
      case Opcode::kAppends:
        return rules_.lists;
      default:
        return true;
    }
  }

  Error refused() const {
    return bad("an opcode of a PyTorch dictionary of tensors", "this one", ErrorCode::kUnsupported);
  }

  Status step(Opcode opcode) {
    if (!allowed(opcode)) return refused();
    switch (opcode) {
      case Opcode::kNone:
        return push({});
      case Opcode::kNewTrue:
        return push_bool(true);
      case Opcode::kNewFalse:
        return push_bool(false);
      case Opcode::kBinInt: {
        SPINDRIFT_TRY(const uint64_t bits, unsigned_argument(4));
        return push_int(static_cast<int32_t>(static_cast<uint32_t>(bits)));
      }
      case Opcode::kBinInt1: {
        SPINDRIFT_TRY(const uint64_t value, unsigned_argument(1));
        return push_int(static_cast<int64_t>(value));
      }
      case Opcode::kBinInt2: {
        SPINDRIFT_TRY(const uint64_t value, unsigned_argument(2));
        return push_int(static_cast<int64_t>(value));
      }
      case Opcode::kLong1:
        return push_long();
      case Opcode::kBinUnicode:
        return push_text();
      case Opcode::kMark:
        return push_mark();
      case Opcode::kEmptyTuple:
        return make_tuple(0);
      case Opcode::kTuple1:
        return make_tuple(1);
      case Opcode::kTuple2:
        return make_tuple(2);
      case Opcode::kTuple3:
        return make_tuple(3);
      case Opcode::kTuple: {
        SPINDRIFT_TRY(const size_t count, close_mark());
        return make_tuple(count);
      }
      case Opcode::kEmptyDict:
        return push(made_.container(Kind::kDict, false));
      case Opcode::kSetItem:
        return set_items(2);
      case Opcode::kSetItems: {
        SPINDRIFT_TRY(const size_t count, close_mark());
        return set_items(count);
      }
      case Opcode::kEmptyList:
        return push(made_.container(Kind::kList, false));
      case Opcode::kAppend:
        return append(1);
      case Opcode::kAppends: {
        SPINDRIFT_TRY(const size_t count, close_mark());
        return append(count);
      }
      case Opcode::kBinPut: {
        SPINDRIFT_TRY(const uint64_t slot, unsigned_argument(1));
        return memo_put(slot);
      }
      case Opcode::kLongBinPut: {
        SPINDRIFT_TRY(const uint64_t slot, unsigned_argument(4));
        return memo_put(slot);
      }
      case Opcode::kBinGet: {
        SPINDRIFT_TRY(const uint64_t slot, unsigned_argument(1));
        return memo_get(slot);
      }
      case Opcode::kLongBinGet: {
        SPINDRIFT_TRY(const uint64_t slot, unsigned_argument(4));
        return memo_get(slot);
      }
      case Opcode::kGlobal:
        return push_global();
      case Opcode::kBinPersId:
        return push_storage();
      case Opcode::kReduce:
        return reduce();
      case Opcode::kBuild:
        return build();
      case Opcode::kProto:
        return bad("PROTO at the start only", "a second one");
      case Opcode::kStop:
        break;
    }
    return refused();
  }

  Result<Pickle> finish() {
    if (!marks_.empty()) return bad("no open mark at the end", std::to_string(marks_.size()));
    if (stack_.size() != 1)
      return bad("one value on the stack at the end", std::to_string(stack_.size()));
    Pickle out = std::move(made_).take();
    out.root = stack_[0];
    out.bytes = at_;
    return out;
  }

  std::span<const std::byte> source_;
  PickleRules rules_;
  std::string_view where_;
  PickleBuilder made_;
  size_t at_ = 0, at_opcode_ = 0;
  uint64_t opcode_ = 0;
  std::vector<PickleValue> stack_, memo_;
  std::vector<size_t> marks_;  // stack sizes where marks were set
  bool built_ = false;
};

}  // namespace

Result<Pickle> read_pickle(std::span<const std::byte> source, const PickleRules& rules,
                           std::string_view where) {
  return Machine(source, rules, where).run();
}

}  // namespace spindrift
