#include "app/model/sampled_code.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "kernels/base/text.h"

namespace convscope {
namespace {

using Is = SampledCode::Is;

// What was recorded of a function beside its samples.
const SampledFunction* recorded_of(const Profile& p, const std::string& name) {
  for (const auto& f : p.samples.functions)
    if (f.name == name) return &f;
  return nullptr;
}

struct LinesThen {
  size_t known = 0, agree = 0;  // sampled instructions whose line is known both then and now
  int64_t last = -1;            // the highest offset that was sampled
  // Each line of then is one line of now, and the other way round: lines that were put in above move them so.
  bool one_to_one = true;
};
LinesThen lines_then(const Profile& p, const CodeFunction& code) {
  std::map<int64_t, const CodeLine*> now;
  for (const auto& l : code.sass) now[l.offset] = &l;
  using Line = std::pair<std::string, int64_t>;
  std::map<Line, Line> to, from;
  LinesThen out;
  for (const auto& i : p.samples.instructions) {
    if (i.function != code.name) continue;
    out.last = std::max(out.last, i.offset);
    auto it = now.find(i.offset);
    if (i.line <= 0 || it == now.end() || it->second->line <= 0) continue;
    const Line was{file_name(i.file), i.line}, is{file_name(it->second->file), it->second->line};
    out.known++;
    out.agree += was == is;
    out.one_to_one &= to.try_emplace(was, is).first->second == is && from.try_emplace(is, was).first->second == was;
  }
  return out;
}

// Whether its registers were recorded.
bool registers_then(const Profile& p, const CodeFunction& code) {
  return std::any_of(p.launches.begin(), p.launches.end(),
                     [&](const ProfileLaunch& l) { return l.entry == code.name && l.registers.has_value(); });
}

std::string moved_words(const CodeFunction& code, const LinesThen& places) {
  return fmt::format("{} of {} sampled instructions of {}", grouped(static_cast<int64_t>(places.known - places.agree)),
                     grouped(static_cast<int64_t>(places.known)), code.name);
}

// A fact that was recorded and is another one now; "": there is none.
std::string contradiction(const Profile& p, const CodeFunction& code, const std::string& architecture,
                          const LinesThen& places) {
  if (!p.architecture.empty() && !architecture.empty() && p.architecture != architecture)
    return fmt::format("they were taken on {}, and this is the code for {}", p.architecture, architecture);
  if (places.last >= code.code_bytes)
    return fmt::format("one of them is at byte {} of {}, which has {} here", places.last, code.name, code.code_bytes);
  for (const auto& l : p.launches)
    if (l.entry == code.name && l.registers && *l.registers != code.registers)
      return fmt::format("{} had {} registers then, and has {} here", code.name, *l.registers, code.registers);
  // Of a few the compiler or the line table may think otherwise; of many it is other code.
  if (!places.one_to_one && 10 * places.agree < 9 * places.known)
    return fmt::format("{} come from other lines here", moved_words(code, places));
  return "";
}

void put_words(SampledCode& s, const Profile& p) {
  const std::string of =
      p.recorded.empty() ? "samples are of another build" : "samples are of the recorded build (" + p.recorded + ")";
  switch (s.code) {
    case Is::same:
    case Is::alike:
      if (s.lines_moved) s.words = of + "; lines have moved since";
      return;
    case Is::other:
      s.words = of + ", whose code is another; lines may have moved";
      s.code_words = of + ", whose code is another: they are not drawn here. " + s.evidence;
      return;
    case Is::unknown:
      if (!p.recorded.empty())
        s.words = of + "; lines may have moved", s.code_words = of + "; instructions may have moved";
      return;
  }
}

}  // namespace

SampledCode sampled_code(const Profile& p, const CodeFunction* code, const std::string& architecture) {
  SampledCode s;
  if (!code) {
    s.evidence = "there is no machine code here to hold them against";
  } else {
    const SampledFunction* then = recorded_of(p, code->name);
    const LinesThen places = lines_then(p, *code);
    constexpr size_t enough = 8;  // instructions whose lines agree by more than chance
    if (then && !then->code_hash.empty() && !code->code_hash.empty()) {
      s.code = then->code_hash == code->code_hash ? Is::same : Is::other;
      s.lines_moved = places.agree < places.known;
      s.evidence = s.code == Is::same
                       ? fmt::format("the machine code of {} is the one that was sampled, byte by byte", code->name)
                       : fmt::format("the machine code of {} had the hash {} then, and has {} here", code->name,
                                     then->code_hash, code->code_hash);
    } else if (std::string why = contradiction(p, *code, architecture, places); !why.empty()) {
      s.code = Is::other, s.lines_moved = places.agree < places.known, s.evidence = why;
    } else if (places.known >= enough && places.one_to_one) {
      s.code = Is::alike, s.lines_moved = places.agree < places.known;
      s.evidence = fmt::format(
          "no hash of the code was recorded, but all {} sampled instructions of {} come from {}{}",
          grouped(static_cast<int64_t>(places.known)), code->name,
          s.lines_moved ? "lines that have moved together" : "the lines that they have here",
          registers_then(p, *code) ? ", and its registers are as many" : "; its registers were not recorded");
    } else if (places.known >= enough) {
      s.lines_moved = true;
      s.evidence = moved_words(*code, places) + " come from other lines here; no hash of the code was recorded";
    } else {
      s.evidence = "no hash of the code was recorded, and too few lines are known to tell by them";
    }
  }
  put_words(s, p);
  return s;
}

SampledCode sampled_code(const Profile& p, const MachineCode* code) {
  if (!code || code->kernel != p.kernel) return sampled_code(p, nullptr, "");
  std::optional<SampledCode> worst;
  for (const auto& f : p.samples.functions) {
    auto it = std::find_if(code->functions.begin(), code->functions.end(),
                           [&](const CodeFunction& c) { return c.name == f.name; });
    SampledCode s = sampled_code(p, it == code->functions.end() ? nullptr : &*it, code->architecture);
    if (it == code->functions.end() && !code->functions.empty())
      s.evidence = "there is no function " + f.name + " here";
    auto rank = [](const SampledCode& c) {
      return c.code == Is::other ? 3 : c.code == Is::unknown ? 2 : c.lines_moved ? 1 : 0;
    };
    if (!worst || rank(s) > rank(*worst)) worst = s;
  }
  return worst ? *worst : sampled_code(p, nullptr, "");
}

}  // namespace convscope
