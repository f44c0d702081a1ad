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
let rendered = ""; // what the content shows
let overlay = 0.5; // opacity of the wanted scene over the camera's picture
const sending = new Map(); // id -> command that has no reply yet
let CALM = 700; // how long the large button is dead when something else is asked: a second tap was for what was there before [ms]
let calmUntil = 0;

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

let stopper = null; // ends the stream that is open
let hiddenAt = 0; // when the page was hidden, on a clock that goes on while the phone sleeps [ms]
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hiddenAt = Date.now();
  else if (Date.now() - hiddenAt > 5000) stopper?.abort();
});

async function follow() {
  for (;;) {
    stopper = new AbortController();
    const mine = stopper;
    const watch = setInterval(() => { if (performance.now() - heard > 6000) mine.abort(); }, 1000);
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
    for (const event of events) {
      if (event.startsWith("data: ")) take(JSON.parse(event.slice(6)));
      else if (event.startsWith(": alive ")) setClock(Number(event.slice(8)));
    }
  }
}

// The clock of a phone that slept stood still.
function setClock(time) {
  if (!state) return;
  state.elapsed += time - state.now;
  state.now = time;
  received = performance.now();
}

function closed(detail) {
  parts.title.textContent = "not open";
  parts.banner.hidden = false;
  parts.banner.className = "bad";
  parts.banner.textContent = detail;
}

const MOVES = ["start", "release", "resume"]; // after these the robot may move
const RESEND_TIME = 5; // how long one of them is sent again [s]
const now = () => state.now + (performance.now() - received) / 1000; // on the console's clock, or earlier [s]

