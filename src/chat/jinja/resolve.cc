// Works out, as jinja2's compiler does, which variable each name means. The rules, in short: a
// block tag that opens a scope (for, macro, call, filter, with, set block) sees the variables of
// the scopes around it; a name stored in a scope is that scope's own from its start, where it
// begins as a copy of the outer one (or as the context's, when it may stay unassigned in some
// branch); an `if` is no scope.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/error.h"
#include "chat/jinja/parser.h"
#include "chat/jinja/symbols.h"
#include "core/stack.h"

namespace spindrift::jinja {
namespace {

using Load = Scope::Load;

// One function frame at run time: the root, a macro, a call block, a block, a recursive loop or a
// loop's filter.
struct FunctionSlots {
  FunctionSlots* parent = nullptr;
  std::map<std::pair<int, std::string_view>, int> slots;
  int slot(int level, std::string_view name) {
    return slots.emplace(std::pair{level, name}, static_cast<int>(slots.size())).first->second;
  }
};

struct Place {
  Symbols* symbols;
  FunctionSlots* function;
  bool soft = false;      // inside an if: unknown filters are an error only when reached
  bool toplevel = false;  // the root or an if in it
};

class Resolver {
 public:
  explicit Resolver(Program& program) : program_(program) {}

  void run() {
    Symbols symbols;
    FunctionSlots function;
    const Place place{&symbols, &function, false, true};
    own(0, &function);
    collect(symbols, program_.body);
    statements(program_.body, place);
    finish(&program_.scope, place);
    program_.slots = static_cast<int>(function.slots.size());
  }

 private:
  // Declares which function owns the variables of a scope level; scopes of a level never overlap.
  void own(int level, FunctionSlots* function) {
    owners_.resize(static_cast<size_t>(level) + 1);
    owners_[static_cast<size_t>(level)] = function;
  }

  VarRef locate(int level, std::string_view name, FunctionSlots* from) {
    FunctionSlots* owner = owners_.at(static_cast<size_t>(level));
    int hops = 0;
    for (FunctionSlots* f = from; f != owner; f = f->parent) ++hops;
    return {hops, owner->slot(level, name)};
  }
  VarRef variable(const Place& place, const Str* name) {
    int level = place.symbols->find(name->view());
    if (level <
        0) {  // jinja2 has no such case for a well-formed body; look the name up in the context
      place.symbols->load(name);
      level = place.symbols->level;
    }
    return locate(level, name->view(), place.function);
  }

  void finish(Scope* scope, const Place& place) {
    for (const auto& [name, v] : place.symbols->variables) {
      const VarRef outer =
          v.load == Load::kAlias ? locate(v.outer_level, name, place.function) : VarRef{};
      scope->variables.push_back(
          {v.load, place.function->slot(place.symbols->level, name), outer, v.name});
    }
  }

  // ---- expressions
  void expression(Expr* e, const Place& place) {
    if (e == nullptr) return;
    if (stack_is_low()) fail_at(e->line, "an expression nests too deep");
    switch (e->kind) {
      case ExprKind::kName:
      case ExprKind::kNsRef:
        e->ref = variable(place, e->name);
        return;
      case ExprKind::kCondition: {
        Place soft = place;
        soft.soft = true;
        children(e, soft);
        return;
      }
      case ExprKind::kFilter:
      case ExprKind::kTest:
        if (e->builtin == nullptr && !place.soft)
          fail_at(e->line, std::string(e->kind == ExprKind::kFilter ? "no filter" : "no test") +
                               " named '" + std::string(e->name->view()) + "'");
        children(e, place);
        return;
      default:
        children(e, place);
        return;
    }
  }
  void expression(const ExprPtr& e, const Place& place) { expression(e.get(), place); }
  void children(Expr* e, const Place& place) {
    expression(e->a, place);
    expression(e->b, place);
    expression(e->c, place);
    for (const ExprPtr& child : e->args) expression(child, place);
    for (const auto& [name, child] : e->named) expression(child, place);
    expression(e->star, place);
    expression(e->star_star, place);
  }

  // ---- statements
  void statements(const Body& body, const Place& place) {
    for (const StmtPtr& s : body) statement(*s, place);
  }

  static Symbols inner(const Place& place) {
    Symbols s;
    s.level = place.symbols->level + 1;
    s.parent = place.symbols;
    return s;
  }

  void statement(Stmt& s, const Place& place) {
    if (stack_is_low()) fail_at(s.line, "the template nests too deep");
    s.toplevel = place.toplevel;
    switch (s.kind) {
      case StmtKind::kOutput:
        for (const ExprPtr& e : s.exprs) expression(e, place);
        return;
      case StmtKind::kIf: {
        Place soft = place;
        soft.soft = true;
        for (const Branch& branch : s.branches) {
          expression(branch.test, soft);
          statements(branch.body, soft);
        }
        statements(s.else_body, soft);
        return;
      }
      case StmtKind::kSet:
        expression(s.target, place);
        expression(s.value, place);
        return;
      case StmtKind::kSetBlock:
        scoped(s, place, [&](Symbols& symbols) {
          collect(symbols, s.body);
          if (s.value) collect(symbols, s.value);
        });
        expression(s.target, place);
        return;
      case StmtKind::kFilterBlock:
        scoped(s, place, [&](Symbols& symbols) {
          collect(symbols, s.body);
          collect(symbols, s.value);
        });
        return;
      case StmtKind::kWith:
        with(s, place);
        return;
      case StmtKind::kFor:
        loop(s, place);
        return;
      case StmtKind::kMacro:
        function(s, place);
        s.ref = variable(place, s.name);
        return;
      case StmtKind::kCallBlock:
        function(s, place);
        expression(s.value, place);
        return;
      case StmtKind::kGeneration:
        function(s, place);
        return;
      case StmtKind::kBlock:
        block(s);
        return;
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        return;
    }
  }

