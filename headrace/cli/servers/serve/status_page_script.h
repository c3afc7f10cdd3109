#pragma once

/// \file The script of StatusPage's document: plain JavaScript that sends requests to this server only.

#include <string_view>

namespace headrace {

inline constexpr std::string_view kStatusPageScript = R"js(
'use strict';

const kEachMs = 2000;          // between two looks at the state
const kWindowMs = 60000;       // that rates and latencies are of
const kStatePatienceMs = 10000;
const kAnswerPatienceMs = 120000;
const kShownCharacters = 100000;

const place = (id) => document.getElementById(id);

// Children that are strings become text, never HTML.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

let token = '';

async function request(path, patienceMs, options = {}) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const signal = AbortSignal.timeout(patienceMs);
  return fetch(path, { ...options, headers, signal, cache: 'no-store', redirect: 'error' });
}

// The document of an answer; an Error with the server's reason, and its status, otherwise.
async function read(path) {
  const answer = await request(path, kStatePatienceMs);
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  let reason = text;
  try { reason = JSON.parse(text).error; } catch { /* it is no JSON */ }
  throw Object.assign(new Error(reason), { status: answer.status });
}

// ---- numbers

function rounded(value) {
  if (value === 0) return '0';
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

function duration(seconds) {
  if (seconds < 1e-3) return `${rounded(seconds * 1e6)} µs`;
  return seconds < 1 ? `${rounded(seconds * 1e3)} ms` : `${rounded(seconds)} s`;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const requestsOf = (model) => sum(Object.values(model.statuses));
const errorsOf = (model) =>
  sum(Object.entries(model.statuses).map(([status, count]) => (status >= 400 ? count : 0)));
const batchesOf = (model) => sum(Object.values(model.batches).map((each) => each.batches));
const rowsOf = (model) => sum(Object.values(model.batches).map((each) => each.rows));

// The value below which this share of the counts lies; linear within a bucket. None without counts.
function quantile(counts, ends, share) {
  const wanted = sum(counts) * share;
  let before = 0;
  for (let i = 0; i < counts.length && wanted > 0; ++i) {
    if (counts[i] > 0 && before + counts[i] >= wanted) {
      const low = i > 0 ? ends[i - 1] : 0;
      return low + ((ends[i] ?? low) - low) * (wanted - before) / counts[i];
    }
    before += counts[i];
  }
  return undefined;
}

// ---- what was seen in the last minute, oldest first: { at, models: Map, ends }

let seen = [];

function remember(state) {
  const look = { at: performance.now(), ends: state.latency_ends_s,
    models: new Map(state.models.map((model) => [model.name, model])) };
  const last = seen.at(-1);
  const hasRestarted = last && [...look.models.values()].some((model) =>
    last.models.has(model.name) && requestsOf(model) < requestsOf(last.models.get(model.name)));
  if (hasRestarted) seen = [];
  seen.push(look);
  while (seen.length > 2 && look.at - seen[1].at >= kWindowMs) seen.shift();
}

// What happened to a model since the first look; none before the second.
function change(name) {
  const [first, last] = [seen.find((look) => look.models.has(name)), seen.at(-1)];
  if (!first || first === last) return undefined;
  const [before, now] = [first.models.get(name), last.models.get(name)];
  const [batches, rows] = [batchesOf(now) - batchesOf(before), rowsOf(now) - rowsOf(before)];
  return {
    seconds: (last.at - first.at) / 1000,
    requests: requestsOf(now) - requestsOf(before),
    errors: errorsOf(now) - errorsOf(before),
    rowsPerBatch: batches > 0 && rows >= 0 ? rows / batches : undefined,  // fewer: a version has gone
    latencies: now.latencies.map((count, i) => count - (before.latencies[i] ?? 0)),
  };
}

function rates(name) {
  const out = [];
  for (let i = 1; i < seen.length; ++i) {
    const [before, now] = [seen[i - 1], seen[i]].map((look) => look.models.get(name));
    if (before && now)
      out.push((requestsOf(now) - requestsOf(before)) * 1000 / (seen[i].at - seen[i - 1].at));
  }
  return out;
}

// ---- the models

function drawing(values) {
  const svg = (name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const most = Math.max(...values, 1);
  const looks = kWindowMs / kEachMs;
  const points = values.slice(-looks).map((value, i, all) =>
    `${100 * (looks - all.length + i) / (looks - 1)},${38 - 36 * value / most}`);
  const out = svg('svg', { class: 'spark', viewBox: '0 0 100 40', preserveAspectRatio: 'none', role: 'img',
    'aria-label': `requests per second in the last minute, at most ${rounded(Math.max(...values, 0))}` });
  out.append(svg('line', { x1: 0, x2: 100, y1: 39, y2: 39 }));
  out.append(svg('polyline', { points: points.join(' ') }));
  return out;
}

function fact(number, what) {
  return element('div', {}, element('b', { textContent: number }), element('span', { textContent: what }));
}

function traffic(model) {
  const recent = change(model.name);
  const or = (value, write) => (value === undefined ? '–' : write(value));
  const time = (share) => or(recent && quantile(recent.latencies, seen.at(-1).ends, share), duration);
  const waiting = sum(Object.values(model.batches).map((each) => each.waiting_rows));
  return element('div', { className: 'facts' },
    fact(or(recent, (of) => rounded(of.requests / of.seconds)), 'requests/s'),
    fact(time(0.5), 'median'),
    fact(time(0.99), 'p99'),
    fact(or(recent, (of) => rounded(of.errors)), 'errors'),
    fact(or(recent?.rowsPerBatch, rounded), 'rows/batch'),
    fact(rounded(waiting), 'rows waiting'));
}

function versionRow(model, version) {
  const labels = Object.entries(model.labels).filter(([, number]) => number === version.number);
  const counts = model.batches[version.number];
  return element('tr', {},
    element('td', { textContent: version.number }),
    element('td', {}, element('span', { className: `state ${version.state}`, textContent: version.state })),
    element('td', { textContent: labels.map(([label]) => label).join(', ') || '–' }),
    element('td', { textContent: counts ? rounded(counts.rows) : '–' }),
    element('td', { textContent: counts?.batches ? rounded(counts.rows / counts.batches) : '–' }));
}

function versionTable(model) {
  const names = ['version', 'state', 'labels', 'rows', 'rows/batch'];
  const heads = names.map((name) => element('th', { textContent: name, scope: 'col' }));
  const heading = element('tr', {}, ...heads);
  const rows = model.versions.map((version) => versionRow(model, version));
  const table = element('table', {}, element('thead', {}, heading), element('tbody', {}, ...rows));
  return element('div', { className: 'scroll' }, table);
}

function totals(model) {
  const refused = Object.entries(model.statuses).filter(([status]) => status >= 400);
  const details = refused.map(([status, count]) => `${rounded(count)} with status ${status}`);
  if (requestsOf(model) === 0) return 'No request has come yet.';
  return `Requests since the start: ${rounded(requestsOf(model))}; errors: ${details.join(', ') || 'none'}. `
    + 'The numbers are those of the last minute; times are estimated from a histogram.';
}

function card(model) {
  const out = element('section', {}, element('h2', { textContent: model.name }));
  out.append(element('p', { textContent: totals(model) }), traffic(model));
  const lately = rates(model.name);
  if (lately.length > 1 && lately.some((rate) => rate > 0)) out.append(drawing(lately));
  if (model.versions.length) out.append(versionTable(model));
  else out.append(element('p', { textContent: 'No version was found yet: the server goes on looking.' }));
  if (model.versions.some((version) => version.state === 'failed'))
    out.append(element('p', { textContent: 'A version could not be loaded: the server\'s log and /models on '
      + 'its admin port say why. The server will try again.' }));
  return out;
}

function show(state) {
  const cards = state.models.map(card);
  if (!cards.length) {
    const reason = token ? 'The token is for no model that is served.' : 'No model is served.';
    cards.push(element('section', {}, element('p', { textContent: reason })));
  }
  place('models').replaceChildren(...cards);
  place('models').classList.remove('old');
}
)js"
                                                      R"js(
// ---- the form

let offered = new Map();  // models that have a ready version
let offeredKey = '';      // what the form's signatures were read for
let signatures = [];
let reading = 0;          // the last reading of signatures

const readyNumbers = (model) =>
  model.versions.filter((version) => version.state === 'ready').map((version) => version.number);

function choice(model) {
  const ready = readyNumbers(model);
  return ready.includes(model.labels.latest) ? model.labels.latest : Math.max(...ready);
}

// Changes nothing while the options are the same: somebody may be choosing.
function offer(select, options) {
  const same = JSON.stringify([...select.options].map((each) => [each.value, each.textContent]))
    === JSON.stringify(options);
  if (same) return;
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, textContent]) => element('option', { value, textContent })));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

