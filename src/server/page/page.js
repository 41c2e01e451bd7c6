'use strict';
// A chat with this server. What the model writes reaches the document as text nodes only.

const $ = (id) => document.getElementById(id);
const messages = [];
let running = null;  // the AbortController of the answer that is being made
let pendingCalls = [];  // tool calls of the last answer with the boxes their results go into

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// --- settings: kept in this browser, the key for this tab only ----------------------------------

const kept = ['temperature', 'top_p', 'top_k', 'min_p', 'max_tokens', 'seed', 'draft_tokens', 'thinking', 'system', 'tools',
  'theme', 'shade'];

function storage(kind) {
  try { return window[kind]; } catch { return null; }
}

function loadSettings() {
  let values = {};
  try { values = JSON.parse(storage('localStorage')?.getItem('spindrift') ?? '{}'); } catch { /* none kept */ }
  for (const id of kept) {
    if (!(id in values)) continue;
    if ($(id).type === 'checkbox') $(id).checked = Boolean(values[id]);
    else $(id).value = String(values[id]);
  }
  $('key').value = storage('sessionStorage')?.getItem('spindrift-key') ?? '';
  applyLook();
}

function saveSettings() {
  const values = {};
  for (const id of kept) values[id] = $(id).type === 'checkbox' ? $(id).checked : $(id).value;
  storage('localStorage')?.setItem('spindrift', JSON.stringify(values));
  storage('sessionStorage')?.setItem('spindrift-key', $('key').value);
  applyLook();
}

function applyLook() {
  if ($('theme').value) document.documentElement.dataset.theme = $('theme').value;
  else delete document.documentElement.dataset.theme;
  $('talk').classList.toggle('shaded', $('shade').checked);
}

function headers() {
  const out = {'Content-Type': 'application/json'};
  if ($('key').value) out.Authorization = 'Bearer ' + $('key').value;
  return out;
}

function request() {
  const body = {stream: true, stream_options: {include_usage: true}, return_token_ids: true, messages: [...messages]};
  if ($('system').value.trim()) body.messages.unshift({role: 'system', content: $('system').value});
  for (const id of ['temperature', 'top_p', 'top_k', 'min_p', 'max_tokens', 'seed', 'draft_tokens'])
    if ($(id).value !== '') body[id] = Number($(id).value);
  if ($('thinking').value) body.chat_template_kwargs = {enable_thinking: $('thinking').value === 'on'};
  if ($('tools').value.trim()) body.tools = JSON.parse($('tools').value);
  return body;
}

// --- the conversation on the page ----------------------------------------------------------------

function nearEnd() {
  const talk = $('talk');
  return talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;
}

function addTurn(role, title) {
  const turn = element('article', 'turn ' + role);
  turn.append(element('h2', '', title));
  $('talk').append(turn);
  turn.scrollIntoView({block: 'end'});
  return turn;
}

// Text in runs of drafted and not drafted: a run grows while its kind lasts.
class Runs {
  constructor(parent) { this.parent = parent; }
  add(text, drafted) {
    if (!this.last || this.drafted !== drafted) {
      this.last = element('span', drafted ? 'drafted' : '', '');
      this.last.append(document.createTextNode(''));
      this.drafted = drafted;
      this.parent.append(this.last);
    }
    this.last.firstChild.appendData(text);
  }
}

// One answer as it arrives.
class Answer {
  constructor() {
    this.turn = addTurn('assistant', 'Model');
    this.message = {role: 'assistant', content: ''};
    this.tokens = 0;
    this.draftedTokens = 0;
    this.calls = [];
  }
  content(text, drafted) {
    if (!this.contentRuns) {
      const box = element('div', 'text');
      this.turn.append(box);
      this.contentRuns = new Runs(box);
    }
    this.message.content += text;
    this.contentRuns.add(text, drafted);
  }
  reasoning(text, drafted) {
    if (!this.reasoningRuns) {
      const fold = element('details', 'thinking');
      fold.append(element('summary', '', 'Thinking'));
      const box = element('div', 'text');
      fold.append(box);
      this.turn.append(fold);
      this.reasoningRuns = new Runs(box);
      this.message.reasoning_content = '';
    }
    this.message.reasoning_content += text;
    this.reasoningRuns.add(text, drafted);
  }
  call(delta) {
    let call = this.calls[delta.index];
    if (!call) {
      const box = element('section', 'call');
      box.setAttribute('aria-label', 'Tool call');
      call = {box, name: element('div', 'name', ''), args: element('div', 'text', ''),
        json: {id: delta.id, type: 'function', function: {name: '', arguments: ''}}};
      box.append(call.name, call.args);
      this.turn.append(box);
      this.calls[delta.index] = call;
    }
    call.json.function.name += delta.function?.name ?? '';
    call.json.function.arguments += delta.function?.arguments ?? '';
    call.name.textContent = call.json.function.name;
    call.args.textContent = call.json.function.arguments;
  }
  take(choice) {
    const delta = choice.delta ?? {};
    const ids = choice.token_ids?.length ?? 0;
    this.tokens += ids;
    if (delta.drafted) this.draftedTokens += ids;
    const follow = nearEnd();
    if (delta.reasoning_content) this.reasoning(delta.reasoning_content, delta.drafted === true);
    if (delta.content) this.content(delta.content, delta.drafted === true);
    for (const call of delta.tool_calls ?? []) this.call(call);
    if (follow) $('talk').scrollTop = $('talk').scrollHeight;
  }
  finish() {
    if (this.calls.length) {
      this.message.tool_calls = this.calls.map((call) => call.json);
      for (const call of this.calls) {
        const label = element('label', 'wide', 'Result of ' + call.json.function.name);
        call.result = element('textarea');
        call.result.rows = 2;
        label.append(call.result);
        call.box.append(label);
      }
      pendingCalls = this.calls;
    }
    if (this.message.content || this.calls.length || this.message.reasoning_content) messages.push(this.message);
  }
  fail(text) {
    const box = element('div', 'error', text);
    box.setAttribute('role', 'alert');
    this.turn.append(box);
  }
}