// Each command has an id, so that one that is sent again after a lost connection is carried out once.
async function send(name, more = {}) {
  const id = crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random().toString(36).slice(2)}`;
  const moves = MOVES.includes(name);
  const command = { command: name, id, step: state.step, ...(moves ? { at: now() } : {}), ...more };
  sending.set(id, command);
  refusal = "";
  render();
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
      } catch {
        if (moves && now() - command.at > RESEND_TIME) {
          refusal = "No answer came in time. Look whether the robot moves; else press again.";
          return false;
        }
        await pause(Math.min(300 * 2 ** tries, 3000));
      }
    }
  } finally {
    sending.delete(id);
    render();
  }
}

// While a command is on its way nothing else is offered, but STOP.
function lock() {
  for (const button of [...parts.choices.querySelectorAll("button"), parts.primary])
    if (!button.classList.contains("halt")) button.disabled = true;
}

// -- what is shown ---------------------------------------------------------------------------------

function take(next) {
  const before = state;
  state = next;
  received = performance.now();
  if (!before || before.step !== state.step) { refusal = ""; proposal = null; if (parts.sheet.open) parts.sheet.close(); }
  if (before?.asked !== state.asked) form = null;
  if (before && before.step !== state.step) { calm(); forgetWanted(); }
  render();
}

function calm() {
  calmUntil = performance.now() + CALM;
  keepCalm();
  setTimeout(keepCalm, CALM + 1);
}

// STOP is never dead.
const keepCalm = () => { parts.primary.inert = performance.now() < calmUntil && !parts.primary.classList.contains("halt"); };

const TITLES = {
  waiting: "Wait", checklist: "Check the place", set_up: "Set up", start: "Ready to start",
  running: "Running", judge: "How did it go?", confirmed: "Confirmed", paused: "Paused",
  stopped: "The robot is stopped", finished: "The session has ended",
};

function render() {
  if (!state) return;
  document.body.dataset.phase = state.phase;
  document.body.dataset.step = state.step;
  const facts = state.session_state;
  parts.title.textContent = (state.practice ? "Practice · " : "") + TITLES[state.phase];
  const of = facts.expected ? ` of ${facts.expected}` : "";
  const limit = facts.limit === null ? "" : ` of ${facts.limit}`;
  const left = facts.time_left === null ? "" : `${Math.ceil(facts.time_left / 60)} min left`;
  parts.where.textContent = [state.trial && `trial ${state.trial}`, facts.code && `run ${facts.code}`,
    `${facts.done}${of} done`, `${facts.spent.toFixed(2)}${limit} ${facts.unit}`, facts.void && `${facts.void} void`,
    left, facts.look && `interim look: ${facts.look}`].filter(Boolean).join(" · ");
  showBanner();
  showTimer();
  // What did not change is left alone: a new field would lose what is being typed.
  const problems = state.phase === "set_up" ? state.problems : [];
  const content = JSON.stringify([{ ...state, version: 0, now: 0, elapsed: 0, session_state: 0, problems }, sending.size]);
  if (content === rendered) return;
  rendered = content;
  const show = { checklist: showChecklist, set_up: showSetUp, start: showStart, running: showRunning, judge: showJudge,
    confirmed: showConfirmed, paused: showPaused, stopped: showStopped, finished: showFinished, waiting: showWaiting };
  show[state.phase]();
  if (sending.size) lock();
}

function showBanner() {
  const lines = [];
  const ended = state?.phase === "finished";
  if (!connected && !ended) lines.push("No connection: STOP may not reach the robot, use its own emergency stop. The session goes on; the page connects again by itself.");
  if (sending.size && !connected) lines.push("Your last answer is sent when the connection is back.");
  if (refusal) lines.push(refusal);
  if (state) lines.push(...state.problems);
  parts.banner.hidden = lines.length === 0;
  parts.banner.className = connected || ended ? "" : "bad";
  parts.banner.textContent = lines.join(" ");
}

function showTimer() {
  if (!state) return;
  const shown = ["set_up", "confirmed"].includes(state.phase) || (state.phase === "running" && state.limit > 0);
  parts.timer.hidden = !shown;
  if (!shown) return;
  const passed = state.elapsed + (performance.now() - received) / 1000;
  if (state.phase === "confirmed") {
    parts.timer.className = "";
    parts.timer.textContent = `${Math.max(0, Math.ceil(state.limit - passed))} s`;
    return;
  }
  const share = state.limit ? passed / state.limit : 0;
  parts.timer.className = share >= 1 ? "red" : share >= 0.8 ? "amber" : "";
  parts.timer.textContent = state.limit ? `${Math.floor(passed)} / ${Math.round(state.limit)} s` : `${Math.floor(passed)} s`;
}
setInterval(showTimer, 250);

// Whoever is writing while the session says something goes on writing.
function put(...elements) { putBeside(elements, null, []); }

// On a wide screen the picture is beside what is to be read, on a phone between its two parts.
function putBeside(before, picture, after) {
  const parted = picture ? [make("div", { class: "columns" }, make("div", { class: "before" }, ...before.filter(Boolean)), picture,
    make("div", { class: "after" }, ...after.filter(Boolean)))] : before;
  fill(parted);
}

function fill(elements) {
  const writing = document.activeElement, at = writing?.selectionStart;
  parts.content.replaceChildren(...elements.filter(Boolean));
  const again = writing?.id && !writing.isConnected ? document.getElementById(writing.id) : null;
  again?.focus();
  if (again && at !== null && at !== undefined) again.setSelectionRange(at, at);
}

// The largest text of the page, as large as its length allows.
const instruction = (text) => make("p", { class: `instruction${text.length > 120 ? " long" : text.length > 60 ? " medium" : ""}` }, text);

// A field with its name over it.
const labelled = (words, field) => make("label", { class: "field" }, words, field);

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
  keepCalm();
}

function setChoices(...choices) {
  const stop = { running: null, stopped: null, waiting: { ...STOP, kind: "halt wide" } }[state.phase];
  const allowed = [...choices, stop === undefined ? STOP : stop].filter((choice) => choice && state.allowed.includes(choice.command));
  parts.choices.replaceChildren(...allowed.map((choice) =>
    make("button", { onclick: choice.act ?? (() => send(choice.command)), class: choice.kind || "", "data-command": choice.command }, choice.words)));
}

const PAUSE = { command: "pause", words: "Pause" };
const GO_ON = { command: "resume", words: "Do not pause" };
const pausing = () => (state.pausing ? make("p", { id: "pausing" }, "The session pauses after this trial.") : null);
// An attempt that does not count is made again: nobody should have to guess why.
const why = () => (state.void ? make("div", { id: "void" },
  make("p", { class: "problem" }, `The last attempt does not count. ${state.void.words}`), details(state.void.detail)) : null);
// What an engineer wants to know.
const details = (text) => (text ? make("details", {}, make("summary", {}, "Details"), make("p", {}, text)) : null);
const STOP = { command: "stop", words: "STOP", kind: "halt" };
const SKIP = { command: "skip", words: "Skip …",
  act: () => askReason("Leave this trial out?", ["cannot be set up", "an object is broken"], (reason) => send("skip", { reason })) };
const VOID = { command: "void", words: "Void …",
  act: () => askReason("Void: run it again?", ["I touched the scene", "the robot had a fault", "it was set up wrong"],
    (reason) => send("void", { reason })) };
const CORRECT = { command: "correct", words: "Correct …", act: () => askCorrection() };
const END = { command: "end", words: "End …",
  act: () => askYes("End the session? It can be resumed.", "End", () => send("end")) };

function showWaiting() {
  put(make("p", { class: "quiet" }, "The robot and the session prepare the next trial. Keep out of the robot's reach."), pausing());
  setPrimary("");
  setChoices(PAUSE, GO_ON, END);
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
  const robot = set.robot ? [{ ...set.robot, name: "robot", words: "bring it to its start" }] : [];
  const things = [...set.moves, ...robot];
  const list = things.map((thing, index) => make("li", { "data-move": thing.id }, make("label", {},
    make("input", { type: "checkbox", checked: thing.done,
      onchange: (event) => send("tick", { name: thing.id, done: event.target.checked }) }),
    make("span", { class: "what" }, make("span", {}, `${index + 1}. ${thing.name}`), make("span", { class: "words" }, thing.words),
      thing.place ? make("small", {}, `to ${thing.place}`) : null))));
  putBeside([
    why(),
    // The banner says what is wrong with the camera as long as it is so.
    ...set.problems.filter((problem) => !state.problems.includes(problem)).map((problem) => make("p", { class: "problem" }, problem)),
    set.unseen && set.objects.length ? make("p", { class: "instruction" }, "Put back what the robot moved: nothing sees it.") : null,
    set.unseen || set.moves.length ? null : make("p", { class: "instruction" },
      set.doubts ? "The camera cannot tell. Does everything stand as on the map?"
        : robot.length ? "Move nothing but the robot." : "Do not reset. Nothing has to be moved."),
    backgroundOf(set.background),
    drawMap(set),
    make("ul", { class: "list" }, ...list),
    things.length ? make("p", { class: "quiet" }, `grid in ${set.unit}; short lines point to the front`) : null,
  ], photos(), []);
  const doubted = set.problems.length > 0;
  const right = { command: "ready", words: "It stands right", act: () => send("ready", { overrule: true }) };
  const again = { command: "ready", words: "Look again", act: () => send("ready") };
  const all = things.length > 1 && !things.every((thing) => thing.done);
  const tick = all ? { command: "tick", words: "Tick all", act: () => send("tick", { name: "", done: true }) } : null;
  if (doubted && set.doubts) setPrimary(right.words, right.act); else setPrimary("Ready", again.act);
  setChoices(tick, doubted ? (set.doubts ? again : right) : null, SKIP, CORRECT, PAUSE, END);
}

// Nobody carries a table or a lamp for a trial.
function backgroundOf({ names, changed }) {
  if (!names.length) return null;
  return make("p", { id: "background", class: changed ? "" : "quiet" }, `As the task's file says: ${names.join(", ")}.`);
}

