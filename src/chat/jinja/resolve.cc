// Works out, as jinja2's compiler does, which variable each name means. The rules, in short: a
// block tag that opens a scope (for, macro, call, filter, with, set block) sees the variables of
// the scopes around it; a name stored in a scope is that scope's own from its start, where it
// begins as a copy of the outer one (or as the context's, when it may stay unassigned in some
// branch); an `if` is no scope.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/error.h"
#include "chat/jinja/parser.h"

namespace spindrift::jinja {
namespace {

using Load = Scope::Load;

// The names of one scope. A name found in `variables` is this scope's own.
struct Symbols {
  struct Variable {
    Load load = Load::kResolve;
    int outer_level = 0;  // of a kAlias
    const Str* name = nullptr;
  };
  int level = 0;
  const Symbols* parent = nullptr;
  std::map<std::string_view, Variable> variables;
  std::set<std::string_view> stores;

  // The level of the scope that owns the name, or -1.
  int find(std::string_view name) const {
    for (const Symbols* s = this; s != nullptr; s = s->parent)
      if (s->variables.count(name) != 0) return s->level;
    return -1;
  }
  void load(const Str* name) {
    if (find(name->view()) < 0) variables[name->view()] = {Load::kResolve, 0, name};
  }
  void store(const Str* name) {
    stores.insert(name->view());
    if (variables.count(name->view()) != 0) return;
    const int outer = parent == nullptr ? -1 : parent->find(name->view());
    variables[name->view()] =
        outer >= 0 ? Variable{Load::kAlias, outer, name} : Variable{Load::kEmpty, 0, name};
  }
  void parameter(const Str* name) {
    stores.insert(name->view());
    variables[name->view()] = {Load::kParameter, 0, name};
  }
  // Joins the branches of an `if`: what only some branch stores keeps its outer value in the
  // others.
  void join(const std::vector<Symbols>& branches) {
    std::set<std::string_view> stored;
    for (const Symbols& branch : branches)
      stored.insert(branch.stores.begin(), branch.stores.end());
    for (std::string_view own : stores) stored.erase(own);
    for (const Symbols& branch : branches) {
      for (const auto& [name, variable] : branch.variables) variables[name] = variable;
      stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (std::string_view name : stored) {
      Variable& variable = variables.at(name);
      const int outer = parent == nullptr ? -1 : parent->find(name);
      variable = outer >= 0 ? Variable{Load::kAlias, outer, variable.name}
                            : Variable{Load::kResolve, 0, variable.name};
    }
  }
};

// ---- which names a piece of template reads and writes

void collect(Symbols& s, const Expr* e);
void collect(Symbols& s, const ExprPtr& e) { collect(s, e.get()); }

void collect(Symbols& s, const Expr* e) {
  if (e == nullptr) return;
  if (e->kind == ExprKind::kName || e->kind == ExprKind::kNsRef) {
    s.load(e->name);
    return;
  }
  collect(s, e->a);
  collect(s, e->b);
  collect(s, e->c);
  for (const ExprPtr& child : e->args) collect(s, child);
  for (const auto& [name, child] : e->named) collect(s, child);
  collect(s, e->star);
  collect(s, e->star_star);
}

void collect_target(Symbols& s, const Expr& target, bool parameter) {
  if (target.kind == ExprKind::kNsRef) {
    s.load(target.name);
  } else if (target.kind == ExprKind::kTuple) {
    for (const ExprPtr& item : target.args) collect_target(s, *item, parameter);
  } else if (parameter) {
    s.parameter(target.name);
  } else {
    s.store(target.name);
  }
}

void collect(Symbols& s, const Body& body);

void collect(Symbols& s, const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kOutput:
      for (const ExprPtr& e : stmt.exprs) collect(s, e);
      return;
    case StmtKind::kFor:
      collect(s, stmt.iter);
      return;
    case StmtKind::kIf: {
      // The first test belongs to the scope itself; every later test is part of the elif branches,
      // which jinja2 joins with the rest as one.
      collect(s, stmt.branches[0].test);
      std::vector<Symbols> branches(3, s);
      collect(branches[0], stmt.branches[0].body);
      for (size_t i = 1; i < stmt.branches.size(); ++i) {
        Symbols& all = branches[1];
        collect(all, stmt.branches[i].test);
        std::vector<Symbols> inner(3, all);
        collect(inner[0], stmt.branches[i].body);
        all.join(inner);
      }
      collect(branches[2], stmt.else_body);
      s.join(branches);
      return;
    }
    case StmtKind::kSet:
      collect(s, stmt.value);
      collect_target(s, *stmt.target, false);
      return;
    case StmtKind::kSetBlock:
      collect_target(s, *stmt.target, false);
      return;
    case StmtKind::kMacro:
      s.store(stmt.name);
      return;
    case StmtKind::kCallBlock:
    case StmtKind::kFilterBlock:
      collect(s, stmt.value);
      return;
    case StmtKind::kWith:
      for (size_t i = 1; i < stmt.exprs.size(); i += 2) collect(s, stmt.exprs[i]);
      return;
    case StmtKind::kGeneration:
    case StmtKind::kBlock:
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      return;
  }
}

void collect(Symbols& s, const Body& body) {
  for (const StmtPtr& stmt : body) collect(s, *stmt);
}

// ---- whether a special name is read anywhere inside without being assigned before, nested scopes
// included

class Reads {
 public:
  explicit Reads(std::string_view name) : name_(name) {}
  bool in(const Body& body) {
    for (const StmtPtr& stmt : body)
      if (in(*stmt)) return true;
    return false;
  }

