"use strict";
// The page shows the state that the session sends, and sends commands. It keeps no state of the session itself.

const token = takeToken();
const parts = Object.fromEntries(["title", "timer", "where", "banner", "content", "choices", "primary", "sheet"]
  .map((id) => [id, document.getElementById(id)]));
let state = null; // the newest from the session
let received = 0; // when it came [ms]
let heard = 0; // when the stream was last heard [ms]
let connected = false;
let refusal = "";
let form = null; // the judgement that is being filled in; of this page alone
let proposal = null; // the test instance that is being filled in; of this page alone
let overlay = 0.5; // opacity of the wanted scene over the camera's picture
const sending = new Map(); // id -> command that has no reply yet

function takeToken() {
  const given = location.hash.slice(1);
  if (given) {
    try { localStorage.setItem("token", given); } catch { /* private browsing: the link holds it */ }
    return given;
  }
  try { return localStorage.getItem("token") || ""; } catch { return ""; }
}

const headers = () => ({ Authorization: `Bearer ${token}` });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// -- connection ------------------------------------------------------------------------------------

async function follow() {
  for (;;) {
    const stopper = new AbortController();
    const watch = setInterval(() => { if (performance.now() - heard > 6000) stopper.abort(); }, 1000);
    heard = performance.now();
    try {
      const answer = await fetch("events", { headers: headers(), signal: stopper.signal, cache: "no-store" });
      if (answer.status === 401) { closed((await answer.json()).detail); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      await read(answer.body.getReader());
    } catch { /* connect again below */ }
    clearInterval(watch);
    connected = false;
    showBanner();
    await pause(500);
  }
}

async function read(reader) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard = performance.now();
    if (!connected) { connected = true; showBanner(); }
    text += decoder.decode(value, { stream: true });
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) if (event.startsWith("data: ")) take(JSON.parse(event.slice(6)));
  }
}

function closed(detail) {
  parts.title.textContent = "not open";
  parts.banner.hidden = false;
  parts.banner.className = "bad";
  parts.banner.textContent = detail;
}