function showStart() {
  putBeside([why(), make("p", { class: "quiet" }, "The robot will be told"), instruction(state.instruction),
    make("p", {}, "Is everybody out of the robot's reach?")], photos(), []);
  setPrimary("Start", () => send("start"));
  setChoices(VOID, SKIP, CORRECT, PAUSE, END);
}

function showRunning() {
  putBeside([instruction(state.instruction), pausing()], photos(), []);
  setPrimary("STOP", () => send("stop"), "halt");
  setChoices({ command: "reached", words: "Goal reached" }, PAUSE, GO_ON);
}

function showJudge() {
  const asked = state.judge;
  form ??= begunForm() ?? { success: asked.reached ? true : null, progress: 0, stage: "", tags: [], note: "",
    by: asked.by || remembered("by"), ...asked.draft };
  const outcome = (value, words) => make("button", { class: form.success === value ? "on" : "", "data-outcome": value,
    onclick: () => { form.success = value; showJudge(); parts.content.querySelector("h2").scrollIntoView(); } }, words);
  const steps = stepsOf(asked.subgoals), words = (value) => far(value, asked.subgoals);
  const chip = (value, label, on, act) => make("button", { class: on ? "on" : "", onclick: act, "data-value": value }, label);
  const failed = form.success === false;
  putBeside([
    instruction(state.instruction),
    asked.counts ? make("p", { id: "counts" }, asked.counts) : null,
    make("p", { class: "quiet" }, asked.ended),
    details(asked.detail),
  ], photos(), [
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
    labelled("Note", make("textarea", { rows: 2, maxLength: 500, value: form.note, id: "note",
      oninput: (event) => { form.note = event.target.value; keepForm(); } })),
    make("div", { class: "chips", id: "notes" }, ...asked.notes.map((note) =>
      chip(note, note, form.note === note, () => { form.note = form.note === note ? "" : note; showJudge(); }))),
    labelled("Judged by", make("input", { maxLength: 64, value: form.by, id: "by", autocomplete: "name",
      oninput: (event) => { form.by = event.target.value; remember("by", form.by); } })),
  ]);
  setPrimary("Confirm", () => send("judge", { ...form, success: form.success === true }));
  parts.primary.disabled = form.success === null;
  setChoices(VOID);
  parts.choices.prepend(make("div", { class: "pair" }, outcome(true, "Success"), outcome(false, "Failure")));
  keepForm();
}

// How far a trial may have come that failed: its subgoals, or quarters of the way.
function stepsOf(subgoals) {
  const all = subgoals > 1 ? subgoals : 4;
  return Array.from({ length: all }, (_, k) => k / all);
}
const far = (value, subgoals) => (subgoals > 1 ? `${Math.round(value * subgoals)} of ${subgoals}` : `${value * 100} %`);