async function offerModels(models) {
  offered = new Map(models.filter((model) => readyNumbers(model).length).map((model) => [model.name, model]));
  place('trial').hidden = place('to-trial').hidden = models.length === 0;
  offer(place('model'), [...offered.keys()].map((name) => [name, name]));
  const model = offered.get(place('model').value);
  place('ask').disabled = !model || isAsking;
  if (!model) {
    offeredKey = '';
    signatures = [];
    for (const id of ['version', 'signature']) place(id).replaceChildren();
    place('trial-note').textContent = 'No version is ready. This form can be used once one is.';
    return;
  }
  const numbers = readyNumbers(model).map(String);
  offer(place('version'), [['', `the server's choice (${choice(model)})`],
    ...numbers.map((number) => [number, number])]);
  const number = place('version').value || String(choice(model));
  const key = JSON.stringify([model.name, number, numbers]);
  if (key !== offeredKey) await readSignatures(key, model.name, number);
}

async function readSignatures(key, name, number) {
  offeredKey = key;
  const turn = ++reading;
  try {
    const found = await read(`page/signatures/${encodeURIComponent(name)}/${number}`);
    if (turn !== reading) return;
    signatures = found.signatures;
    offer(place('signature'), signatures.map((each) => [each.name, each.name]));
    place('trial-note').textContent = '';
    if (signatures.some((each) => each.name === 'serving_default') && !place('signature').dataset.chosen)
      place('signature').value = 'serving_default';
    showFields();
  } catch (error) {
    if (turn !== reading) return;
    offeredKey = '';
    place('trial-note').textContent = `The signatures could not be read: ${error.message}`;
  }
}

