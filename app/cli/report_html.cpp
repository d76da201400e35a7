// The demo's report: one file, no network, readable in light and dark, on paper and on a phone.
#include <fmt/format.h>

#include "app/cli/demo.h"
#include "app/cli/forms.h"
#include "app/cli/pictures.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;
namespace {

std::string escape(const std::string& s) {
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
    out += "<dt>" + name + "</dt><dd>" + escape(value) + "</dd>";
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

}  // namespace

std::string demo_html(const std::vector<DemoCase>& cases, const std::string& device, bool emulated, double seconds,
                      bool interrupted) {
  std::string h =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>convscope demo</title><style>";
  h += style;
  h += "</style></head><body><h1>Which of these kernels are right?</h1>";
  h += fmt::format(
      "<p>Five exhibits, each wrong in its index arithmetic, and the ladder of correct kernels, beside a "
      "double-precision oracle. Run on {}{}; {} runs in {:.0f} s{}.</p>",
      escape(device), emulated ? ", where times are not GPU times" : "", cases.size(), seconds,
      interrupted ? ", then interrupted: what is missing was not run" : "");
  h += "<p class=\"dim\">A verdict does not rest on a tolerance: every element has its own rounding bound, and integer "
       "inputs must come out bit for bit. The usual gates are shown beside it.</p>";
  std::string preset;
  for (size_t i = 0; i < cases.size(); i++) {
    const auto& c = cases[i];
    if (c.preset != preset) {
      if (!preset.empty()) h += "</table>";
      preset = c.preset;
      h += "<h2>" + escape(preset) +
           "</h2><table><tr><th></th><th>kernel</th><th>verdict</th><th style=\"text-align:right\">max error</th><th "
           "style=\"text-align:right\">time</th></tr>";
    }
    bool right = c.report["verdict"]["status"] == "right";
    const json& e = c.report["error"];
    h += fmt::format(
        "<tr><td class=\"{}\">{}</td><td><a href=\"#case{}\">{}</a></td><td>{}{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td></tr>",
        right ? "right" : "wrong", right ? "✓" : "✗", i, escape(c.kernel) + c.type,
        escape(c.report["verdict"]["sentence"].get<std::string>()),
        c.as_expected ? "" : " <b class=\"wrong\">(not expected)</b>", e.is_object() ? number(e["max_abs"]) : "–",
        time_cell(c.report["timing"]));
  }
  if (!preset.empty()) h += "</table>";
  h += "<h2>Case by case</h2>";
  bool opened = false;
  for (size_t i = 0; i < cases.size(); i++) {
    const auto& c = cases[i];
    bool right = c.report["verdict"]["status"] == "right";
    bool open = !opened && c.kernel == "S4" && !right;
    opened |= open;
    h += fmt::format(
        "<details id=\"case{}\"{}><summary><b>{}</b>{} on {} — <span class=\"{}\">{}</span></summary><p "
        "class=\"dim\">{}</p>",
        i, open ? " open" : "", escape(c.kernel), c.type, escape(c.preset), right ? "right" : "wrong",
        escape(c.report["verdict"]["sentence"].get<std::string>()), escape(c.idea));
    if (auto cause = c.report["verdict"].value("cause", json()); cause.is_string())
      h += "<p><b>Why</b> " + escape(cause.get<std::string>()) + ".</p>";
    // In pairs: the whole result, and its first positions close up.
    for (size_t k = 0; k < c.pictures.size(); k++) {
      const auto& p = c.pictures[k];
      if (k % 2 == 0) h += "<div class=\"pair\">";
      h += fmt::format(
          "<figure><figcaption>{}</figcaption><img alt=\"{}\" src=\"data:image/png;base64,{}\"><div "
          "class=\"legend\">{}<i style=\"background:{}\"></i>{}</div></figure>",
          escape(p.caption), escape(p.caption), base64(p.png), escape(p.low), p.gradient, escape(p.high));
      if (k % 2 == 1) h += "</div>";
    }
    if (!c.plot.empty())
      h += "<figure><figcaption>" + escape(c.plot_caption) +
           " <span class=\"key\"><b style=\"background:var(--oracle)\"></b>oracle<b "
           "style=\"background:var(--kernel)\"></b>kernel</span></figcaption>" +
           c.plot + c.error_plot + "</figure>";
    h += numbers(c.report) + "</details>";
  }
  // A link into a closed case opens it.
  h += "<script>function o(){const "
       "d=document.getElementById(location.hash.slice(1));if(d&&d.tagName==='DETAILS'){d.open=true;d.scrollIntoView()}}"
       "addEventListener('hashchange',o);o()</script></body></html>\n";
  return h;
}

}  // namespace convscope
