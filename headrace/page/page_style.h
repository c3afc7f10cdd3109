#pragma once

/// \file The style of pages: light or dark, following the reader's system; also for phones.

#include <string_view>

namespace headrace {

inline constexpr std::string_view kPageStyle = R"css(
:root { color-scheme: light dark; --ground: #f7f6f3; --card: #fff; --ink: #1c2429; --soft: #5d6a72;
  --line: #e4e2dc; --water: #0a6c8f; --sun: #c8641b; --sun-soft: #fbeadb; }
@media (prefers-color-scheme: dark) { :root { --ground: #12181c; --card: #1a2227; --ink: #e6ebed;
  --soft: #94a3ab; --line: #2b363c; --water: #58b8da; --sun: #f0a35e; --sun-soft: #35281c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 40px 20px 64px; }
h1 { margin: 0; font-size: clamp(22px, 4vw, 32px); line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 0 0 8px; font-size: 18px; overflow-wrap: anywhere; }
h3 { margin: 16px 0 6px; font-size: 15px; color: var(--soft); font-weight: 600; overflow-wrap: anywhere; }
p { margin: 4px 0 10px; color: var(--soft); font-size: 14px; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 18px 22px;
  margin-top: 16px; }
section.warnings { background: var(--sun-soft); border-color: var(--sun); }
.warnings ul { margin: 0; padding-left: 20px; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px;
  margin-top: 20px; }
.facts div { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 12px 16px; }
.facts b { display: block; font-size: 24px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.facts span { color: var(--soft); font-size: 14px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px; }
th { color: var(--soft); font-weight: 500; text-align: right; white-space: nowrap; }
td { text-align: right; }
th, td { padding: 5px 0 5px 16px; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; overflow-wrap: anywhere; }
tbody tr:last-child td { border-bottom: 0; }
td.text, th.text { text-align: left; overflow-wrap: anywhere; min-width: 140px; }
svg.bars { display: inline-block; width: 120px; height: 36px; fill: var(--water); vertical-align: middle; }
svg.chart { display: block; fill: var(--ink); font-size: 12px; font-variant-numeric: tabular-nums; }
.chart .grid, .chart .axis { stroke: var(--line); }
.chart .diagonal { stroke: var(--soft); stroke-dasharray: 5 5; }
.chart polyline { fill: none; stroke: var(--water); stroke-width: 2; }
.chart polyline.lower-line { stroke: var(--sun); }
.chart circle, .chart .upper, .chart .right rect { fill: var(--water); }
.chart .lower, .chart .wrong rect { fill: var(--sun); }
.chart .ground { fill: var(--card); }
.chart .series polygon { opacity: 20%; }
.chart .series polyline { stroke: var(--colour); stroke-width: 1.5; }
.chart .series polygon, .chart .series rect, .chart .series circle { fill: var(--colour); }
.c0 { --colour: #0a7ca5; } .c1 { --colour: #c8641b; } .c2 { --colour: #2f8f4e; } .c3 { --colour: #a3458f; }
.c4 { --colour: #b0891a; } .c5 { --colour: #5b62c8; } .c6 { --colour: #c23b4e; } .c7 { --colour: #6b7a83; }
.chart .frame { fill: none; stroke: var(--line); }
.share { white-space: nowrap; }
meter { width: 90px; height: 12px; }
.samples { display: grid; grid-template-columns: repeat(auto-fill, minmax(120px, 1fr)); gap: 10px; }
.samples.texts { grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); }
figure { margin: 0; padding: 8px; border: 1px solid var(--line); border-radius: 8px; min-width: 0; }
figure img { display: block; min-width: 64px; max-width: 100%; margin: 0 auto 6px; }
figure.record { margin-top: 10px; }
.record p { color: var(--ink); }
.record img { display: inline-block; margin: 0 8px 6px 0; vertical-align: top; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 6px 0; font-size: 14px; }
dt { color: var(--soft); max-width: 180px; overflow-wrap: anywhere; }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
figcaption { font-size: 12px; color: var(--soft); overflow-wrap: anywhere; }
pre { margin: 0; overflow-x: auto; font: 13px/1.5 ui-monospace, Menlo, "DejaVu Sans Mono", monospace; }
@media (max-width: 720px) { main { padding: 20px 12px 40px; } section { padding: 14px; } }
)css";

}  // namespace headrace
