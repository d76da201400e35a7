#include "kernels/verify/edit_words.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "convscope/edits.h"
#include "kernels/base/trimmed.h"
#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

using Kind = EditSite::Kind;

struct Operator {
  const char* text;
  unsigned number;
  Binds binds;
};
constexpr Operator arithmetic[] = {{"+", edits::add, Binds::sum},
                                   {"-", edits::subtract, Binds::sum},
                                   {"*", edits::multiply, Binds::product},
                                   {"/", edits::divide, Binds::product},
                                   {"%", edits::modulo, Binds::product}};
constexpr Operator comparisons[] = {{"<", edits::less, Binds::order},      {"<=", edits::at_most, Binds::order},
                                    {">", edits::more, Binds::order},      {">=", edits::at_least, Binds::order},
                                    {"==", edits::equal, Binds::equality}, {"!=", edits::unequal, Binds::equality}};

uint16_t named(size_t candidate, unsigned how) {
  return static_cast<uint16_t>(edits::first_of_other + candidate * edits::others + how);
}

class Edits {
 public:
  Edits(const EditSites& all, const std::string& cuda) : all_(all), cuda_(cuda) {}
  void at(size_t site) {
    const EditSite& s = all_.sites[site];
    switch (s.kind) {
      case Kind::name:
        return name(site, s);
      case Kind::whole:
        one(site, edits::plus_one, off_by_one), one(site, edits::minus_one, off_by_one);
        one(site, edits::plus_two, term);
        return others(site, s, seldom, odd);
      case Kind::arithmetic:
        return operands(site, s);
      case Kind::comparison:
        return compared(site, s);
      case Kind::logic:
        one(site, edits::exchanged, slip), one(site, edits::left_alone, dropped),
            one(site, edits::right_alone, dropped);
        return;
      case Kind::store:
        one(site, edits::atomically, slip), one(site, edits::other_way, dropped);
        return;
      case Kind::barrier:
        one(site, edits::of_block, slip), one(site, edits::of_warp, wrong_name);
        return;
      case Kind::clear:
      case Kind::jump:
        return one(site, 1, slip);
      case Kind::shape:
        return;  // both at once: exchanged_arguments()
      case Kind::divisible:
        return one(site, 1, forgotten);
      case Kind::beyond:
        for (size_t i = 0; i < s.candidates.size(); i++) one(site, static_cast<uint16_t>(i + 1), seldom);
        return;
      case Kind::guard:
        return guards(site, s);
      case Kind::pairing:
        for (size_t i = 0; i < s.candidates.size(); i++)
          one(site, static_cast<unsigned>(i + 1), is_new(s, s.candidates[i]) ? off_by_one : seldom);
    }
  }
  void exchanged_arguments(const std::vector<bool>& reached) {
    for (size_t i = 1; i + 1 < all_.sites.size(); i++)
      if (reached[i] && all_.sites[i].kind == Kind::shape && all_.sites[i + 1].kind == Kind::shape)
        found_.push_back({{{i, 1}, {i + 1, 1}}, slip}), i++;
    std::map<size_t, std::vector<size_t>> calls;
    for (size_t i = 1; i < all_.sites.size(); i++)
      if (reached[i] && all_.sites[i].call && !all_.sites[i].number) calls[all_.sites[i].call].push_back(i);
    for (const auto& [call, arguments] : calls)
      for (size_t i = 0; i < arguments.size(); i++)
        for (size_t k = i + 1; k < arguments.size(); k++) {
          const size_t a = at_of(arguments[i], arguments[k]), b = at_of(arguments[k], arguments[i]);
          if (a != none && b != none)
            found_.push_back(
                {{{arguments[i], named(a, edits::itself)}, {arguments[k], named(b, edits::itself)}}, slip});
        }
  }
  std::vector<TextEdit> found() && {
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    return std::move(found_);
  }