// A judgement that was begun is there again after a reload, as long as the same is asked.
function begunForm() {
  try { const [asked, begun] = JSON.parse(remembered("form")); return asked === state.asked ? begun : null; } catch { return null; }
}
const keepForm = () => remember("form", JSON.stringify([state.asked, form]));

function showConfirmed() {
  const draft = state.judge.draft;
  // Undone, it is shown as it was confirmed, on whichever phone.
  form = null;
  remember("form", "");
  put(make("p", { class: "instruction" }, draft.success ? "Success" : `Failure, ${Math.round(draft.progress * 100)} %`),
    make("p", { class: "quiet" }, [draft.stage, ...draft.tags, draft.note].filter(Boolean).join(" · ")),
    make("p", { class: "quiet" }, "It can be undone until the time is over."));
  setPrimary("Next", () => send("next"));
  setChoices({ command: "undo", words: "Undo" });
}

function showPaused() {
  if (state.recording?.map) { showRecording(state.recording); return; }
  const kept = state.recording?.kept ?? [];
  put(make("p", { class: "instruction" }, state.detail), make("p", { class: "quiet" }, "The session waits, as long as you like."),
    kept.length ? make("h2", {}, "Recorded test instances") : null,
    make("ul", { class: "list" }, ...kept.map((one) => make("li", {}, `${one.id}: ${one.instruction}`))));
  setPrimary("Go on", () => send("resume"));
  setChoices({ command: "survey", words: "New test instance …" }, CORRECT, END);
}

// A test instance of the scene as it stands: what the robot is told, and where it drives, the way that somebody walked.
function showRecording(recording) {
  proposal ??= { instruction: recording.draft?.instruction ?? "", meant: recording.draft?.meant ?? "", path: recording.map.path };
  const draft = recording.draft;
  const map = drawMap(recording.map);
  drawInstance(map, recording.map);
  if (recording.asks_path) map.addEventListener("click", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    if (!proposal.path.length && recording.map.robot) proposal.path.push(recording.map.robot.at);
    proposal.path.push([at.x, at.y]);
    proposal.changed = true;
    showPaused();
  });
  const words = make("textarea", { rows: 2, maxLength: 500, value: proposal.instruction, id: "instruction",
    oninput: (event) => { proposal.instruction = event.target.value; proposal.changed = true; offer(); } });
  const meant = make("textarea", { rows: 2, maxLength: 500, value: proposal.meant, id: "meant",
    oninput: (event) => { proposal.meant = event.target.value; proposal.changed = true; offer(); } });
  put(make("p", { class: "quiet" }, `The scene ${recording.source}.`), map,
    recording.asks_path ? make("p", { class: "quiet" }, "Tap the way that you walk, corner by corner.") : null,
    recording.asks_path ? make("button", { disabled: !proposal.path.length, id: "back",
      onclick: () => { proposal.path = proposal.path.length > 2 ? proposal.path.slice(0, -1) : []; proposal.changed = true; showPaused(); } }, "Take back the last corner") : null,
    labelled("What the robot is told", words), labelled("Only if the task does not understand that: the same in its words", meant),
    draft ? make("p", { id: "understood" }, `Understood: ${draft.understood}`) : null);
  const check = () => {
    proposal.changed = false;
    send("propose", { instruction: proposal.instruction.trim(), meant: proposal.meant.trim(), path: proposal.path, by: remembered("by").slice(0, 64) });
  };
  // What was changed since it was checked is checked again before it can be kept.
  const offer = () => {
    if (draft && !proposal.changed) setPrimary("Keep", () => { proposal = { instruction: "", meant: "", path: [] }; send("keep"); }); else setPrimary("Check", check);
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
  put(make("p", { class: "instruction" }, "Thank you."), make("p", {}, state.detail),
    make("p", {}, "STOP on this page is off now. If the robot still moves, stop it by its own emergency stop or its teach pendant."), make("p", { class: "quiet" }, state.session));
  setPrimary("");
  setChoices();
}

const remembered = (key) => { try { return localStorage.getItem(key) || ""; } catch { return ""; } };
function remember(key, value) { try { localStorage.setItem(key, value); } catch { /* not kept */ } }

// -- questions of the page -------------------------------------------------------------------------

function askReason(words, offered, then) {
  const input = make("input", { maxLength: 500, id: "words" });
  const done = (text) => { if (!text.trim()) return; parts.sheet.close(); then(text.trim()); };
  showSheet(make("h2", {}, words),
    make("div", { class: "chips" }, ...offered.map((text) => make("button", { onclick: () => done(text) }, text))), labelled("In your words", input),
    make("div", { class: "pair" }, make("button", { onclick: () => parts.sheet.close() }, "Back"),
      make("button", { class: "on", onclick: () => done(input.value) }, "OK")));
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") done(input.value); });
}

