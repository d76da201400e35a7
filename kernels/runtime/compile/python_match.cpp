// match and case (python_walk.h; Python Language Reference, "The match statement").
#include <algorithm>

#include "kernels/runtime/compile/python_walk.h"

namespace convscope::host {

void PythonWalk::run_case(const Statement& match, Locals& l) {
  const Value v = value_of(match.value, l);
  for (const Statement& one : match.body) {
    try {
      if (!matches(v, one.targets[0], l)) continue;
    } catch (const NotFollowed&) {
      not_followed(one.line);
    }
    if (one.value.kind == Expression::nothing || truth_of(value_of(one.value, l))) return run(one.body, l);
  }
}

bool PythonWalk::matches(const Value& v, const Expression& pattern, Locals& l) {
  switch (pattern.kind) {
    case Expression::name:
      if (pattern.word == "None") return is_none(v);
      if (pattern.word == "True" || pattern.word == "False") {
        const bool* own = std::get_if<bool>(&v.is);
        return own && *own == (pattern.word == "True");
      }
      if (pattern.word != "_") assign(pattern, v, l);
      return true;
    case Expression::number:
    case Expression::text:
    case Expression::unary:
    case Expression::attribute:
      if (tensor_in(v)) throw NotFollowed{};  // its values are not known
      return same_values(v, value_of(pattern, l));
    case Expression::either:
      return matches(v, pattern.parts[0], l) || matches(v, pattern.parts[1], l);
    case Expression::naming:
      if (!matches(v, pattern.parts[1], l)) return false;
      return assign(pattern.parts[0], v, l), true;
    case Expression::tuple:
    case Expression::list:
      return list_in(v) && sort_of(v) != PythonSort::set && sort_of(v) != PythonSort::once &&
             matches_all(*list_in(v), pattern.parts, l);
    case Expression::names:
      return matches_names(v, pattern, l);
    case Expression::call:
      return matches_class(v, pattern, l);
    default:
      throw NotFollowed{};
  }
}

// [a, *rest, b]
bool PythonWalk::matches_all(const Value::List& all, const std::vector<Expression>& patterns, Locals& l) {
  const auto star =
      std::find_if(patterns.begin(), patterns.end(), [](const auto& p) { return p.kind == Expression::star; });
  const auto before = static_cast<size_t>(star - patterns.begin());
  const bool rest = star != patterns.end();
  if (rest ? all.size() + 1 < patterns.size() : all.size() != patterns.size()) return false;
  const size_t behind = all.size() - patterns.size();  // of what stands behind the star, how much further it is
  for (size_t i = 0; i < patterns.size(); i++) {
    if (rest && i == before) {
      const auto from = static_cast<int64_t>(i), to = static_cast<int64_t>(i + behind + 1);
      matches(python_list_of(PythonSort::list, part_of_list(all, from, to, 1)), patterns[i].parts[0], l);
    } else if (!matches(all[rest && i > before ? i + behind : i], patterns[i], l)) {
      return false;
    }
  }
  return true;
}

// {"stride": s, **rest}
bool PythonWalk::matches_names(const Value& v, const Expression& pattern, Locals& l) {
  const auto names = names_in(v);
  if (!names) return false;
  const auto rest = made_names();
  put_all(*rest, v);
  for (size_t i = 0; i + 1 < pattern.parts.size(); i += 2) {
    const Expression &key = pattern.parts[i], &one = pattern.parts[i + 1];
    if (key.kind == Expression::nothing || key.kind == Expression::star) {
      assign(one, Value{rest}, l);
      continue;
    }
    const Value known_as = value_of(key, l);
    const Value* found = value_at(*names, known_as);
    if (!found || !matches(*found, one, l)) return false;
    std::erase_if(rest->entries, [&](const auto& entry) { return same_values(entry.first, known_as); });
  }
  return true;
}

// int(), str() as s, Config(stride=1)
bool PythonWalk::matches_class(const Value& v, const Expression& pattern, Locals& l) {
  const Expression& type = pattern.parts[0];
  const Value known = value_of(type, l);
  const auto o = object_in(known);
  if (o && o->kind == Object::type) {
    const auto own = object_in(v);
    if (!own || own->kind != Object::instance || !own->statement) return false;
    if (own->statement != o->statement && !own->statement->bases.empty())
      throw NotFollowed{};  // it may be one of these
    if (own->statement != o->statement) return false;
    if (pattern.parts.size() > 1) throw NotFollowed{};  // by place: __match_args__
    return std::all_of(pattern.named.begin(), pattern.named.end(), [&](const auto& named) {
      const auto field = own->attributes.find(named.first);
      return matches(field == own->attributes.end() ? attribute(v, named.first) : field->second, named.second, l);
    });
  }
  if (!pattern.named.empty() || pattern.parts.size() > 2) throw NotFollowed{};
  return is_instance(v, type) && (pattern.parts.size() == 1 || matches(v, pattern.parts[1], l));
}

}  // namespace convscope::host