 private:
  static constexpr size_t none = static_cast<size_t>(-1);
  // How seldom such an edit is what was meant, as far as wrong kernels have shown.
  enum Cost { slip, wrong_name, forgotten, off_by_one, term, dropped, seldom, odd, hardly };
  void one(size_t site, unsigned edit, int cost) { found_.push_back({{{site, static_cast<uint16_t>(edit)}}, cost}); }
  // Which of `from`'s candidates the argument `of` is.
  size_t at_of(size_t from, size_t of) const {
    const EditSite &a = all_.sites[from], &b = all_.sites[of];
    const auto it = std::find(a.candidates.begin(), a.candidates.end(), b.of);
    return it == a.candidates.end() ? none : static_cast<size_t>(it - a.candidates.begin());
  }
  // What stands on the line already is less likely to be missing there.
  bool is_new(const EditSite& s, const std::string& name) const {
    const size_t begin = s.begin ? cuda_.rfind('\n', s.begin - 1) + 1 : 0;
    const std::string line = cuda_.substr(begin, cuda_.find('\n', begin) - begin);
    for (size_t at = 0; (at = line.find(name, at)) != line.npos; at++)
      if ((!at || !is_word(line[at - 1])) && (at + name.size() == line.size() || !is_word(line[at + name.size()])))
        return false;
    return true;
  }
  void others(size_t site, const EditSite& s, int usual, int unusual) {
    for (size_t i = 0; i < s.candidates.size(); i++) {
      if (s.candidates[i] == bytes_of_an_element) {
        one(site, named(i, edits::times), slip);
        continue;
      }
      const bool fresh = is_new(s, s.candidates[i]);
      const int adds = fresh ? usual : std::max<int>(usual, seldom) + 1, else_ = fresh ? unusual : hardly;
      one(site, named(i, edits::plus), adds), one(site, named(i, edits::minus), adds);
      one(site, named(i, edits::times), s.kind == Kind::whole ? else_ : adds);
      one(site, named(i, edits::rest), s.kind == Kind::whole ? else_ : usual);
      one(site, named(i, edits::divided), else_);
      // The taps the other way round: K is often on the line.
      one(site, named(i, edits::reversed), s.kind == Kind::whole ? else_ : usual);
    }
  }
  void name(size_t site, const EditSite& s) {
    const bool coordinate = s.of.find("Idx.") != s.of.npos;
    for (size_t i = 0; i < s.candidates.size(); i++) {
      if (s.candidates[i] == bytes_of_an_element) continue;
      if (std::isdigit(static_cast<unsigned char>(s.candidates[i].front()))) {
        one(site, named(i, edits::itself), term);
        continue;
      }
      const bool both = coordinate && s.candidates[i].find("Idx.") != std::string::npos;
      one(site, named(i, edits::itself),
          s.number                     ? odd
          : both                       ? slip
          : is_new(s, s.candidates[i]) ? wrong_name
                                       : seldom);
    }
    const int near = s.number ? slip : seldom;
    one(site, edits::plus_one, near);
    one(site, edits::minus_one, s.of == "1" ? seldom : near);  // rather left out
    if (s.number) {
      one(site, edits::doubled, off_by_one);
      // Of 1 it is 0, as minus_one has it; of 2 it is 1, likewise.
      if (s.of != "1" && s.of != "2") one(site, edits::halved, off_by_one);
      return;
    }
    others(site, s, term, odd);
  }
  void operands(size_t site, const EditSite& s) {
    const bool sum = s.op == "+" || s.op == "-";
    for (const auto& o : arithmetic)
      if (s.op != o.text) one(site, o.number, (o.binds == Binds::sum) != sum ? seldom : sum ? slip : dropped);
    // `+ 1` and `- 1` are what is mostly too much.
    const bool one_more = sum && cuda_.compare(s.right_begin, s.end - s.right_begin, "1") == 0;
    one(site, edits::left, one_more ? off_by_one : dropped), one(site, edits::right, dropped);
    if (s.op == "/" || s.op == "%") one(site, edits::floored, forgotten);
    if (s.op == "/") one(site, edits::ceiled, forgotten);
  }
  void compared(size_t site, const EditSite& s) {
    const bool order = s.op != "==" && s.op != "!=";
    // `<` for `<=` is a slip, `>` for either is seldom one.
    for (const auto& o : comparisons)
      if (s.op != o.text)
        one(site, o.number,
            (o.binds == Binds::order) != order   ? seldom
            : order && s.op.front() != o.text[0] ? term
                                                 : slip);
    one(site, edits::always, dropped);
    if (!order) return;
    if (s.op.starts_with("<")) one(site, edits::not_negative, forgotten);
    if (s.op.starts_with(">"))
      for (size_t i = 0; i < s.candidates.size(); i++)
        one(site, static_cast<uint16_t>(edits::first_below + i), is_new(s, s.candidates[i]) ? forgotten : seldom);
  }