// A sheet covers the page, but never STOP.
function showSheet(...elements) {
  const moves = ["running", "waiting"].includes(state.phase);
  parts.sheet.replaceChildren(...elements,
    ...(moves ? [make("button", { class: "halt wide", "data-command": "stop", onclick: () => { parts.sheet.close(); send("stop"); } }, "STOP")] : []));
  parts.sheet.showModal();
}

function askCorrection() {
  const right = { success: null, progress: 0 };
  const trials = make("select", { id: "trial" }, ...state.judgements.map((one) =>
    make("option", { value: one.trial }, `trial ${one.trial}: ${one.words}`)));
  const by = make("input", { id: "corrector", maxLength: 64, value: state.by || remembered("by") });
  const reason = make("input", { id: "reason", maxLength: 500 });
  const chosen = make("div", { class: "pair" });
  const share = make("select", { id: "share", onchange: (event) => { right.progress = Number(event.target.value); } });
  const progress = labelled("How far it came", share);
  progress.hidden = true;
  const offer = () => {
    const { subgoals } = state.judgements.find((one) => one.trial === trials.value);
    right.progress = 0;
    share.replaceChildren(...stepsOf(subgoals).map((value) => make("option", { value },
      subgoals > 1 ? `${far(value, subgoals)} subgoals` : `${far(value, 1)} of the way`)));
  };
  trials.addEventListener("change", offer);
  offer();
  const outcome = (value, words) => make("button", { class: right.success === value ? "on" : "", "data-right": value,
    onclick: () => { right.success = value; progress.hidden = value; choose(); } }, words);
  const choose = () => chosen.replaceChildren(outcome(true, "Success"), outcome(false, "Failure"));
  const done = () => {
    if (right.success === null || !by.value.trim() || !reason.value.trim()) return;
    parts.sheet.close();
    remember("by", by.value.trim());
    send("correct", { trial: trials.value, ...right, by: by.value.trim(), reason: reason.value.trim() });
  };
  choose();
  showSheet(make("h2", {}, "Which judgement was wrong, and what is right?"), labelled("Trial", trials), chosen, progress,
    labelled("Your name", by), labelled("Why", reason),
    make("div", { class: "pair" }, make("button", { onclick: () => parts.sheet.close() }, "Back"),
      make("button", { id: "correct", onclick: done }, "Correct")));
}

function askYes(words, yes, then) {
  showSheet(make("h2", {}, words), make("div", { class: "pair" },
    make("button", { onclick: () => parts.sheet.close() }, "Back"),
    make("button", { class: "on", onclick: () => { parts.sheet.close(); then(); } }, yes)));
}