  template <class Collect>
  void scoped(Stmt& s, const Place& place, Collect collect_names) {
    Symbols symbols = inner(place);
    const Place inside{&symbols, place.function};
    own(symbols.level, place.function);
    collect_names(symbols);
    statements(s.body, inside);
    if (s.value) expression(s.value, inside);
    finish(&s.scope, inside);
  }

  void with(Stmt& s, const Place& place) {
    for (size_t i = 1; i < s.exprs.size(); i += 2) expression(s.exprs[i], place);
    Symbols symbols = inner(place);
    const Place inside{&symbols, place.function};
    own(symbols.level, place.function);
    for (size_t i = 0; i < s.exprs.size(); i += 2) collect_target(symbols, *s.exprs[i], true);
    collect(symbols, s.body);
    for (size_t i = 0; i < s.exprs.size(); i += 2) expression(s.exprs[i], inside);
    statements(s.body, inside);
    finish(&s.scope, inside);
  }

  void loop(Stmt& s, const Place& place) {
    if (stores_name(s, "loop"))
      fail_at(s.line, "cannot assign to the special variable 'loop' inside a loop");
    expression(s.iter, place);
    if (s.test) {
      FunctionSlots filter{place.function, {}};
      Symbols symbols = inner(place);
      const Place inside{&symbols, &filter};
      own(symbols.level, &filter);
      collect_target(symbols, *s.target, true);
      collect(symbols, s.test);
      expression(s.test, inside);
      expression(s.target, inside);
      s.test_target =
          target_refs(*s.target);  // the body's own references replace those in the target below
      finish(&s.test_scope, inside);
      s.test_slots = static_cast<int>(filter.slots.size());
    }
    FunctionSlots recursive{place.function, {}};
    FunctionSlots* owner = s.recursive ? &recursive : place.function;
    {
      Symbols symbols = inner(place);
      const Place inside{&symbols, owner};
      own(symbols.level, owner);
      if (s.recursive || reads_name(s.body, "loop")) {
        static constexpr Str kLoop{"loop", 4, 4, false};
        symbols.parameter(&kLoop);
        s.loop_ref = {0, owner->slot(symbols.level, "loop")};
      }
      collect_target(symbols, *s.target, true);
      collect(symbols, s.body);
      expression(s.target, inside);
      statements(s.body, inside);
      finish(&s.scope, inside);
    }
    if (!s.else_body.empty()) {
      Symbols symbols = inner(place);
      const Place inside{&symbols, owner};
      own(symbols.level, owner);
      collect(symbols, s.else_body);
      statements(s.else_body, inside);
      finish(&s.else_scope, inside);
    }
    if (s.recursive) s.slots = static_cast<int>(recursive.slots.size());
  }

  static std::vector<VarRef> target_refs(const Expr& target) {
    std::vector<VarRef> refs;
    if (target.kind == ExprKind::kTuple) {
      for (const ExprPtr& item : target.args)
        for (const VarRef& ref : target_refs(*item)) refs.push_back(ref);
    } else {
      refs.push_back(target.ref);
    }
    return refs;
  }
  void function(Stmt& s, const Place& place) {
    FunctionSlots function{place.function, {}};
    Symbols symbols = inner(place);
    const Place inside{&symbols, &function};
    own(symbols.level, &function);
    const auto analyse = [&] {
      for (const Parameter& p : s.parameters) symbols.parameter(p.name);
      for (const Parameter& p : s.parameters) collect(symbols, p.fallback);
      collect(symbols, s.body);
    };
    analyse();
    const auto special = [&](const Str& name, VarRef* ref) {
      if (!reads_name(s.body, name.view())) return;
      for (const Parameter& p : s.parameters) {
        if (p.name->view() != name.view()) continue;
        if (name.view() == "caller") {
          s.explicit_caller = true;
          if (!p.fallback) fail_at(s.line, "the parameter 'caller' must have a default");
        }
        return;
      }
      symbols.parameter(&name);
      *ref = {0, function.slot(symbols.level, name.view())};
    };
    static constexpr Str kCaller{"caller", 6, 6, false};
    static constexpr Str kKwargs{"kwargs", 6, 6, false};
    static constexpr Str kVarargs{"varargs", 7, 7, false};
    special(kCaller, &s.caller_ref);
    special(kKwargs, &s.kwargs_ref);
    special(kVarargs, &s.varargs_ref);
    analyse();
    for (Parameter& p : s.parameters) {
      p.ref = {0, function.slot(symbols.level, p.name->view())};
      expression(p.fallback, inside);
    }
    statements(s.body, inside);
    finish(&s.scope, inside);
    s.slots = static_cast<int>(function.slots.size());
  }

  // A block sees the context only, never the variables of the scopes around it.
  void block(Stmt& s) {
    std::vector<FunctionSlots*> outer_owners = std::exchange(owners_, {});
    FunctionSlots function;
    Symbols symbols;
    const Place inside{&symbols, &function};
    own(0, &function);
    collect(symbols, s.body);
    statements(s.body, inside);
    finish(&s.scope, inside);
    s.slots = static_cast<int>(function.slots.size());
    owners_ = std::move(outer_owners);
  }

  Program& program_;
  std::vector<FunctionSlots*> owners_;
};

}  // namespace

void resolve(Program& program) { Resolver(program).run(); }

}  // namespace spindrift::jinja