  // What an index's text says of its own extents is what is mostly forgotten.
  void guards(size_t site, const EditSite& s) {
    for (size_t i = 0; i < s.coordinates.size(); i++) {
      const auto& c = s.coordinates[i];
      const unsigned first = edits::first_guard + static_cast<unsigned>(i) * edits::guards;
      if (edits::is_of_thread(c)) {
        const auto at = std::find(s.candidates.begin(), s.candidates.end(), c.extent) - s.candidates.begin();
        one(site, first + 1 + static_cast<unsigned>(at), forgotten);
        continue;
      }
      one(site, first, forgotten);
      for (size_t k = 0; k < s.candidates.size() && k + 1 < edits::guards; k++)
        if (s.candidates[k] != c.text)
          one(site, first + 1 + static_cast<unsigned>(k),
              s.candidates[k] == c.extent ? forgotten
              : c.extent.empty()          ? dropped
                                          : odd);
    }
  }

  const EditSites& all_;
  const std::string& cuda_;
  std::vector<TextEdit> found_;
};

// ---- texts

struct Change {
  size_t begin, end;
  std::string text;
};

std::string in_brackets(const std::string& text, bool needed) { return needed ? "(" + text + ")" : text; }

// An expression that holds together as `binds`, where the site's own stood.
std::string placed(const EditSite& s, const std::string& text, Binds binds) {
  const bool torn = s.is_right ? binds <= s.around : binds < s.around;
  return in_brackets(text, torn && s.around != Binds::list);
}

class Texts {
 public:
  explicit Texts(const std::string& cuda) : cuda_(cuda) {}
  Change change(const EditSite& s, unsigned edit) const {
    const std::string own = cuda_.substr(s.begin, s.end - s.begin);
    switch (s.kind) {
      case Kind::name:
        return without_factor({s.begin, s.end, value(s, own, Binds::name, edit)});
      case Kind::whole:
        return {s.begin, s.end, value(s, own, s.left, edit)};
      case Kind::arithmetic:
        return {s.begin, s.end, operands(s, edit)};
      case Kind::comparison:
        return {s.begin, s.end, compared(s, own, edit)};
      case Kind::logic: {
        if (edit == edits::left_alone) return {s.begin, s.end, left(s)};
        if (edit == edits::right_alone) return {s.begin, s.end, right(s)};
        const bool both = s.op == "&&";
        const Binds binds = both ? Binds::either : Binds::both;
        return {s.begin, s.end,
                placed(s,
                       in_brackets(left(s), s.left < binds) + (both ? " || " : " && ") +
                           in_brackets(right(s), s.right <= binds),
                       binds)};
      }
      case Kind::store:
        if (edit == edits::atomically) return {s.begin, s.end, fmt::format("atomicAdd(&{}, {})", left(s), right(s))};
        return {s.left_end, s.right_begin, s.op == "=" ? " += " : " = "};
      case Kind::barrier:
        return statement(s.begin, edit == edits::of_block ? "__syncthreads();" : "__syncwarp();");
      case Kind::clear:
        return cleared(s);
      case Kind::jump:
        return {s.begin, s.end, s.op == "continue" ? "break" : "continue"};
      case Kind::divisible:
        return behind(s.begin, fmt::format("if ({} % {} != 0) {};", in_brackets(s.of, s.left < Binds::product),
                                           in_brackets(s.by, s.right <= Binds::product), s.leave));
      case Kind::beyond:
        return behind(s.begin, fmt::format("if ({} >= {}) {};", s.of, s.candidates[edit - 1], s.leave));
      case Kind::guard:
        return guarded(s, own, edit);
      case Kind::pairing:
        return {s.begin, s.end, fmt::format("{} * {} + {}", s.by, s.candidates[edit - 1], s.of)};
      case Kind::shape:
        return {s.begin, s.end, s.by};
    }
    return {s.begin, s.begin, ""};
  }