const signature = () => signatures.find((each) => each.name === place('signature').value);

function field(id, name, note, input) {
  const label = element('label', { htmlFor: id }, name, ' ', element('small', { textContent: note }));
  return [label, Object.assign(input, { id })];
}

function columnField(column, i) {
  const note = [column.is_image ? 'an image' : '', column.is_needed ? '' : 'may be left out'];
  const input = column.is_image
    ? element('input', { type: 'file', accept: 'image/*', required: column.is_needed })
    : element('textarea', { rows: 1 });
  return field(`column-${i}`, column.name, note.filter(Boolean).join(', '), input);
}

const nameOf = (of) => (of.name === 'serving_default' ? {} : { signature_name: of.name });

const tensorNote = (tensors) =>
  tensors.map((each) => `${each.name}: ${each.type} ${each.shape}`).join(', ');

function bodyField(of) {
  const content = of.verb === 'predict' ? { inputs: of.example ?? {} } : { examples: [{ feature: 0.5 }] };
  const body = { ...nameOf(of), ...content };
  const lines = indented(JSON.stringify(body));
  const rows = Math.min(16, lines.split('\n').length + 1);
  const note = of.verb === 'predict' ? `inputs ${tensorNote(of.inputs)}`
    : 'tf.Examples: objects from the names of the model\'s features to their values';
  return field('body', 'Request', note,
    element('textarea', { value: lines, rows, className: 'json', spellcheck: false }));
}

// Fields stay, with what was typed, while the signature is the same: perhaps of another version.
function showFields() {
  const of = signature();
  if (JSON.stringify(of) === place('fields').dataset.signature) return;
  place('fields').dataset.signature = JSON.stringify(of);
  if (!of) return place('fields').replaceChildren();
  const fields = of.columns.length ? of.columns.flatMap(columnField) : bodyField(of);
  const isTooLarge = !of.columns.length && !of.example;
  const note = element('p', { textContent: `It answers with ${tensorNote(of.outputs)}.`
    + (isTooLarge ? ' Its inputs are too large for this form, or of a type that JSON cannot carry.' : '') });
  place('fields').replaceChildren(...fields, note);
}

// JSON with line ends, as it was written otherwise: numbers keep all their digits, and NaN is passed on.
function indented(text) {
  const pieces = text.match(/"(?:[^"\\]|\\.)*"|\[[^[\]{}"]*\]|[[\]{},:]|[^[\]{},:"\s]+/g) ?? [];
  let out = '';
  let depth = 0;
  const line = () => '\n' + '  '.repeat(depth);
  for (const [i, piece] of pieces.entries()) {
    if (piece === '{' || piece === '[') {
      ++depth;
      out += piece + (/[\]}]/.test(pieces[i + 1]) ? '' : line());
    } else if (piece === '}' || piece === ']') {
      --depth;
      out += (/^[[{]$/.test(pieces[i - 1]) ? '' : line()) + piece;
    } else if (piece === ',') {
      out += piece + line();
    } else {
      out += piece === ':' ? ': ' : piece;
    }
  }
  return out;
}

