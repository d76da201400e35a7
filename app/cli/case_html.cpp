// A case as a part of a page: one file, no network, readable in light and dark, on paper and on a phone.
#include <fmt/format.h>
#include <map>
#include <regex>

#include "app/cli/explained.h"
#include "app/cli/forms.h"
#include "app/cli/kernel_case.h"
#include "app/cli/pictures.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;
namespace {

constexpr const char* style = R"(
:root { --bg:#fbfbfc; --text:#1c2024; --dim:#5a6470; --line:#d9dee4; --panel:#fff; --right:#0b6b3a; --wrong:#b3261e; --kernel:#b4500a; --oracle:#1f5fae; }
@media (prefers-color-scheme: dark) { :root { --bg:#14171b; --text:#e6e9ed; --dim:#9aa5b1; --line:#313842; --panel:#1c2127; --right:#5fd39a; --wrong:#ff8a80; --kernel:#ffab5e; --oracle:#7db4ff; } }
* { box-sizing:border-box } body { margin:0 auto; max-width:1080px; padding:24px 20px 80px; background:var(--bg); color:var(--text); font:15px/1.5 Inter,system-ui,sans-serif }
h1 { font-size:26px; margin:0 0 4px } h2 { font-size:19px; margin:36px 0 8px } p { margin:6px 0 } .dim { color:var(--dim) }
table { border-collapse:collapse; width:100%; font-size:14px } th { text-align:left; color:var(--dim); font-weight:600 } th,td { padding:6px 10px 6px 0; border-bottom:1px solid var(--line); vertical-align:top }
td.number { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap } a { color:inherit }
.right { color:var(--right); font-weight:600 } .wrong { color:var(--wrong); font-weight:600 }
details { background:var(--panel); border:1px solid var(--line); border-radius:8px; margin:10px 0; padding:0 16px } details[open] { padding-bottom:14px } summary { cursor:pointer; padding:10px 0 }
.pair { display:grid; grid-template-columns:1fr 1fr; gap:0 20px } @media (max-width:760px) { .pair { grid-template-columns:1fr } } figure { margin:12px 0 } figcaption { font-size:13px; color:var(--dim); margin-bottom:4px } figure img { display:block; width:100%; height:96px; image-rendering:pixelated; border:1px solid var(--line) }
.legend { display:flex; gap:8px; align-items:center; font-size:12px; color:var(--dim); margin-top:4px } .legend i { display:block; width:180px; height:8px; border-radius:2px }
svg { width:100%; height:auto; display:block } .grid { stroke:var(--line); stroke-width:1 } .tick { fill:var(--dim); font:11px system-ui }
.line { fill:none; stroke-width:1.6 } .kernel { stroke:var(--kernel) } .oracle { stroke:var(--oracle); stroke-width:3; opacity:.55 } .error { stroke:var(--wrong) }
.dot { stroke:none } circle.kernel { fill:var(--kernel); opacity:1 } circle.oracle { fill:var(--oracle) } circle.error { fill:var(--wrong) }
.key { font-size:13px } .key b { display:inline-block; width:22px; height:3px; vertical-align:middle; margin:0 4px 0 12px } dl { display:grid; grid-template-columns:max-content 1fr; gap:2px 14px; font-size:14px; margin:10px 0 } dt { color:var(--dim) } dd { margin:0 }
h3 { font-size:15px; margin:18px 0 6px } code,pre { font:13px/1.45 "JetBrains Mono",ui-monospace,monospace } code { background:var(--line); border-radius:3px; padding:1px 4px } td code { background:none; padding:0 }
pre { margin:0; max-height:460px; overflow:auto; border:1px solid var(--line); border-radius:6px; background:var(--bg) } pre span { display:block; padding:0 10px; white-space:pre } pre span::before { content:attr(data-n); display:inline-block; width:3.4em; color:var(--dim) }
pre span.marked { background:color-mix(in srgb, var(--wrong) 22%, transparent) } pre em { color:var(--wrong); font-style:normal; padding-left:2em }
@media print { pre { max-height:none } }
)";

std::string number(const json& v) {
  return v.is_number() ? number_text(v.get<double>()) : v.is_string() ? v.get<std::string>() : "unknown";
}

std::string ratio(const json& v) {
  return v.is_number() ? ratio_text(v.get<double>()) : v.is_string() ? "beyond any multiple of" : "unknown";
}

std::string time_cell(const json& t) {
  if (!t.is_object() || !t["median_ms"].is_number()) return "–";
  return time_text(t["median_ms"].get<double>()) + " " + t["source"].get<std::string>();
}

std::string numbers(const json& r) {
  std::string out = "<dl>";
  auto row = [&](const std::string& name, const std::string& value) {
    out += "<dt>" + name + "</dt><dd>" + html_escape(value) + "</dd>";
  };
  const json& e = r["error"];
  if (e.is_object() && e["elements"].get<int64_t>() > 0) {
    auto elements = e["elements"].get<double>();
    row("elements", grouped(e["elements"]) + ", beyond their bound " + grouped(e["failing"]) + " (" +
                        percent_text(e["failing"].get<double>(), elements) + ")");
    std::string gates;
    for (const auto& g : e["gates"])
      gates += fmt::format("{}atol = rtol = {:g}: {} failing", gates.empty() ? "" : " · ", g["atol"].get<double>(),
                           percent_text(g["failing"].get<double>(), elements));
    row("usual gates", gates);
    row("errors", forms::sizes_of_errors(e, number));
  }
  const json& t = r["timing"];
  if (t.is_object() && t["median_ms"].is_number()) {
    std::string s =
        fmt::format("{} (median of {} hot runs, noise {}, {})", time_text(t["median_ms"].get<double>()),
                    t["samples"].get<int>(), noise_text(t["noise_pct"].get<double>()), t["source"].get<std::string>());
    if (t["cold"].is_object()) s += "; cold " + time_text(t["cold"]["median_ms"].get<double>());
    if (t["floor_ms"].is_number())
      s += "; floor " + time_text(t["floor_ms"].get<double>()) + " by " + t["floor_from"].get<std::string>() +
           " (computed)";
    if (std::string words = forms::launch_words(t); !words.empty()) s += "; " + words;
    row("time", s);
  }
  for (const auto& ref : r["references"])
    if (ref["name"] != "oracle")
      row(ref["name"].get<std::string>(), ref["median_ms"].is_number()
                                              ? time_text(ref["median_ms"].get<double>()) +
                                                    " measured, largest error " + number(ref["max_abs"]) + ", worst " +
                                                    ratio(ref["max_bound_ratio"]) + " its bound"
                                              : ref.value("reason", "no figure"));
  for (const auto& l : r["verdict"]["layers"])
    row(l["name"].get<std::string>(), l["status"].get<std::string>() + ": " + l["evidence"].get<std::string>());
  return out + "</dl>";
}

// The taps of the element, and the lines that read what does not belong to it.
std::string explanation_part(const KernelCase& c) {
  const json& e = c.explanation;
  if (!e.is_object()) return "";
  std::string h = fmt::format(
      "<h3>Why y[{}, {}, {}] is {}, not {}</h3><table><tr><th>tap k</th><th>should take i</th><th>takes i</th><th "
      "style=\"text-align:right\">should add</th><th style=\"text-align:right\">adds</th><th></th></tr>",
      e["at"][0].get<int64_t>(), e["at"][1].get<int64_t>(), e["at"][2].get<int64_t>(),
      html_escape(explained_number(e["got"])), html_escape(explained_number(e["expected"])));
  const TapRows taps = tap_rows(e);
  for (const TapRow& t : taps.rows)
    h += fmt::format(
        "<tr><td>{} {}</td><td>{}</td><td{}>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"dim\">{}</td></tr>",
        t.same ? "" : "<span class=\"wrong\">✗</span>", t.k, t.should_i, t.same ? "" : " class=\"wrong\"", t.reads_i,
        html_escape(t.should_add), html_escape(t.adds), html_escape(t.note));
  h += "</table>";
  if (taps.idle) h += fmt::format("<p class=\"dim\">and {} taps that reach nothing, as they should</p>", taps.idle);
  for (const auto& note : e["notes"]) h += "<p class=\"wrong\">✗ " + html_escape(note.get<std::string>()) + "</p>";
  for (const auto& words : stray_words(c.stray_reads.is_array() ? c.stray_reads : json::array()))
    h += "<p class=\"wrong\">✗ " + html_escape(words) + "</p>";
  return h + fmt::format("<p class=\"dim\">Found from outside by {} runs on one-hot inputs.</p>",
                         e["launches"].get<int64_t>());
}

// Lines of the kernel's text that are named anywhere in what is said of it ("up.cu:16"), with what is said of them
// where that is short.
std::map<int, std::string> lines_that_are_named(const KernelCase& c) {
  std::map<int, std::string> lines;
  const std::string own = file_name(c.source_file);
  if (own.empty()) return lines;
  std::string quoted;
  for (char ch : own) quoted += std::string(std::isalnum(static_cast<unsigned char>(ch)) ? "" : "\\") + ch;
  const std::regex named("(?:^|[^\\w./-])" + quoted + R"(:(\d+))");
  auto look = [&](const std::string& words, const std::string& about) {
    for (auto it = std::sregex_iterator(words.begin(), words.end(), named); it != std::sregex_iterator(); ++it)
      if (it->length(1) < 7) lines.try_emplace(std::stoi((*it)[1]), about);
  };
  for (const auto& words : stray_words(c.stray_reads.is_array() ? c.stray_reads : json::array()))
    look(words, words.substr(words.find(' ') + 1));
  const json& verdict = c.report["verdict"];
  for (const char* field : {"sentence", "cause"})
    if (verdict.contains(field) && verdict[field].is_string()) look(verdict[field].get<std::string>(), "");
  for (const auto& l : verdict["layers"])
    if (l["status"] != "pass") look(l["evidence"].get<std::string>(), "");
  return lines;
}

std::string source_part(const KernelCase& c) {
  if (c.source_text.empty()) return "";
  const auto marked = lines_that_are_named(c);
  std::string h = "<h3>" + html_escape(file_name(c.source_file)) + "</h3><pre>";
  int n = 1;
  for (size_t at = 0; at < c.source_text.size(); n++) {
    const size_t end = std::min(c.source_text.find('\n', at), c.source_text.size());
    const auto mark = marked.find(n);
    h += fmt::format("<span data-n=\"{}\"{}>{}{}</span>", n, mark == marked.end() ? "" : " class=\"marked\"",
                     html_escape(c.source_text.substr(at, end - at)),
                     mark == marked.end() || mark->second.empty() ? "" : "<em>" + html_escape(mark->second) + "</em>");
    at = end + 1;
  }
  return h + "</pre>";
}

}  // namespace

std::string html_escape(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string page_begin(const std::string& title) {
  return "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width,initial-scale=1\"><title>" +
         html_escape(title) + "</title><style>" + style + "</style></head><body>";
}

std::string page_end() {
  // A link into a closed case opens it; a text begins at the first line that is marked in it.
  return "<script>function o(){const "
         "d=document.getElementById(location.hash.slice(1));if(d&&d.tagName==='DETAILS'){d.open=true;d.scrollIntoView()"
         "}}addEventListener('hashchange',o);o();for(const p of document.querySelectorAll('pre')){const "
         "m=p.querySelector('.marked');if(m)p.scrollTop=m.offsetTop-p.offsetTop-80}</script></body></html>\n";
}

std::string case_table_head() {
  return "<table><tr><th></th><th>kernel</th><th>verdict</th><th style=\"text-align:right\">max error</th><th "
         "style=\"text-align:right\">time</th></tr>";
}

std::string case_row(const KernelCase& c, size_t number_of_case) {
  const json& e = c.report["error"];
  return fmt::format(
      "<tr><td class=\"{}\">{}</td><td><a href=\"#case{}\">{}</a></td><td>{}{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{}</td></tr>",
      c.right() ? "right" : "wrong", c.right() ? "✓" : "✗", number_of_case, html_escape(c.kernel) + c.type,
      html_escape(c.report["verdict"]["sentence"].get<std::string>()),
      c.as_expected ? "" : " <b class=\"wrong\">(not expected)</b>",
      e.is_object() && !e["max_abs"].is_null() ? number(e["max_abs"]) : "–", time_cell(c.report["timing"]));
}

std::string case_part(const KernelCase& c, size_t number_of_case, bool open) {
  std::string h = fmt::format(
      "<details id=\"case{}\"{}><summary><b>{}</b>{} on {} — <span class=\"{}\">{}</span></summary><p "
      "class=\"dim\">{}</p>",
      number_of_case, open ? " open" : "", html_escape(c.kernel), c.type, html_escape(c.problem),
      c.right() ? "right" : "wrong", html_escape(c.report["verdict"]["sentence"].get<std::string>()),
      html_escape(c.idea));
  if (auto cause = c.report["verdict"].value("cause", json()); cause.is_string())
    h += "<p><b>Why</b> " + html_escape(cause.get<std::string>()) + ".</p>";
  for (const auto& note : c.report["verdict"].value("notes", json::array()))
    h += "<p class=\"dim\">To know: " + html_escape(note.get<std::string>()) + ".</p>";
  for (const auto& w : c.report.value("warnings", json::array()))
    h += "<p class=\"dim\">" + html_escape(w.get<std::string>()) + "</p>";
  for (size_t k = 0; k < c.pictures.size(); k++) {
    const auto& p = c.pictures[k];
    if (k % 2 == 0) h += "<div class=\"pair\">";
    h += fmt::format(
        "<figure><figcaption>{}</figcaption><img alt=\"{}\" src=\"data:image/png;base64,{}\"><div "
        "class=\"legend\">{}<i style=\"background:{}\"></i>{}</div></figure>",
        html_escape(p.caption), html_escape(p.caption), base64(p.png), html_escape(p.low), p.gradient,
        html_escape(p.high));
    if (k % 2 == 1) h += "</div>";
  }
  if (!c.plot.empty())
    h += "<figure><figcaption>" + html_escape(c.plot_caption) +
         " <span class=\"key\"><b style=\"background:var(--oracle)\"></b>oracle<b "
         "style=\"background:var(--kernel)\"></b>kernel</span></figcaption>" +
         c.plot + c.error_plot + "</figure>";
  h += explanation_part(c) + numbers(c.report) + source_part(c);
  if (!c.command.empty()) h += "<p class=\"dim\">The same again: <code>" + html_escape(c.command) + "</code></p>";
  return h + "</details>";
}

}  // namespace convscope