 private:
  std::string left(const EditSite& s) const { return cuda_.substr(s.begin, s.left_end - s.begin); }
  std::string right(const EditSite& s) const { return cuda_.substr(s.right_begin, s.end - s.right_begin); }

  // 1 * a and a * 1 are a.
  Change without_factor(Change c) const {
    if (c.text != "1") return c;
    const size_t behind = cuda_.find_first_not_of(' ', c.end),
                 before = c.begin ? cuda_.find_last_not_of(' ', c.begin - 1) : cuda_.npos;
    if (before != cuda_.npos && cuda_[before] == '*') return {cuda_.find_last_not_of(' ', before - 1) + 1, c.end, ""};
    const bool divided = before != cuda_.npos && (cuda_[before] == '/' || cuda_[before] == '%');
    if (behind == cuda_.npos || cuda_[behind] != '*' || divided) return c;
    return {c.begin, cuda_.find_first_not_of(' ', behind + 1), ""};
  }

  std::string value(const EditSite& s, const std::string& own, Binds binds, unsigned edit) const {
    // a - 1 + 1
    const std::string_view one = edit == edits::plus_one ? " - 1" : edit == edits::minus_one ? " + 1" : "";
    if (!one.empty() && binds == Binds::sum && own.ends_with(one))
      return placed(s, own.substr(0, own.size() - one.size()), Binds::sum);
    const std::string as_sum = own, as_product = in_brackets(own, binds < Binds::product);
    if (s.number && edit < edits::first_of_other) {
      const long long n = std::atoll(own.c_str());
      return std::to_string(edit == edits::plus_one    ? n + 1
                            : edit == edits::minus_one ? n - 1
                            : edit == edits::doubled   ? n * 2
                                                       : n / 2);
    }
    switch (edit) {
      case edits::plus_one:
        return placed(s, as_sum + " + 1", Binds::sum);
      case edits::minus_one:
        return placed(s, as_sum + " - 1", Binds::sum);
      case edits::doubled:
        return placed(s, as_product + " * 2", Binds::product);
      case edits::halved:
        return placed(s, as_product + " / 2", Binds::product);
      case edits::plus_two:
        return placed(s, as_sum + " + 2", Binds::sum);
    }
    const std::string& other = s.candidates[(edit - edits::first_of_other) / edits::others];
    switch ((edit - edits::first_of_other) % edits::others) {
      case edits::itself:
        return other;
      case edits::plus:
        return placed(s, as_sum + " + " + other, Binds::sum);
      case edits::minus:
        return placed(s, as_sum + " - " + other, Binds::sum);
      case edits::times:
        return placed(s, as_product + " * " + other, Binds::product);
      case edits::reversed:
        return placed(s, other + " - 1 - " + in_brackets(own, binds <= Binds::sum), Binds::sum);
      case edits::divided:
        return placed(s, as_product + " / " + other, Binds::product);
      default:
        return placed(s, as_product + " % " + other, Binds::product);
    }
  }

  std::string operands(const EditSite& s, unsigned edit) const {
    const std::string a = left(s), b = right(s);
    if (edit == edits::left) return placed(s, a, s.left);
    if (edit == edits::right) return placed(s, b, s.right);
    const std::string la = in_brackets(a, s.left < Binds::product), rb = in_brackets(b, s.right <= Binds::product);
    if (edit == edits::floored && s.op == "%")  // of positive divisors
      return placed(s, fmt::format("({0} % {1} + {1}) % {1}", la, rb), Binds::product);
    if (edit == edits::floored) {
      const std::string in = in_brackets(a, s.left <= Binds::sum);
      return placed(s, fmt::format("({0} >= 0 ? {1} / {2} : -((-{3} + {2} - 1) / {2}))", a, la, rb, in), Binds::name);
    }
    if (edit == edits::ceiled) {
      const bool number = b.find_first_not_of("0123456789") == b.npos && b.size() < 10;
      const std::string more = number ? std::to_string(std::atoll(b.c_str()) - 1) : rb + " - 1";
      return placed(s, fmt::format("({} + {}) / {}", a, more, rb), Binds::product);
    }
    for (const auto& o : arithmetic)
      if (o.number == edit)
        return placed(s, in_brackets(a, s.left < o.binds) + between(s, o.text) + in_brackets(b, s.right <= o.binds),
                      o.binds);
    return "";
  }

