#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/value.h"

namespace spindrift::jinja {

struct Builtin;  // a filter or test: builtins.h
struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

// Where a variable lives: `hops` function frames outwards, then a slot there.
struct VarRef {
  int hops = 0;
  int slot = -1;
};

enum class ExprKind : uint8_t {
  kConst,      // value
  kName,       // name, ref
  kNsRef,      // name, ref, attr: target of {% set ns.x = ... %}
  kTuple,      // args
  kList,       // args
  kDict,       // args: key, value, key, value ...
  kNot,        // a
  kNegative,   // a
  kPositive,   // a
  kBinary,     // a op b
  kAnd,        // a, b
  kOr,         // a, b
  kCompare,    // a, then ops[i] args[i]
  kConcat,     // args
  kCondition,  // a if b else c; c may be null
  kAttribute,  // a.name
  kItem,       // a[b]
  kSlice,      // a[args[0]:args[1]:args[2]], each may be null
  kCall,       // a(args, named, star, star_star)
  kFilter,     // a | name(args...); a null = the text of the enclosing block
  kTest,       // a is name(args...)
};

enum class Op : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expr {
  ExprKind kind;
  int line = 0;
  int depth = 1;  // of the tree below, bounded by the parser
  Op op = Op::kAdd;
  Value value;
  const Str* name = nullptr;
  const Str* attr = nullptr;
  VarRef ref;
  ExprPtr a, b, c;
  std::vector<ExprPtr> args;
  std::vector<Op> ops;
  std::vector<std::pair<const Str*, ExprPtr>> named;
  ExprPtr star, star_star;
  const Builtin* builtin = nullptr;  // kFilter and kTest; null = unknown, an error when reached
};

// What happens to a scope's variables when it is entered: each slot is looked up in the context,
// copied from an outer variable, or emptied. Leaving a scope empties them.
struct Scope {
  enum class Load : uint8_t { kParameter, kResolve, kAlias, kEmpty };
  struct Variable {
    Load load;
    int slot;
    VarRef outer;
    const Str* name;
  };
  std::vector<Variable> variables;
};

enum class StmtKind : uint8_t {
  kOutput,       // exprs
  kFor,          // target in iter if test; body, else_body
  kIf,           // branches, else_body
  kSet,          // target = value
  kSetBlock,     // target = body, filtered by value when not null
  kMacro,        // name, parameters, body
  kCallBlock,    // value is the call; parameters, body
  kGeneration,   // body
  kFilterBlock,  // value is the filter; body
  kWith,         // exprs: target, value, target, value ...; body
  kBlock,        // name, body
  kBreak,
  kContinue,
};

struct Parameter {
  const Str* name;
  ExprPtr fallback;  // null = none
  VarRef ref;
};

struct Branch {
  ExprPtr test;
  Body body;
};

struct Stmt {
  StmtKind kind;
  int line = 0;
  const Str* name = nullptr;
  ExprPtr target, value, iter, test;
  std::vector<ExprPtr> exprs;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  Body body, else_body;
  bool recursive = false;

  // Filled by resolve().
  Scope scope, else_scope, test_scope;
  int slots = 0;  // of the function this statement starts: macro, call block, generation, block,
                  // recursive loop
  int test_slots = 0;  // of a loop's filter, which has the loop's target in variables of its own:
  std::vector<VarRef> test_target;  // one for each name in `target`, in order
  VarRef ref;                       // where a macro is stored
  VarRef loop_ref;                  // the loop variable; slot -1 when the body never looks at it
  VarRef caller_ref, kwargs_ref, varargs_ref;  // slot -1 when not used
  bool explicit_caller = false;
  bool toplevel = false;  // assignments here are visible to blocks
};

// A parsed template. Constants live in `arena`.
struct Program {
  explicit Program(size_t memory) : arena(memory) {}
  Arena arena;
  Body body;
  Scope scope;
  int slots = 0;
};

}  // namespace spindrift::jinja
