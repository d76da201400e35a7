// Strings of a followed module (python_values.h), as far as sources are put together by them.
#include <algorithm>

#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {
namespace {

std::string with_all(std::string s, const std::string& from, const std::string& to) {
  if (from.empty()) throw NotFollowed{};
  for (size_t at = 0; (at = s.find(from, at)) != s.npos; at += to.size()) s.replace(at, from.size(), to);
  return s;
}

std::string stripped(const std::string& s, const std::string& characters, bool left, bool right) {
  const size_t from = left ? s.find_first_not_of(characters) : 0;
  if (from == s.npos) return "";
  const size_t to = right ? s.find_last_not_of(characters) : s.size() - 1;
  return to == s.npos ? "" : s.substr(from, to + 1 - from);
}

// "{name:03d} {0} {} {{"
std::string formatted(const std::string& s, const PythonArguments& a) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < s.size(); i++) {
    if ((s[i] == '{' || s[i] == '}') && i + 1 < s.size() && s[i + 1] == s[i]) {
      out += s[i++];
      continue;
    }
    if (s[i] == '}') throw NotFollowed{};
    if (s[i] != '{') {
      out += s[i];
      continue;
    }
    const size_t end = s.find('}', i);
    if (end == s.npos) throw NotFollowed{};
    const std::string field = s.substr(i + 1, end - i - 1);
    const size_t how = std::min(field.find_first_of(":!"), field.size());
    const std::string name = field.substr(0, how);
    const bool numbered = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return isdigit(c); });
    const PythonValue* v = nullptr;
    if (name.empty() || numbered) {
      const size_t place = numbered ? std::stoul(name.substr(0, 4)) : next++;
      v = place < a.by_place.size() ? &a.by_place[place] : nullptr;
    } else if (const auto known = a.by_name.find(name); known != a.by_name.end()) {
      v = &known->second;
    }
    if (!v) throw NotFollowed{};
    out += text_of(*v, field.substr(how)), i = end;
  }
  return out;
}

// $name, ${name}, $$; safe: what is not given stays.
std::string substituted(const std::string& s, const PythonArguments& a, bool safe) {
  std::vector<std::pair<PythonValue, PythonValue>> given;
  if (!a.by_place.empty()) {
    const auto names = names_in(a.by_place.front());
    if (!names) throw NotFollowed{};
    given = names->entries;
  }
  for (const auto& [name, v] : a.by_name) given.emplace_back(PythonValue{name}, v);
  std::string out;
  for (size_t i = 0; i < s.size(); i++) {
    if (s[i] != '$') {
      out += s[i];
      continue;
    }
    if (i + 1 < s.size() && s[i + 1] == '$') {
      out += s[i++];
      continue;
    }
    const bool braces = i + 1 < s.size() && s[i + 1] == '{';
    size_t end = i + 1 + braces;
    while (end < s.size() && (isalnum(static_cast<unsigned char>(s[end])) || s[end] == '_')) end++;
    const std::string name = s.substr(i + 1 + braces, end - i - 1 - braces);
    const auto known =
        std::find_if(given.begin(), given.end(), [&](const auto& each) { return same_values(each.first, {name}); });
    if (name.empty() || (braces && (end == s.size() || s[end] != '}')) || known == given.end()) {
      if (!safe) throw NotFollowed{};
      out += s[i];
      continue;
    }
    out += text_of(known->second), i = end - !braces;
  }
  return out;
}

}  // namespace

PythonValue string_filled(const std::string& s, const PythonValue& v) {
  std::string out;
  size_t next = 0;
  const bool several = list_in(v) && sort_of(v) == PythonSort::tuple;
  for (size_t i = 0; i < s.size(); i++) {
    if (s[i] != '%') {
      out += s[i];
      continue;
    }
    if (++i == s.size()) throw NotFollowed{};
    if (s[i] == '%') {
      out += s[i];
      continue;
    }
    const PythonValue* one = nullptr;
    if (s[i] == '(') {
      const size_t end = s.find(')', i);
      const auto names = names_in(v);
      if (end == s.npos || !names) throw NotFollowed{};
      one = value_at(*names, {s.substr(i + 1, end - i - 1)}), i = end + 1;
    } else if (several) {
      one = next < list_in(v)->size() ? &(*list_in(v))[next++] : nullptr;
    } else {
      one = next++ == 0 ? &v : nullptr;
    }
    size_t end = i;
    while (end < s.size() && (isdigit(static_cast<unsigned char>(s[end])) || s[end] == '.')) end++;
    if (!one || end >= s.size()) throw NotFollowed{};
    const std::string how = s.substr(i, end - i);
    const char kind = s[end];
    if (kind == 's' && how.empty())
      out += text_of(*one);
    else if ((kind == 'd' || kind == 'i') && std::holds_alternative<double>(one->is))
      out += text_of({whole_number({static_cast<int64_t>(std::get<double>(one->is))})}, ":" + how + "d");
    else if (kind == 'd' || kind == 'i')
      out += text_of({whole_number(*one)}, ":" + how + "d");
    else if (kind == 'f' || kind == 'e' || kind == 'g')
      out += text_of(*one, ":" + how + kind);
    else
      throw NotFollowed{};
    i = end;
  }
  if (several && next < list_in(v)->size()) throw NotFollowed{};  // Python's TypeError
  return {out};
}

std::string dedented(const std::string& text) {
  std::string common, out;
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size()), first = text.find_first_not_of(" \t", at);
    if (first < end) {
      const std::string margin = text.substr(at, first - at);
      if (!any) common = margin;
      any = true;
      while (!margin.starts_with(common)) common.pop_back();
    }
    at = end + 1;
  }
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size()), first = text.find_first_not_of(" \t", at);
    if (first < end) out += text.substr(at + common.size(), end - at - common.size());
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

PythonValue string_method(const std::string& s, const std::string& method, const PythonArguments& a) {
  auto text = [&](size_t i) -> const std::string& {
    const auto* own = i < a.by_place.size() ? std::get_if<std::string>(&a.by_place[i].is) : nullptr;
    return own ? *own : throw NotFollowed{};
  };
  if (method == "startswith" || method == "endswith")
    return {method == "startswith" ? s.starts_with(text(0)) : s.ends_with(text(0))};
  if (method == "format") return {formatted(s, a)};
  if (method == "substitute" || method == "safe_substitute") return {substituted(s, a, method[1] == 'a')};
  if (!a.by_name.empty()) throw NotFollowed{};
  if (method == "replace" && a.by_place.size() == 2) return {with_all(s, text(0), text(1))};
  if (method == "join" && a.by_place.size() == 1) {
    std::string all;
    bool first = true;
    for (const PythonValue& part : elements_walked(a.by_place.front())) {
      if (!std::holds_alternative<std::string>(part.is)) throw NotFollowed{};
      all += (first ? "" : s) + std::get<std::string>(part.is), first = false;
    }
    return {all};
  }
  if (method == "strip" || method == "lstrip" || method == "rstrip")
    return {stripped(s, a.by_place.empty() ? " \t\n\r\f\v" : text(0), method != "rstrip", method != "lstrip")};
  if ((method == "upper" || method == "lower") && a.by_place.empty()) {
    std::string other = s;
    for (char& c : other)
      c = static_cast<char>(method == "upper" ? toupper(static_cast<unsigned char>(c))
                                              : tolower(static_cast<unsigned char>(c)));
    return {other};
  }
  throw NotFollowed{};
}

}  // namespace convscope::host