  // What stands between two operands, with another operator: blanks as they were.
  std::string between(const EditSite& s, const std::string& op) const {
    std::string text = cuda_.substr(s.left_end, s.right_begin - s.left_end);
    const size_t at = text.find(s.op);
    return at == text.npos ? " " + op + " " : text.replace(at, s.op.size(), op);
  }

  static Change guarded(const EditSite& s, const std::string& own, unsigned edit) {
    const unsigned which = (edit - edits::first_guard) / edits::guards,
                   extent = (edit - edits::first_guard) % edits::guards;
    const edits::Coordinate& c = s.coordinates[which];
    const std::string more = c.text + (edits::is_of_thread(c) ? " == 0"
                                       : extent               ? " < " + s.candidates[extent - 1]
                                                              : " >= 0");
    if (s.begin == s.end) return {s.begin, s.end, "if (" + more + ") "};
    const bool inside =
        own.front() == '(' && closing(own, 0, '(', ')') + 1 == own.size() && own.find_first_of("|?=") == own.npos;
    if (inside) return {s.end - 1, s.end - 1, " && " + more};
    return {s.begin, s.end, in_brackets(own, s.left < Binds::both) + " && " + more};
  }

  std::string compared(const EditSite& s, const std::string& own, unsigned edit) const {
    const std::string a = left(s);
    if (edit == edits::always) return "true";
    auto both = [&](const std::string& more) {
      return s.around == Binds::list || s.around <= Binds::both ? own + " && " + more : "(" + own + " && " + more + ")";
    };
    if (edit == edits::not_negative) return both(a + " >= 0");
    if (edit >= edits::first_below) return both(a + " < " + s.candidates[edit - edits::first_below]);
    for (const auto& o : comparisons)
      if (o.number == edit) return a + between(s, o.text) + right(s);
    return own;
  }

  size_t line_begin(size_t at) const {
    const size_t n = at ? cuda_.rfind('\n', at - 1) : cuda_.npos;
    return n == cuda_.npos ? 0 : n + 1;
  }
  std::string indent(size_t at) const {
    const size_t begin = line_begin(at);
    size_t end = begin;
    while (end < cuda_.size() && (cuda_[end] == ' ' || cuda_[end] == '\t')) end++;
    return cuda_.substr(begin, end - begin);
  }
  bool only_blanks(size_t from, size_t to) const { return blank(std::string_view(cuda_).substr(from, to - from)); }
  static bool blank(std::string_view t) { return t.find_first_not_of(" \t\r") == t.npos; }

  // A statement in front of what stands there: on a line of its own where that begins one.
  Change statement(size_t at, const std::string& text) const {
    size_t begin = line_begin(at);
    if (!only_blanks(begin, at)) return {at, at, text + " "};
    std::string own = indent(at);
    if (cuda_[at] == '}' && begin) {  // as what is before it
      size_t before = line_begin(begin - 1);
      while (before && only_blanks(before, cuda_.find('\n', before))) before = line_begin(before - 1);
      if (indent(before).size() > own.size()) own = indent(before);
    }
    while (begin) {  // a pragma belongs to what follows it
      const size_t before = line_begin(begin - 1);
      const std::string line = trimmed(cuda_.substr(before, begin - before));
      if (!line.starts_with("#pragma") && !line.starts_with("_Pragma")) break;
      begin = before;
    }
    return {begin, begin, own + text + "\n"};
  }
  Change behind(size_t at, const std::string& text) const {
    const size_t end = std::min(cuda_.find('\n', at), cuda_.size());
    std::string rest = cuda_.substr(at, end - at);
    if (const size_t comment = rest.find("//"); comment != rest.npos) rest.erase(comment);
    if (!blank(rest)) return {at, at, " " + text};
    return {end, end, "\n" + indent(at) + text};
  }
  Change cleared(const EditSite& s) const {
    if (cuda_[s.begin - 1] == '{') {
      const size_t end = std::min(cuda_.find('\n', s.begin), cuda_.size()), next = end + 1;
      const std::string text = s.of + " = 0;";
      if (next >= cuda_.size() || !only_blanks(s.begin, end)) return {s.begin, s.begin, " " + text};
      return {end, end, "\n" + indent(next) + text};
    }
    // `float acc;`, `float acc[4];`
    const size_t declared = cuda_.rfind(s.of, s.begin);
    size_t at = declared == cuda_.npos ? s.begin - 1 : declared + s.of.size();
    const bool array =
        cuda_.find_first_not_of(" \t", at) < cuda_.size() && cuda_[cuda_.find_first_not_of(" \t", at)] == '[';
    if (array) at = s.begin - 1;
    return {at, at, array ? " = {}" : " = 0"};
  }