 private:
  bool in(const ExprPtr& e) {
    if (!e || assigned_) return false;
    if (e->kind == ExprKind::kName) return e->name->view() == name_;
    if (in(e->a) || in(e->b) || in(e->c) || in(e->star) || in(e->star_star)) return true;
    for (const ExprPtr& child : e->args)
      if (in(child)) return true;
    for (const auto& [name, child] : e->named)
      if (in(child)) return true;
    return false;
  }
  void target(const Expr& e) {
    if (e.kind == ExprKind::kName && e.name->view() == name_) assigned_ = true;
    for (const ExprPtr& item : e.args) target(*item);
  }
  bool in(const Stmt& s) {
    if (s.kind == StmtKind::kBlock) return false;
    if (s.kind == StmtKind::kWith) {
      for (size_t i = 0; i < s.exprs.size(); i += 2) target(*s.exprs[i]);
      for (size_t i = 1; i < s.exprs.size(); i += 2)
        if (in(s.exprs[i])) return true;
      return in(s.body);
    }
    if (s.target) target(*s.target);
    for (const ExprPtr& e : s.exprs)
      if (in(e)) return true;
    for (const Parameter& p : s.parameters) {
      if (p.name->view() == name_) assigned_ = true;
      if (in(p.fallback)) return true;
    }
    for (const Branch& branch : s.branches)
      if (in(branch.test) || in(branch.body)) return true;
    return in(s.value) || in(s.iter) || in(s.body) || in(s.else_body) || in(s.test);
  }
  std::string_view name_;
  bool assigned_ = false;
};

bool stores_name(const Body& body, std::string_view name);

bool target_names(const Expr& e, std::string_view name) {
  if (e.kind == ExprKind::kName) return e.name->view() == name;
  if (e.kind != ExprKind::kTuple) return false;
  return std::any_of(e.args.begin(), e.args.end(),
                     [&](const ExprPtr& item) { return target_names(*item, name); });
}

bool stores_name(const Stmt& s, std::string_view name) {
  if ((s.kind == StmtKind::kSet || s.kind == StmtKind::kSetBlock || s.kind == StmtKind::kFor) &&
      target_names(*s.target, name))
    return true;
  for (const Branch& branch : s.branches)
    if (stores_name(branch.body, name)) return true;
  return stores_name(s.body, name) || stores_name(s.else_body, name);
}

bool stores_name(const Body& body, std::string_view name) {
  return std::any_of(body.begin(), body.end(),
                     [&](const StmtPtr& s) { return stores_name(*s, name); });
}

// ---- slots

// One function frame at run time: the root, a macro, a call block, a block, a recursive loop or a
// loop's filter.
struct Function {
  Function* parent = nullptr;
  std::map<std::pair<int, std::string_view>, int> slots;
  int slot(int level, std::string_view name) {
    return slots.emplace(std::pair{level, name}, static_cast<int>(slots.size())).first->second;
  }
};

struct Place {
  Symbols* symbols;
  Function* function;
  bool soft = false;      // inside an if: unknown filters are an error only when reached
  bool toplevel = false;  // the root or an if in it
};

class Resolver {
 public:
  explicit Resolver(Program& program) : program_(program) {}

  void run() {
    Symbols symbols;
    Function function;
    const Place place{&symbols, &function, false, true};
    own(0, &function);
    collect(symbols, program_.body);
    statements(program_.body, place);
    finish(&program_.scope, place);
    program_.slots = static_cast<int>(function.slots.size());
  }

 private:
  // Declares which function owns the variables of a scope level; scopes of a level never overlap.
  void own(int level, Function* function) {
    owners_.resize(static_cast<size_t>(level) + 1);
    owners_[static_cast<size_t>(level)] = function;
  }

  VarRef locate(int level, std::string_view name, Function* from) {
    Function* owner = owners_.at(static_cast<size_t>(level));
    int hops = 0;
    for (Function* f = from; f != owner; f = f->parent) ++hops;
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
      Function filter{place.function, {}};
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
    Function recursive{place.function, {}};
    Function* owner = s.recursive ? &recursive : place.function;
    {
      Symbols symbols = inner(place);
      const Place inside{&symbols, owner};
      own(symbols.level, owner);
      if (s.recursive || Reads("loop").in(s.body)) {
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
    Function function{place.function, {}};
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
      if (!Reads(name.view()).in(s.body)) return;
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
    std::vector<Function*> outer_owners = std::exchange(owners_, {});
    Function function;
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
  std::vector<Function*> owners_;
};

}  // namespace

void resolve(Program& program) { Resolver(program).run(); }

}  // namespace spindrift::jinja