// ---- a request

let isAsking = false;

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}

// The body, and the files whose content is in it, by that content.
async function composed(of) {
  if (!of.columns.length) return { body: place('body').value, files: [] };
  const row = {};
  const files = [];
  for (const [i, column] of of.columns.entries()) {
    const input = place(`column-${i}`);
    if (!column.is_image) {
      if (input.value !== '' || column.is_needed) row[column.name] = input.value;
    } else if (input.files.length) {
      const content = await base64(input.files[0]);
      files.push({ name: input.files[0].name, content });
      row[column.name] = { b64: content };
    }
  }
  return { body: JSON.stringify({ ...nameOf(of), instances: [row] }), files };
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

// With files the shell reads them: a command line would be too long for their content.
function command(url, { body, files }) {
  const words = ['curl', ...(token ? ["-H 'Authorization: Bearer TOKEN'"] : [])];
  if (!files.length) return [...words, '-d', quoted(body), quoted(url)].join(' ');
  let text = body.replaceAll(/[\\$`]/g, '\\$&');
  for (const file of files)
    text = text.replace(`"${file.content}"`, () => `"$(base64 -w 0 -- ${quoted(file.name)})"`);
  return `${[...words, '--data-binary @-', quoted(url)].join(' ')} <<END\n${text}\nEND`;
}

function showAnswer(status, text, isRefused) {
  place('answer').hidden = false;
  place('answer').classList.toggle('refused', isRefused);
  place('answer-status').textContent = status;
  const shown = /^\s*[{[]/.test(text) ? indented(text) : text;
  const more = shown.length - kShownCharacters;
  place('answer').querySelector('pre').textContent = shown.slice(0, kShownCharacters)
    + (more > 0 ? `\n… and ${more} characters more` : '');
}

async function askModel() {
  const number = place('version').value;
  const version = number ? `/versions/${number}` : '';
  const path = `v1/models/${encodeURIComponent(place('model').value)}${version}:${signature().verb}`;
  const start = performance.now();
  try {
    const sent = await composed(signature());
    place('command').textContent = command(new URL(path, document.baseURI).href, sent);
    place('as-command').hidden = false;
    const answer = await request(path, kAnswerPatienceMs, { method: 'POST', body: sent.body });
    const text = await answer.text();
    const took = duration((performance.now() - start) / 1000);
    const outcome = answer.ok ? 'Answer' : `Refused with status ${answer.status}`;
    showAnswer(`${outcome}, after ${took}`, text, !answer.ok);
  } catch (error) {
    showAnswer('No answer', error.message, true);
  }
}

// ---- looking again

let timer;

function showEntrance(error) {
  place('entrance').hidden = false;
  place('token-reason').textContent = token ? `The server refuses the token: ${error.message}`
    : 'This server asks for a token.';
  place('connection').textContent = 'A token is needed';
  place('models').replaceChildren();
  place('trial').hidden = place('to-trial').hidden = true;
  seen = [];
}

async function look() {
  clearTimeout(timer);
  if (!document.hidden) {
    try {
      const state = await read('page/state');
      remember(state);
      show(state);
      place('entrance').hidden = true;
      place('connection').textContent = 'Live: looks again every 2 seconds';
      await offerModels(state.models);
    } catch (error) {
      if (error.status === 401 || error.status === 403) return showEntrance(error);
      place('connection').textContent = 'The server does not answer; trying again …';
      place('models').classList.add('old');
    }
  }
  clearTimeout(timer);
  timer = setTimeout(look, kEachMs);
}

const refresh = () => offerModels(seen.length ? [...seen.at(-1).models.values()] : []);
place('model').addEventListener('change', refresh);
place('version').addEventListener('change', refresh);
place('signature').addEventListener('change', () => {
  place('signature').dataset.chosen = 'yes';
  showFields();
});
place('trial-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (isAsking || !signature()) return;
  isAsking = place('ask').disabled = true;
  await askModel();
  isAsking = place('ask').disabled = false;
});
place('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  token = place('token').value.trim();
  place('token').value = '';
  look();
});
place('copy').hidden = !navigator.clipboard;
place('copy').addEventListener('click', () => navigator.clipboard.writeText(place('command').textContent));
document.addEventListener('visibilitychange', look);
look();
)js";

}  // namespace headrace