  const std::string& cuda_;
};

}  // namespace

std::vector<TextEdit> edits_at(const EditSites& all, const std::string& cuda, const std::vector<bool>& reached) {
  Edits found(all, cuda);
  for (size_t i = 1; i < all.sites.size(); i++)
    if (reached[i]) found.at(i);
  found.exchanged_arguments(reached);
  return std::move(found).found();
}

std::string edited_text(const std::string& original, const std::string& cuda, const EditSites& all,
                        const TextEdit& edit) {
  const Texts texts(cuda);
  std::vector<Change> changes;
  for (const auto& c : edit.choices) changes.push_back(texts.change(all.sites[c.site], c.edit));
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.begin > b.begin; });
  std::string text = original;
  for (const Change& c : changes) {
    if (original == cuda) {
      text.replace(c.begin, c.end - c.begin, c.text);
      continue;
    }
    // The same line of the other text, in which the CUDA may begin further right.
    auto line_at = [](const std::string& of, size_t number) {
      size_t at = 0;
      while (number-- && at != of.npos) at = of.find('\n', at), at += at != of.npos;
      return at;
    };
    const auto number =
        static_cast<size_t>(std::count(cuda.begin(), cuda.begin() + static_cast<std::ptrdiff_t>(c.begin), '\n'));
    const size_t begin = line_at(cuda, number), end = std::min(cuda.find('\n', c.begin), cuda.size());
    if (c.end > end) return "";
    std::string part = trimmed(cuda.substr(begin, end - begin));
    const size_t shift = part.empty() ? 0 : cuda.find(part, begin) - begin;
    // Changes are made from the end: what stands before is still the original's.
    const size_t there = line_at(original, number);
    if (there == original.npos) return "";
    size_t found = part.empty() ? there : original.find(part, there);
    if (found == original.npos || found > std::min(original.find('\n', there), original.size())) return "";
    found += c.begin - begin;
    if (found < shift) return "";
    text.replace(found - shift, c.end - c.begin, c.text);
  }
  return text;
}

std::vector<ChangedLine> changed_lines(const std::string& before, const std::string& after) {
  const auto lines = [](const std::string& t) {
    std::vector<std::string> all;
    for (size_t at = 0; at <= t.size();) {
      const size_t end = std::min(t.find('\n', at), t.size());
      all.push_back(t.substr(at, end - at));
      at = end + 1;
    }
    return all;
  };
  const auto a = lines(before), b = lines(after);
  size_t head = 0, tail = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head]) head++;
  while (tail < std::min(a.size(), b.size()) - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) tail++;
  // Between them the longest common part stays.
  const size_t rows = a.size() - head - tail, columns = b.size() - head - tail;
  std::vector<std::vector<size_t>> common(rows + 1, std::vector<size_t>(columns + 1));
  for (size_t i = rows; i-- > 0;)
    for (size_t k = columns; k-- > 0;)
      common[i][k] =
          a[head + i] == b[head + k] ? common[i + 1][k + 1] + 1 : std::max(common[i + 1][k], common[i][k + 1]);
  std::vector<ChangedLine> all;
  for (size_t i = 0, k = 0; i < rows || k < columns;) {
    const int number = static_cast<int>(head + i) + 1;
    if (i < rows && k < columns && a[head + i] == b[head + k]) {
      i++, k++;
    } else if (i < rows && k < columns && common[i + 1][k + 1] == common[i][k]) {
      all.push_back({number, trimmed(a[head + i++]), trimmed(b[head + k++])});
    } else if (k < columns && (i == rows || common[i][k + 1] >= common[i + 1][k])) {
      all.push_back({number, "", trimmed(b[head + k++])});
    } else {
      all.push_back({number, trimmed(a[head + i++]), ""});
    }
  }
  return all;
}

}  // namespace convscope
