#pragma once

/// \file The document of StatusPage: its head, style and body. The style of pages (page_style.h) comes before
/// this one. The script adds everything that comes from a model or a request as text, never as HTML.

#include <string_view>

#include "headrace/cli/servers/serve/status_page_script.h"

namespace headrace {

inline constexpr std::string_view kStatusPageHead = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Served models</title>
<link rel="icon" href="data:,">
)html";

inline constexpr std::string_view kStatusPageStyle = R"css(
header { display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: baseline;
  justify-content: space-between; }
header p { margin: 0; }
a { color: var(--water); margin-right: 16px; }
[hidden] { display: none !important; }
#models h2 { margin-bottom: 2px; }
#models .facts { grid-template-columns: repeat(auto-fit, minmax(92px, 1fr)); margin: 14px 0; }
#models .facts div { background: var(--ground); padding: 10px 12px; }
#models .facts b { font-size: 20px; }
#models.old .facts b { color: var(--soft); }
.spark { display: block; width: 100%; height: 40px; margin-bottom: 12px; }
.spark polyline { fill: none; stroke: var(--water); stroke-width: 2; vector-effect: non-scaling-stroke; }
.spark line { stroke: var(--line); vector-effect: non-scaling-stroke; }
.state::before { content: "●"; margin-right: 6px; color: var(--soft); }
.state.ready::before { color: var(--water); }
.state.failed::before { color: var(--sun); }
td:nth-child(2), th:nth-child(2), td:nth-child(3), th:nth-child(3) { text-align: left; }
.problem { background: var(--sun-soft); border-color: var(--sun); }
.problem p { color: var(--ink); }
form label { display: block; margin: 12px 0 4px; font-size: 14px; font-weight: 600; overflow-wrap: anywhere; }
form label small { font-weight: 400; color: var(--soft); }
.choices { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 0 16px; }
input, select, textarea, button { font: inherit; color: var(--ink); background: var(--ground);
  border: 1px solid var(--line); border-radius: 8px; padding: 8px 10px; max-width: 100%; }
select, textarea, input { width: 100%; }
textarea { display: block; resize: vertical; min-height: 44px; }
textarea.json, #answer pre, #command { font: 13px/1.5 ui-monospace, Menlo, "DejaVu Sans Mono", monospace; }
button { cursor: pointer; min-height: 44px; }
button[type="submit"] { background: var(--water); border-color: var(--water); color: var(--card);
  font-weight: 600; padding: 8px 24px; margin-top: 16px; }
button:disabled { opacity: 0.6; cursor: default; }
:focus-visible { outline: 3px solid var(--water); outline-offset: 2px; }
#answer pre, #command { background: var(--ground); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px; max-height: 420px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
#answer.refused pre { border-color: var(--sun); }
.beside { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; justify-content: space-between; }
.beside h3 { margin-bottom: 6px; }
)css";

inline constexpr std::string_view kStatusPageBody = R"html(<main>
<header><h1>Served models</h1>
<p><a href="#trial" id="to-trial" hidden>Try a model</a>
<span id="connection" role="status">Asking the server …</span></p>
</header>
<noscript><section class="problem"><p>This page needs JavaScript.</p></section></noscript>
<section id="entrance" class="problem" hidden>
<form id="token-form">
<p id="token-reason"></p>
<label for="token">Token <small>(it stays in this page, until the page is closed)</small></label>
<input id="token" type="password" autocomplete="off" required>
<button type="submit">Use the token</button>
</form>
</section>
<div id="models"></div>
<section id="trial" hidden>
<h2>Try a model</h2>
<form id="trial-form">
<div class="choices">
<div><label for="model">Model</label><select id="model"></select></div>
<div><label for="version">Version</label><select id="version"></select></div>
<div><label for="signature">Signature</label><select id="signature"></select></div>
</div>
<p id="trial-note" role="status"></p>
<div id="fields"></div>
<button id="ask" type="submit">Ask the model</button>
</form>
<div id="answer" aria-live="polite" hidden><h3 id="answer-status"></h3><pre tabindex="0"></pre></div>
<div id="as-command" hidden>
<div class="beside"><h3>The same by curl</h3><button id="copy" type="button">Copy</button></div>
<pre id="command" tabindex="0"></pre>
</div>
</section>
</main>
)html";

}  // namespace headrace