// Each command has an id, so that one that is sent again after a lost connection is carried out once.
async function send(name, more = {}) {
  const id = crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random().toString(36).slice(2)}`;
  const command = { command: name, id, step: state.step, ...more };
  if (name === "stop" || name === "pause") delete command.step;
  sending.set(id, command);
  refusal = "";
  showBanner();
  lock(true);
  try {
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await fetch("command", {
          method: "POST", body: JSON.stringify(command),
          headers: { ...headers(), "Content-Type": "application/json" },
          signal: AbortSignal.timeout ? AbortSignal.timeout(8000) : undefined,
        });
        const reply = await answer.json();
        if (!reply.accepted) refusal = reply.detail;
        return reply.accepted;
      } catch { await pause(Math.min(300 * 2 ** tries, 3000)); }
    }
  } finally {
    sending.delete(id);
    lock(false);
    showBanner();
  }
}

function lock(on) {
  if (on) for (const button of parts.choices.querySelectorAll("button")) button.disabled = true;
  parts.primary.disabled = on && !parts.primary.classList.contains("halt");
  if (!on) render();
}

// -- what is shown ---------------------------------------------------------------------------------

function take(next) {
  const before = state;
  state = next;
  received = performance.now();
  if (!before || before.step !== state.step) { refusal = ""; form = proposal = null; if (parts.sheet.open) parts.sheet.close(); }
  render();
}

const TITLES = {
  waiting: "Wait", checklist: "Check the place", set_up: "Set up the scene", start: "Ready to start",
  running: "The robot moves", judge: "How did it go?", confirmed: "Confirmed", paused: "Paused",
  stopped: "The robot is stopped", finished: "The session has ended",
};

function render() {
  if (!state) return;
  document.body.dataset.phase = state.phase;
  document.body.dataset.step = state.step;
  const facts = state.session_state;
  parts.title.textContent = (state.practice ? "Practice · " : "") + TITLES[state.phase];
  const trial = state.trial ? `trial ${Number(state.trial) + 1}` : `${facts.done} done`;
  const of = facts.expected ? ` of about ${facts.expected}` : "";
  const limit = facts.limit === null ? "" : ` of ${facts.limit}`;
  const left = facts.time_left === null ? "" : ` · about ${Math.ceil(facts.time_left / 60)} min left`;
  parts.where.textContent =
    `${trial}${of} · ${facts.spent.toFixed(2)}${limit} ${facts.unit}${facts.void ? ` · ${facts.void} void` : ""}${left}`;
  showBanner();
  showTimer();
  if (sending.size) return;
  const show = { checklist: showChecklist, set_up: showSetUp, start: showStart, running: showRunning, judge: showJudge,
    confirmed: showConfirmed, paused: showPaused, stopped: showStopped, finished: showFinished, waiting: showWaiting };
  show[state.phase]();
}

function showBanner() {
  const lines = [];
  if (!connected) lines.push("No connection. The session goes on; the page connects again by itself.");
  if (sending.size && !connected) lines.push("Your last answer is sent when the connection is back.");
  if (refusal) lines.push(refusal);
  if (state) lines.push(...state.problems);
  parts.banner.hidden = lines.length === 0;
  parts.banner.className = connected ? "" : "bad";
  parts.banner.textContent = lines.join(" ");
}

function showTimer() {
  if (!state) return;
  const shown = ["running", "set_up"].includes(state.phase);
  parts.timer.hidden = !shown;
  if (!shown) return;
  const passed = state.elapsed + (performance.now() - received) / 1000;
  const share = state.limit ? passed / state.limit : 0;
  parts.timer.className = share >= 1 ? "red" : share >= 0.8 ? "amber" : "";
  parts.timer.textContent = state.limit ? `${Math.floor(passed)} / ${Math.round(state.limit)} s` : `${Math.floor(passed)} s`;
}
setInterval(showTimer, 250);

function put(...elements) { parts.content.replaceChildren(...elements.filter(Boolean)); }

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function setPrimary(words, act, kind = "") {
  parts.primary.hidden = !words;
  parts.primary.textContent = words || "";
  parts.primary.className = kind;
  parts.primary.disabled = false;
  parts.primary.onclick = act || null;
}

function setChoices(...choices) {
  const allowed = choices.filter((choice) => choice && state.allowed.includes(choice.command));
  parts.choices.replaceChildren(...allowed.map((choice) =>
    make("button", { onclick: choice.act, class: choice.kind || "", "data-command": choice.command }, choice.words)));
}

const PAUSE = { command: "pause", words: "Pause", act: () => send("pause") };
const STOP = { command: "stop", words: "STOP", kind: "halt", act: () => send("stop") };
const SKIP = { command: "skip", words: "Skip trial …",
  act: () => askReason("Leave this trial out?", ["cannot be set up", "an object is broken"], (reason) => send("skip", { reason })) };
const VOID = { command: "void", words: "Void, run again …",
  act: () => askReason("Void: run it again?", ["I touched the scene", "the robot had a fault", "it was set up wrong"],
    (reason) => send("void", { reason })) };
const CORRECT = { command: "correct", words: "Correct a judgement …", act: () => askCorrection() };
const END = { command: "end", words: "End session …",
  act: () => askYes("End the session? It can be resumed.", "End", () => send("end")) };

function showWaiting() {
  put(make("p", { class: "quiet" }, "The robot and the session prepare the next trial. Keep out of the robot's reach."));
  setPrimary("");
  setChoices(PAUSE, END, STOP);
}

function showChecklist() {
  const items = state.checklist.map((item) => make("li", {}, make("label", {},
    make("input", { type: "checkbox", checked: item.done,
      onchange: (event) => send("tick", { name: item.name, done: event.target.checked }) }), item.name)));
  put(make("ul", { class: "list" }, ...items));
  setPrimary("All checked", () => send("checked"));
  parts.primary.disabled = !state.checklist.every((item) => item.done);
  setChoices(END);
}

function showSetUp() {
  const set = state.set_up;
  const list = set.moves.map((move, index) => make("li", { "data-move": move.id }, make("label", {},
    make("input", { type: "checkbox", checked: move.done,
      onchange: (event) => send("tick", { name: move.id, done: event.target.checked }) }),
    make("span", {}, `${index + 1}. ${move.name}`), make("span", { class: "words" }, move.words))));
  const centimetres = (set.tolerance.position * 100).toFixed(1);
  const degrees = Math.round(set.tolerance.angle * 180 / Math.PI);
  put(
    // The banner says what is wrong with the camera as long as it is so.
    ...set.problems.filter((problem) => !state.problems.includes(problem)).map((problem) => make("p", { class: "problem" }, problem)),
    set.moves.length ? null : make("p", { class: "instruction" },
      set.doubts ? "The camera cannot tell. Does everything stand as on the map?" : "Do not reset. Nothing has to be moved."),
    drawMap(set),
    make("ul", { class: "list" }, ...list),
    set.moves.length ? make("p", { class: "quiet" }, `to within ${centimetres} cm and ${degrees}°`) : null,
    photos(),
  );
  const doubted = set.problems.length > 0;
  const right = { command: "ready", words: "It stands right", act: () => send("ready", { overrule: true }) };
  const again = { command: "ready", words: "Look again", act: () => send("ready") };
  const all = set.moves.length > 1 && !set.moves.every((move) => move.done);
  const tick = all ? { command: "tick", words: "Tick all", act: () => send("tick", { name: "", done: true }) } : null;
  if (doubted && set.doubts) setPrimary(right.words, right.act); else setPrimary("Ready", again.act);
  setChoices(tick, doubted ? (set.doubts ? again : right) : null, SKIP, CORRECT, PAUSE, END);
}

function showStart() {
  put(make("p", { class: "quiet" }, "The robot will be told"), make("p", { class: "instruction" }, state.instruction),
    make("p", {}, "Is everybody out of the robot's reach?"), photos());
  setPrimary("Start", () => send("start"));
  setChoices(VOID, SKIP, CORRECT, PAUSE, END);
}

function showRunning() {
  put(make("p", { class: "instruction" }, state.instruction), photos());
  setPrimary("STOP", () => send("stop"), "halt");
  setChoices({ command: "reached", words: "Goal reached", act: () => send("reached") }, PAUSE);
}

function showJudge() {
  const asked = state.judge;
  form ??= { success: asked.reached ? true : null, progress: 0, stage: "", tags: [], note: "", by: asked.by || remembered("by"), ...asked.draft };
  const outcome = (value, words) => make("button", { class: form.success === value ? "on" : "", "data-outcome": value,
    onclick: () => { form.success = value; showJudge(); } }, words);
  const steps = asked.subgoals > 1 ? Array.from({ length: asked.subgoals }, (_, k) => k / asked.subgoals) : [0, 0.25, 0.5, 0.75];
  const words = (value) => asked.subgoals > 1 ? `${Math.round(value * asked.subgoals)} of ${asked.subgoals}` : `${value * 100} %`;
  const chip = (value, label, on, act) => make("button", { class: on ? "on" : "", onclick: act, "data-value": value }, label);
  const failed = form.success === false;
  put(
    make("p", { class: "instruction" }, state.instruction),
    make("p", { class: "quiet" }, asked.ended),
    make("div", { class: "pair" }, outcome(true, "Success"), outcome(false, "Failure")),
    failed ? make("h2", {}, "How far did it come?") : null,
    failed ? make("div", { class: "chips", id: "progress" }, ...steps.map((value) =>
      chip(value, words(value), form.progress === value, () => { form.progress = value; showJudge(); }))) : null,
    failed ? make("h2", {}, "What went wrong first?") : null,
    failed ? make("div", { class: "chips", id: "stages" }, ...asked.stages.map((stage) =>
      chip(stage, stage, form.stage === stage, () => { form.stage = form.stage === stage ? "" : stage; showJudge(); }))) : null,
    make("h2", {}, "Tags"),
    make("div", { class: "chips", id: "tags" }, ...[...new Set([...form.tags, ...asked.tags])].map((tag) =>
      chip(tag, tag, form.tags.includes(tag), () => {
        form.tags = form.tags.includes(tag) ? form.tags.filter((other) => other !== tag) : [...form.tags, tag];
        showJudge();
      })), make("button", { onclick: () => askReason("New tag", [], (tag) => { form.tags = [...form.tags, tag.slice(0, 64)]; showJudge(); }) }, "+ tag")),
    make("h2", {}, "Note"),
    make("textarea", { rows: 2, maxLength: 500, value: form.note, id: "note", oninput: (event) => { form.note = event.target.value; } }),
    make("h2", {}, "Judged by"),
    make("input", { maxLength: 64, value: form.by, id: "by", autocomplete: "name",
      oninput: (event) => { form.by = event.target.value; remember("by", form.by); } }),
    photos(),
  );
  setPrimary("Confirm", () => send("judge", { ...form, success: form.success === true }));
  parts.primary.disabled = form.success === null;
  setChoices(VOID, STOP);
}

function showConfirmed() {
  const draft = state.judge.draft;
  put(make("p", { class: "instruction" }, draft.success ? "Success" : `Failure, ${Math.round(draft.progress * 100)} %`),
    make("p", { class: "quiet" }, [draft.stage, ...draft.tags, draft.note].filter(Boolean).join(" · ")));
  setPrimary("Next", () => send("next"));
  setChoices({ command: "undo", words: "Undo", act: () => send("undo") });
}

function showPaused() {
  if (state.recording?.map) { showRecording(state.recording); return; }
  const kept = state.recording?.kept ?? [];
  put(make("p", { class: "instruction" }, "The session waits, as long as you like."), make("p", { class: "quiet" }, state.detail),
    kept.length ? make("h2", {}, "Recorded test instances") : null,
    make("ul", { class: "list" }, ...kept.map((one) => make("li", {}, `${one.id}: ${one.instruction}`))));
  setPrimary("Go on", () => send("resume"));
  setChoices({ command: "survey", words: "New test instance …", act: () => send("survey") }, CORRECT, END);
}

// A test instance of the scene as it stands: what the robot is told, and where it drives, the way that somebody walked.
function showRecording(recording) {
  proposal ??= { instruction: recording.draft?.instruction ?? "", path: recording.map.path };
  const draft = recording.draft;
  const map = drawMap(recording.map);
  drawInstance(map, recording.map);
  if (recording.asks_path) map.addEventListener("click", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    if (!proposal.path.length && recording.map.robot) proposal.path.push(recording.map.robot);
    proposal.path.push([at.x, at.y]);
    proposal.changed = true;
    showPaused();
  });
  const words = make("textarea", { rows: 2, maxLength: 500, value: proposal.instruction, id: "instruction", placeholder: "what the robot is told",
    oninput: (event) => { proposal.instruction = event.target.value; proposal.changed = true; offer(); } });
  put(make("p", { class: "quiet" }, `The scene ${recording.source}.`), map,
    recording.asks_path ? make("p", { class: "quiet" }, "Tap the way that you walk, corner by corner.") : null,
    recording.asks_path ? make("button", { disabled: !proposal.path.length, id: "back",
      onclick: () => { proposal.path = proposal.path.length > 2 ? proposal.path.slice(0, -1) : []; proposal.changed = true; showPaused(); } }, "Take back the last corner") : null,
    words,
    draft ? make("p", { id: "understood" }, `Understood: ${draft.understood}`) : null);
  const check = () => {
    proposal.changed = false;
    send("propose", { instruction: proposal.instruction.trim(), path: proposal.path, by: remembered("by").slice(0, 64) });
  };
  // What was changed since it was checked is checked again before it can be kept.
  const offer = () => {
    if (draft && !proposal.changed) setPrimary("Keep", () => { proposal = null; send("keep"); }); else setPrimary("Check", check);
    parts.primary.disabled = !proposal.instruction.trim();
  };
  offer();
  setChoices({ command: "discard", words: "Close", act: () => { proposal = null; send("discard"); } });
}

function showStopped() {
  put(make("p", { class: "problem" }, state.stop),
    make("p", {}, "Look for the cause. Release the robot when nobody is within its reach."));
  setPrimary("Release …", () => askReason("Who releases the robot?", [remembered("by")].filter(Boolean), (by) => {
    remember("by", by);
    send("release", { by: by.slice(0, 64) });
  }));
  setChoices(END);
}

function showFinished() {
  put(make("p", { class: "instruction" }, "Thank you."), make("p", {}, state.detail), make("p", { class: "quiet" }, state.session));
  setPrimary("");
  setChoices();
}

const remembered = (key) => { try { return localStorage.getItem(key) || ""; } catch { return ""; } };
function remember(key, value) { try { localStorage.setItem(key, value); } catch { /* not kept */ } }

// -- questions of the page -------------------------------------------------------------------------

function askReason(words, offered, then) {
  const input = make("input", { maxLength: 500, placeholder: "in your words" });
  const done = (text) => { if (!text.trim()) return; parts.sheet.close(); then(text.trim()); };
  parts.sheet.replaceChildren(make("h2", {}, words),
    make("div", { class: "chips" }, ...offered.map((text) => make("button", { onclick: () => done(text) }, text))), input,
    make("div", { class: "pair" }, make("button", { onclick: () => parts.sheet.close() }, "Back"),
      make("button", { class: "on", onclick: () => done(input.value) }, "OK")));
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") done(input.value); });
  parts.sheet.showModal();
}

function askCorrection() {
  const right = { success: null, progress: 0 };
  const trials = make("select", { id: "trial" }, ...state.judgements.map((one) =>
    make("option", { value: one.trial }, `trial ${Number(one.trial) + 1}: ${one.words}`)));
  const by = make("input", { id: "corrector", maxLength: 64, placeholder: "your name", value: state.by || remembered("by") });
  const reason = make("input", { id: "reason", maxLength: 500, placeholder: "why" });
  const chosen = make("div", { class: "pair" });
  const share = make("select", { id: "share", hidden: true, onchange: (event) => { right.progress = Number(event.target.value); } },
    ...[0, 0.25, 0.5, 0.75].map((value) => make("option", { value }, `${value * 100} % of the way`)));
  const outcome = (value, words) => make("button", { class: right.success === value ? "on" : "", "data-right": value,
    onclick: () => { right.success = value; share.hidden = value; choose(); } }, words);
  const choose = () => chosen.replaceChildren(outcome(true, "Success"), outcome(false, "Failure"));
  const done = () => {
    if (right.success === null || !by.value.trim() || !reason.value.trim()) return;
    parts.sheet.close();
    remember("by", by.value.trim());
    send("correct", { trial: trials.value, ...right, by: by.value.trim(), reason: reason.value.trim() });
  };
  choose();
  parts.sheet.replaceChildren(make("h2", {}, "Which judgement was wrong, and what is right?"), trials, chosen, share, by, reason,
    make("div", { class: "pair" }, make("button", { onclick: () => parts.sheet.close() }, "Back"),
      make("button", { id: "correct", onclick: done }, "Correct")));
  parts.sheet.showModal();
}

function askYes(words, yes, then) {
  parts.sheet.replaceChildren(make("h2", {}, words), make("div", { class: "pair" },
    make("button", { onclick: () => parts.sheet.close() }, "Back"),
    make("button", { class: "on", onclick: () => { parts.sheet.close(); then(); } }, yes)));
  parts.sheet.showModal();
}

// -- pictures --------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
function draw(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

// The scene from above, in metres: what stays is grey, what is moved orange, where it goes green.
function drawMap(set) {
  const [left, top, width, height] = set.box;
  const unit = Math.max(width, height) / 100;
  const svg = draw("svg", { class: "map", viewBox: `${left} ${top} ${width} ${height}`, role: "img",
    "aria-label": "the scene from above, with the moves as arrows" });
  const polygon = (points, style) => svg.append(draw("polygon", { points: points.map((p) => p.join(",")).join(" "),
    "stroke-linejoin": "round", "stroke-width": unit * 0.4, ...style }));
  const label = (at, words, colour) => svg.append(draw("text", { x: at[0], y: at[1], "font-size": unit * 3.2, fill: colour,
    "text-anchor": "middle", "dominant-baseline": "central", "paint-order": "stroke", stroke: "white", "stroke-width": unit * 0.7 }, words));
  if (set.floor.length) polygon(set.floor, { fill: "white", stroke: "#8a8a8a" });
  for (const wall of set.walls) polygon(wall, { fill: "#8a8a8a", stroke: "none" });
  for (const item of set.objects) if (item.outline.length) polygon(item.outline, { fill: "#e3dccf", stroke: "#8a8a8a" });
  for (const move of set.moves) {
    const faint = move.done ? 0.35 : 1;
    if (move.from_outline?.length) polygon(move.from_outline, { fill: "#f7d9b8", stroke: "#d9730d", opacity: faint });
    if (move.to_outline?.length) polygon(move.to_outline, { fill: "none", stroke: "#1f6f43", "stroke-dasharray": unit, opacity: faint });
    if (move.from && move.to) arrow(svg, move.from, move.to, unit, faint);
  }
  for (const item of set.objects) label(item.at, item.name, "#6b6b6b");
  set.moves.forEach((move, index) => {
    if (move.from) label(move.from, `${index + 1} ${move.name}`, "#8a4300");
    if (move.to) label([move.to[0], move.to[1] + (move.from ? unit * 4 : 0)], move.from ? move.words : `${index + 1} ${move.name}`, "#1f6f43");
  });
  return svg;
}

// Beside what stands: the robot, where it has to be, and the way that was walked.
function drawInstance(svg, map) {
  const unit = Math.max(map.box[2], map.box[3]) / 100;
  const line = (tag, points, style) => svg.append(draw(tag, { points: points.map((p) => p.join(",")).join(" "), fill: "none",
    "stroke-width": unit * 0.6, ...style }));
  for (const region of map.regions) line("polygon", region, { stroke: "#1f6f43", "stroke-dasharray": unit });
  if (map.robot) svg.append(draw("circle", { cx: map.robot[0], cy: map.robot[1], r: unit * 1.6, fill: "#1b1b1b" }));
  if (proposal.path.length) line("polyline", proposal.path, { stroke: "#d9730d", "stroke-linejoin": "round" });
  for (const [x, y] of proposal.path) svg.append(draw("circle", { cx: x, cy: y, r: unit, fill: "#d9730d" }));
}

function arrow(svg, from, to, unit, opacity) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy);
  if (length < unit) return;
  const [ux, uy] = [dx / length, dy / length];
  const head = unit * 2.5;
  const end = [to[0] - ux * head, to[1] - uy * head];
  svg.append(draw("line", { x1: from[0], y1: from[1], x2: end[0], y2: end[1], stroke: "#d9730d", "stroke-width": unit * 0.7, opacity }));
  const tip = [to, [end[0] - uy * head / 2, end[1] + ux * head / 2], [end[0] + uy * head / 2, end[1] - ux * head / 2]];
  svg.append(draw("polygon", { points: tip.map((p) => p.join(",")).join(" "), fill: "#d9730d", opacity }));
}

// The camera's picture; while a scene is set up, with a picture of the wanted scene over it.
const live = make("img", { alt: "the camera now" });
const wanted = make("img", { alt: "the wanted scene", class: "over", hidden: true });
const photo = make("div", { class: "photo", hidden: true }, live, wanted);
const slider = make("input", { type: "range", min: 0, max: 1, step: 0.05, value: overlay, "aria-label": "how much of the wanted scene is shown",
  oninput: (event) => { overlay = Number(event.target.value); wanted.style.opacity = overlay; } });
const compare = make("div", { hidden: true }, make("div", { class: "quiet" }, "camera now ← → how it shall look"), slider);
let wantedStep = -1;

function photos() {
  const together = make("div", {}, photo, compare);
  return together;
}

async function picture(name) {
  const answer = await fetch(`${name}.jpg`, { headers: headers(), cache: "no-store" });
  return answer.ok ? URL.createObjectURL(await answer.blob()) : "";
}

function showPicture(image, url) {
  if (image.src.startsWith("blob:")) URL.revokeObjectURL(image.src);
  if (url) image.src = url; else image.removeAttribute("src");
}

async function refreshPictures() {
  for (;;) {
    try {
      if (state && connected && !document.hidden && ["set_up", "start", "running", "judge"].includes(state.phase)) {
        const url = await picture("camera");
        showPicture(live, url);
        if (state.phase === "set_up" && wantedStep !== state.step) {
          wantedStep = state.step;
          showPicture(wanted, await picture("target"));
          wanted.style.opacity = overlay;
        }
        const both = state.phase === "set_up" && Boolean(wanted.getAttribute("src"));
        photo.hidden = !url && !both;
        wanted.hidden = compare.hidden = !both;
      }
    } catch { /* the next one comes */ }
    await pause(state && state.phase === "running" ? 250 : 500);
  }
}

// -- keys: one for each step, for pedals and laptops -----------------------------------------------

document.addEventListener("keydown", (event) => {
  const writing = ["INPUT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "checkbox";
  if (writing || parts.sheet.open || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && state?.allowed.includes("stop")) { event.preventDefault(); send("stop"); return; }
  if (["Enter", "PageDown", " "].includes(event.key)) {
    event.preventDefault();
    if (!parts.primary.hidden && !parts.primary.disabled) parts.primary.click();
    return;
  }
  if (state?.phase === "judge" && form) {
    if (event.key === "s" || event.key === "1") { form.success = true; showJudge(); }
    if (event.key === "f" || event.key === "0") { form.success = false; showJudge(); }
  }
  if (state?.phase === "confirmed" && event.key === "u") send("undo");
});

addEventListener("hashchange", () => location.reload());
follow();
refreshPictures();
