#include "chat/jinja/symbols.h"

#include <algorithm>

namespace spindrift::jinja {

using Load = Scope::Load;

void Symbols::load(const Str* name) {
  if (find(name->view()) < 0) variables[name->view()] = {Load::kResolve, 0, name};
}

void Symbols::store(const Str* name) {
  stores.insert(name->view());
  if (variables.count(name->view()) != 0) return;
  const int outer = parent == nullptr ? -1 : parent->find(name->view());
  variables[name->view()] =
      outer >= 0 ? Variable{Load::kAlias, outer, name} : Variable{Load::kEmpty, 0, name};
}

void Symbols::parameter(const Str* name) {
  stores.insert(name->view());
  variables[name->view()] = {Load::kParameter, 0, name};
}

void Symbols::join(const std::vector<Symbols>& branches) {
  std::set<std::string_view> stored;
  for (const Symbols& branch : branches) stored.insert(branch.stores.begin(), branch.stores.end());
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

namespace {

void collect_statement(Symbols& s, const Stmt& stmt) {
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

bool target_names(const Expr& e, std::string_view name) {
  if (e.kind == ExprKind::kName) return e.name->view() == name;
  if (e.kind != ExprKind::kTuple) return false;
  return std::any_of(e.args.begin(), e.args.end(),
                     [&](const ExprPtr& item) { return target_names(*item, name); });
}

bool stores_name(const Body& body, std::string_view name) {
  return std::any_of(body.begin(), body.end(),
                     [&](const StmtPtr& s) { return stores_name(*s, name); });
}

}  // namespace

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

void collect(Symbols& s, const Body& body) {
  for (const StmtPtr& stmt : body) collect_statement(s, *stmt);
}

bool reads_name(const Body& body, std::string_view name) { return Reads(name).in(body); }

bool stores_name(const Stmt& s, std::string_view name) {
  if ((s.kind == StmtKind::kSet || s.kind == StmtKind::kSetBlock || s.kind == StmtKind::kFor) &&
      target_names(*s.target, name))
    return true;
  for (const Branch& branch : s.branches)
    if (stores_name(branch.body, name)) return true;
  return stores_name(s.body, name) || stores_name(s.else_body, name);
}

}  // namespace spindrift::jinja