// -- pictures --------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
function draw(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

// The scene from above, in metres: what stays is grey, what is moved orange, where it goes green. No label lies over another
// or over an outline: one that finds no free place beside its thing is put under the picture, with a line to it.
function drawMap(set) {
  const [left, top, width, height] = set.box;
  const unit = Math.max(width, height) / 100;
  // Beside and under the picture: the numbers of the grid.
  const frame = { left: left - 12 * unit, top, right: left + width, bottom: top + height + 5 * unit };
  const svg = draw("svg", { class: "map", role: "img", "aria-label": "the scene from above, with the moves as arrows" });
  const polygon = (points, style) => svg.append(draw("polygon", { points: points.map((p) => p.join(",")).join(" "),
    "stroke-linejoin": "round", "stroke-width": unit * 0.4, ...style }));
  const line = (from, to, style) => svg.append(draw("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...style }));
  if (set.floor.length) polygon(set.floor, { fill: "var(--panel)", stroke: "var(--wall)" });
  if (!set.floor.length) for (const outline of set.background.outlines) polygon(outline, { fill: "none", stroke: "var(--wall)" });
  for (const item of set.objects) if (item.outline.length) polygon(item.outline, { fill: "var(--thing)", stroke: "var(--wall)", "data-outline": "" });
  for (const { line: [from, to] } of set.grid) line(from, to, { stroke: "var(--ink)", "stroke-width": unit * 0.2, opacity: 0.16 });
  for (const wall of set.walls) polygon(wall, { fill: "var(--wall)", stroke: "none", "data-outline": "" });
  const outlines = [...set.walls, ...set.objects.map((item) => item.outline)].filter((one) => one.length);
  const lines = [];
  for (const move of set.moves) {
    const faint = move.done ? 0.35 : 1;
    const front = (at, ahead, colour) => { if (ahead) line(at, ahead, { stroke: colour, "stroke-width": unit * 0.6, opacity: faint }); };
    if (move.from_outline?.length) {
      polygon(move.from_outline, { fill: "var(--from-fill)", stroke: "var(--from-line)", opacity: faint, "data-outline": "" });
      outlines.push(move.from_outline);
    }
    if (move.to_outline?.length) {
      polygon(move.to_outline, { fill: "none", stroke: "var(--goal)", "stroke-dasharray": unit, "stroke-width": unit * 0.6, opacity: faint, "data-outline": "" });
      outlines.push(move.to_outline);
    }
    front(move.from, move.from_front, "var(--from-line)");
    front(move.to, move.to_front, "var(--goal)");
    if (move.from && (move.to || move.edge)) {
      arrow(svg, move.from, move.to || move.edge, unit, faint, "var(--from-line)");
      lines.push([move.from, move.to || move.edge]);
    }
  }
  if (set.robot) {
    drawRobot(svg, set.robot, unit, set.robot.done ? 0.35 : 1);
    outlines.push(square(set.robot.at, 2.2 * unit));
    lines.push([set.robot.at, set.robot.ahead]);
  }
  const labels = labelsOf(set, unit);
  const taken = [];
  for (const { line: [[x, y], end], words } of set.grid) {
    // At the left of lines that go across, under those that go down.
    const across = Math.abs(y - end[1]) < Math.abs(x - end[0]), w = textWidth(words, 2.8 * unit), h = 3.2 * unit;
    const box = across ? [left - w - unit, y - h / 2, w, h] : [x - w / 2, top + height + unit, w, h];
    if (taken.some((other) => meet(box, other))) continue;
    taken.push(box);
    write(svg, words, box, 2.8 * unit, "var(--faint)", false, unit);
  }
  const placed = placeLabels(labels, outlines, lines, taken, frame, unit);
  for (const { at, box, far } of placed) if (far) line(at, nearest(box, at), { stroke: "var(--faint)", "stroke-width": unit * 0.25 });
  for (const { words, box, size, colour, bold } of placed) write(svg, words, box, size, colour, bold, unit);
  const low = Math.max(frame.bottom, ...placed.map(({ box }) => box[1] + box[3] + unit));
  svg.setAttribute("viewBox", `${frame.left} ${frame.top} ${frame.right - frame.left} ${low - frame.top}`);
  return svg;
}

// What is written on the map, the most important first: its words, or fewer of them, and the outline that it is beside.
function labelsOf(set, unit) {
  const labels = [];
  const add = (choices, at, outline, colour, size, more) => labels.push({ choices, at, outline: outline?.length ? outline : [at], colour, size: size * unit, ...more });
  set.moves.forEach((move, index) => {
    const number = `${index + 1}`, both = [`${number} ${move.name}`, number];
    if (move.from) add(both, move.from, move.from_outline, "var(--from)", 3.8, { bold: true });
    if (move.to) add(move.from ? [number] : both, move.to, move.to_outline, "var(--goal-words)", 3.8, { bold: true });
  });
  if (set.robot) add(["robot"], set.robot.at, square(set.robot.at, 2.2 * unit), "var(--ink)", 3.8, { bold: true });
  for (const item of set.objects) if (item.outline.length) add([item.name], item.at, item.outline, "var(--faint)", 3.5);
  for (const move of set.moves) {
    if (move.distance) add([move.distance], [(move.from[0] + move.to[0]) / 2, (move.from[1] + move.to[1]) / 2], null, "var(--from)", 3.3, { spare: true });
  }
  return labels;
}

// Gives each label a box that meets no outline and no other box; where there is room it meets no arrow and no line to a label,
// and its own line to its thing leads over no other thing.
function placeLabels(labels, outlines, lines, taken, frame, unit) {
  const placed = [], rest = [];
  const free = (box, strict) => box[0] >= frame.left && box[1] >= frame.top && box[0] + box[2] <= frame.right && box[1] + box[3] <= frame.bottom &&
    !taken.some((other) => meet(box, other)) && !outlines.some((outline) => covers(outline, box)) &&
    !(strict && lines.some(([from, to]) => crosses(from, to, box)));
  const clear = (from, to, own, over) => !taken.some((other) => crosses(from, to, other)) &&
    (over || !outlines.some((outline) => outline !== own && outline.some((corner, k) => cross(from, to, corner, outline[(k + 1) % outline.length]))));
  const take = (label, words, box, far) => {
    taken.push(box);
    if (far) lines.push([label.at, nearest(box, label.at)]);
    placed.push({ ...label, words, box, far });
  };
  const found = (label, words, { strict = false, over = false }) => {
    const xs = label.outline.map((p) => p[0]), ys = label.outline.map((p) => p[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const [w, h] = [textWidth(words, label.size, label.bold), label.size * 1.3];
    for (const gap of label.spare ? [0.6, 2, 4] : [0.6, 2, 4, 7, 11, 16, 22, 30, 40]) {
      for (let k = 0; k < 16; k += 1) {
        const angle = (WAYS[k] * Math.PI) / 8;
        const [dx, dy] = [Math.cos(angle), Math.sin(angle)].map((part) => Math.max(-1, Math.min(1, part * 1.42)));
        const box = [(x0 + x1) / 2 + dx * ((x1 - x0 + w) / 2 + gap * unit) - w / 2, (y0 + y1) / 2 + dy * ((y1 - y0 + h) / 2 + gap * unit) - h / 2, w, h];
        const far = gap > 2 && !label.spare;
        if (free(box, strict) && (!far || clear(nearest(box, label.at), label.at, label.outline, over))) return [words, box, far];
      }
    }
    return null;
  };
  for (const label of labels) {
    const tries = label.choices.flatMap((words) => [{ strict: true }, {}, { over: true }].map((rules) => [words, rules]));
    const best = tries.reduce((done, [words, rules]) => done ?? found(label, words, rules), null);
    if (best) take(label, ...best); else if (!label.spare) rest.push(label);
  }
  let [x, y] = [frame.left, frame.bottom];
  for (const label of rest.sort((one, other) => one.at[0] - other.at[0])) {
    const words = label.choices[0], [w, h] = [textWidth(words, label.size, label.bold), label.size * 1.3];
    x = Math.max(x, Math.min(label.at[0] - w / 2, frame.right - w));
    if (x > frame.left && x + w > frame.right) [x, y] = [frame.left, y + h + 0.6 * unit];
    take(label, words, [x, y, w, h], true);
    x += w + 2 * unit;
  }
  return placed;
}

// The ways from a thing to its label, in eighths of half a turn: under it, over it, beside it, then those between.
const WAYS = [4, 12, 0, 8, 2, 6, 10, 14, 3, 5, 11, 13, 1, 7, 9, 15];

const ruler = document.createElement("canvas").getContext("2d");
function textWidth(words, size, bold = false) {
  ruler.font = `${bold ? 700 : 400} 100px system-ui, sans-serif`;
  // With the halo.
  return ruler.measureText(words).width / 100 * size + 0.3 * size;
}

function write(svg, words, [x, y, w, h], size, colour, bold, unit) {
  svg.append(draw("text", { x: x + w / 2, y: y + h / 2, "font-size": size, fill: colour, "font-weight": bold ? 700 : 400, "text-anchor": "middle",
    "dominant-baseline": "central", "paint-order": "stroke", stroke: "var(--panel)", "stroke-width": unit * 0.5 }, words));
}

const square = ([x, y], reach) => [[x - reach, y - reach], [x + reach, y - reach], [x + reach, y + reach], [x - reach, y + reach]];
const cornersOf = ([x, y, w, h]) => [[x, y], [x + w, y], [x + w, y + h], [x, y + h]];
const meet = (a, b) => a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];
const inside = ([x, y], box) => x >= box[0] && x <= box[0] + box[2] && y >= box[1] && y <= box[1] + box[3];
const nearest = ([x, y, w, h], at) => [Math.max(x, Math.min(x + w, at[0])), Math.max(y, Math.min(y + h, at[1]))];
const side = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
const cross = (a, b, c, d) => side(a, b, c) * side(a, b, d) <= 0 && side(c, d, a) * side(c, d, b) <= 0 &&
  Math.max(Math.min(a[0], b[0]), Math.min(c[0], d[0])) <= Math.min(Math.max(a[0], b[0]), Math.max(c[0], d[0])) &&
  Math.max(Math.min(a[1], b[1]), Math.min(c[1], d[1])) <= Math.min(Math.max(a[1], b[1]), Math.max(c[1], d[1]));
const crosses = (from, to, box) => inside(from, box) || inside(to, box) ||
  cornersOf(box).some((corner, k, all) => cross(from, to, corner, all[(k + 1) % 4]));
const within = ([x, y], polygon) => polygon.reduce((odd, a, k) => {
  const b = polygon[(k + 1) % polygon.length];
  return (a[1] > y) !== (b[1] > y) && x < ((b[0] - a[0]) * (y - a[1])) / (b[1] - a[1]) + a[0] ? !odd : odd;
}, false);
const covers = (polygon, box) => within([box[0] + box[2] / 2, box[1] + box[3] / 2], polygon) ||
  polygon.some((corner, k) => crosses(corner, polygon[(k + 1) % polygon.length], box));

function drawRobot(svg, robot, unit, opacity) {
  svg.append(draw("circle", { cx: robot.at[0], cy: robot.at[1], r: unit * 2, fill: "var(--ink)", opacity }));
  arrow(svg, robot.at, robot.ahead, unit, opacity, "var(--ink)");
}

// Beside what stands: the robot, where it has to be, and the way that was walked.
function drawInstance(svg, map) {
  const unit = Math.max(map.box[2], map.box[3]) / 100;
  const line = (tag, points, style) => svg.append(draw(tag, { points: points.map((p) => p.join(",")).join(" "), fill: "none",
    "stroke-width": unit * 0.6, ...style }));
  for (const region of map.regions) line("polygon", region, { stroke: "var(--goal)", "stroke-dasharray": unit });
  if (proposal.path.length) line("polyline", proposal.path, { stroke: "var(--from-line)", "stroke-linejoin": "round" });
  for (const [x, y] of proposal.path) svg.append(draw("circle", { cx: x, cy: y, r: unit, fill: "var(--from-line)" }));
}

function arrow(svg, from, to, unit, opacity, colour) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy);
  if (length < unit) return;
  const [ux, uy] = [dx / length, dy / length];
  const head = unit * 2.5;
  const end = [to[0] - ux * head, to[1] - uy * head];
  svg.append(draw("line", { x1: from[0], y1: from[1], x2: end[0], y2: end[1], stroke: colour, "stroke-width": unit * 0.7, opacity }));
  const tip = [to, [end[0] - uy * head / 2, end[1] + ux * head / 2], [end[0] + uy * head / 2, end[1] - ux * head / 2]];
  svg.append(draw("polygon", { points: tip.map((p) => p.join(",")).join(" "), fill: colour, opacity }));
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
  const together = make("div", { class: "pictures" }, photo, compare);
  return together;
}

async function picture(name) {
  const answer = await fetch(`${name}.jpg`, { headers: headers(), cache: "no-store" });
  if (!answer.ok && answer.status !== 404) throw new Error(String(answer.status));
  return answer.ok ? URL.createObjectURL(await answer.blob()) : "";
}

function showPicture(image, url) {
  if (image.src.startsWith("blob:")) URL.revokeObjectURL(image.src);
  if (url) image.src = url; else image.removeAttribute("src");
}

// What was wanted of the scene before is never shown over another one.
function forgetWanted() {
  wantedStep = -1;
  wanted.hidden = true;
  showPicture(wanted, "");
}

async function refreshPictures() {
  for (;;) {
    try {
      if (state && connected && !document.hidden && ["set_up", "start", "running", "judge"].includes(state.phase)) {
        const url = await picture("camera");
        showPicture(live, url);
        const step = state.step;
        if (state.phase === "set_up" && wantedStep !== step) {
          const drawing = await picture("target");
          // Where it does not come, it is asked for again.
          if (step === state.step) { showPicture(wanted, drawing); wantedStep = step; }
        }
        const drawn = state.phase === "set_up" && Boolean(wanted.getAttribute("src"));
        photo.hidden = !url && !drawn;
        live.hidden = !url;
        wanted.hidden = !drawn;
        // Without a camera the wanted scene is shown alone.
        wanted.className = url ? "over" : "";
        wanted.style.opacity = url ? overlay : 1;
        compare.hidden = !drawn || !url;
      }
    } catch { /* the next one comes */ }
    await pause(state && state.phase === "running" ? 250 : 500);
  }
}

// -- keys: one for each step, for pedals and laptops -----------------------------------------------

document.addEventListener("keydown", (event) => {
  const writing = ["INPUT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "checkbox";
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && state?.allowed.includes("stop")) { event.preventDefault(); send("stop"); return; }
  // A pedal goes on also while the cursor is in a field.
  if ((writing && !["PageDown", "PageUp"].includes(event.key)) || parts.sheet.open) return;
  const judging = state?.phase === "judge" && form;
  if (judging && (event.key === "PageUp" || (event.key === "PageDown" && form.success === null))) {
    event.preventDefault();
    form.success = event.key === "PageDown";
    showJudge();
    return;
  }
  if (["Enter", "PageDown", " "].includes(event.key)) {
    // A button that was reached by the Tab key is pressed itself, and a box is ticked by space.
    const own = { BUTTON: ["Enter", " "], SELECT: ["Enter", " "], INPUT: [" "] }[event.target.tagName] ?? [];
    if (own.includes(event.key)) return;
    event.preventDefault();
    if (!parts.primary.hidden && !parts.primary.disabled && !parts.primary.inert) parts.primary.click();
    return;
  }
  if (judging) {
    if (event.key === "s" || event.key === "1") { form.success = true; showJudge(); }
    if (event.key === "f" || event.key === "0") { form.success = false; showJudge(); }
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (way && form.success === false) {
      const steps = stepsOf(state.judge.subgoals), at = steps.indexOf(form.progress) + way;
      form.progress = steps[Math.min(Math.max(at, 0), steps.length - 1)];
      showJudge();
    }
  }
  if (state?.phase === "confirmed" && ["u", "PageUp"].includes(event.key)) send("undo");
});

addEventListener("hashchange", () => location.reload());
follow();
refreshPictures();
