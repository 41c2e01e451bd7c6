#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "chat/jinja/ast.h"

namespace spindrift::jinja {

// The names of one scope. A name found in `variables` is this scope's own.
struct Symbols {
  struct Variable {
    Scope::Load load = Scope::Load::kResolve;
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
  // A name that is read, stored, or a parameter here.
  void load(const Str* name);
  void store(const Str* name);
  void parameter(const Str* name);
  // Joins the branches of an `if`: what only some branch stores keeps its outer value in the
  // others.
  void join(const std::vector<Symbols>& branches);
};

// Adds the names that a piece of template reads and writes in its own scope (not in scopes inside).
void collect(Symbols& s, const Expr* e);  // null adds nothing
inline void collect(Symbols& s, const ExprPtr& e) { collect(s, e.get()); }
void collect(Symbols& s, const Body& body);
void collect_target(Symbols& s, const Expr& target, bool parameter);

// Whether a special name (loop, caller ...) is read anywhere inside without being assigned before,
// scopes inside included.
bool reads_name(const Body& body, std::string_view name);

// Whether a statement or what it holds assigns the name.
bool stores_name(const Stmt& s, std::string_view name);

}  // namespace spindrift::jinja