// --- figures -------------------------------------------------------------------------------------

function counted(count, noun) { return count + ' ' + noun + (count === 1 ? '' : 's'); }
function percent(part, whole) { return whole ? Math.round(100 * part / whole) + ' %' : '0 %'; }

function showFigures(answer, started, first, usage) {
  const now = performance.now();
  const parts = [counted(answer.tokens, 'token')];
  if (first) {
    const seconds = (now - first) / 1000;
    if (answer.tokens > 1 && seconds > 0) parts.push(((answer.tokens - 1) / seconds).toFixed(1) + ' tokens/s');
    parts.push('first after ' + ((first - started) / 1000).toFixed(2) + ' s');
  }
  const draft = usage?.draft;
  if (draft) {
    parts.push(draft.accepted + ' of ' + counted(draft.drafted, 'draft token') + ' accepted (' + percent(draft.accepted, draft.drafted) + ')');
    parts.push(draft.tokens_per_round.toFixed(2) + ' tokens a round');
  } else if (answer.draftedTokens) {
    parts.push(percent(answer.draftedTokens, answer.tokens) + ' of them from the draft');
  }
  $('figures').textContent = parts.join(' · ');
}

// --- talking to the server -----------------------------------------------------------------------

// The JSON values of a stream of server-sent events.
async function* events(reader) {
  const decoder = new TextDecoder();
  let held = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    held += decoder.decode(value, {stream: true});
    let end;
    while ((end = held.indexOf('\n\n')) >= 0) {
      const line = held.slice(0, end);
      held = held.slice(end + 2);
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      yield JSON.parse(line.slice(6));
    }
  }
}

async function send() {
  if (running) return;
  const text = $('ask').value;
  const results = pendingCalls.filter((call) => call.result.value);
  if (!text.trim() && !results.length) return;
  for (const call of results) {
    messages.push({role: 'tool', tool_call_id: call.json.id, content: call.result.value});
    addTurn('tool', 'Result of ' + call.json.function.name).append(element('div', 'text', call.result.value));
  }
  pendingCalls = [];
  if (text.trim()) {
    messages.push({role: 'user', content: text});
    addTurn('user', 'You').append(element('div', 'text', text));
  }
  $('ask').value = '';
  await answerNow();
}

async function answerNow() {
  const answer = new Answer();
  running = new AbortController();
  $('send').disabled = true;
  $('stop').disabled = false;
  $('status').textContent = 'Answering';
  $('talk').setAttribute('aria-busy', 'true');
  const started = performance.now();
  let first = 0;
  let usage = null;
  try {
    const reply = await fetch('v1/chat/completions',
      {method: 'POST', headers: headers(), body: JSON.stringify(request()), signal: running.signal});
    if (!reply.ok) throw new Error((await reply.json()).error?.message ?? 'the server said ' + reply.status);
    for await (const event of events(reply.body.getReader())) {
      if (event.error) throw new Error(event.error.message);
      if (event.usage) usage = event.usage;
      for (const choice of event.choices ?? []) {
        if (!first && choice.token_ids?.length) first = performance.now();
        answer.take(choice);
      }
      showFigures(answer, started, first, usage);
    }
    $('status').textContent = 'Answer complete, ' + counted(answer.tokens, 'token');
  } catch (error) {
    const stopped = error.name === 'AbortError';
    if (!stopped) answer.fail(error.message);
    $('status').textContent = stopped ? 'Stopped' : 'The answer failed';
  }
  answer.finish();
  running = null;
  $('send').disabled = false;
  $('stop').disabled = true;
  $('talk').removeAttribute('aria-busy');
  $('ask').focus();
}

async function showModel() {
  try {
    const reply = await fetch('v1/models', {headers: headers()});
    const models = (await reply.json()).data;
    $('model').textContent = models ? models[0].id + ', context ' + models[0].max_model_len : 'not ready';
  } catch {
    $('model').textContent = 'no connection';
  }
}

// --- wiring --------------------------------------------------------------------------------------

function start() {
  loadSettings();
  $('settings').addEventListener('change', saveSettings);
  $('settings').addEventListener('submit', (event) => event.preventDefault());
  $('key').addEventListener('change', showModel);
  $('settings-button').addEventListener('click', () => {
    $('settings').hidden = !$('settings').hidden;
    $('settings-button').setAttribute('aria-expanded', String(!$('settings').hidden));
  });
  $('composer').addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  $('ask').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  $('stop').addEventListener('click', () => running?.abort());
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') running?.abort();
  });
  $('fresh').addEventListener('click', () => {
    running?.abort();
    messages.length = 0;
    pendingCalls = [];
    $('talk').replaceChildren();
    $('figures').textContent = '';
    $('status').textContent = 'New conversation';
    $('ask').focus();
  });
  showModel();
}

start();
