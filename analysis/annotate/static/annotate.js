// The stage: one image pixel on one device pixel, times measured from paint to key, and an answer
// that is kept here until the server says that it has it.
"use strict";

// --- the start page: what this screen is --------------------------------------------------------

const conditions = document.getElementById("conditions");
if (conditions) {
  const gamut = ["rec2020", "p3", "srgb"].find((name) => matchMedia(`(color-gamut: ${name})`).matches);
  const found = {
    screen_width_px: Math.round(screen.width * devicePixelRatio),
    screen_height_px: Math.round(screen.height * devicePixelRatio),
    dpr: devicePixelRatio,
    colour_depth_bit: screen.colorDepth,
    colour_gamut: gamut || "",
    browser: navigator.userAgent,
  };
  for (const [name, value] of Object.entries(found)) conditions.elements[name].value = value;
  document.getElementById("measured").textContent =
    `Your screen: ${found.screen_width_px} × ${found.screen_height_px} pixels, ` +
    `${found.dpr} of them to a CSS pixel. This is kept with your answers.`;
}

// --- the stage ----------------------------------------------------------------------------------

const aboutText = document.getElementById("about");
if (aboutText) stage(JSON.parse(aboutText.textContent));

function stage(about) {
  const $ = (id) => document.getElementById(id);
  const body = document.body;
  const canvas = $("image");
  const context = canvas.getContext("2d", { alpha: false });
  context.imageSmoothingEnabled = false;

  const images = new Map(); // token -> promise of the frames, of this trial and the next
  let state = null; // what the server said last
  let trial = null;
  let frames = [];
  let chosen = null; // the answer that waits for its confidence
  let busy = false; // an answer or an undo is on its way
  let painted = 0; // when the image was first on the screen, 0 before
  let hiddenAfter = null; // how long it was, once it is hidden again
  let showings = 0;
  let replays = 0;
  let interrupted = false;
  let answeredHere = 0;
  let playing = 0; // number of the running animation: an older one stops
  let onGo = null;
  let sleep = 0;

  // --- talking to the server --------------------------------------------------------------------

  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  // Keeps trying while the server is away: it may have been killed and come back.
  async function call(path, message) {
    for (let attempt = 0; ; attempt += 1) {
      let response = null;
      try {
        response = await fetch(path, message === undefined ? {} : {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-Limen-CSRF": about.csrf },
          body: JSON.stringify(message),
          keepalive: true, // sent even if the tab is closed now
        });
      } catch {
        response = null;
      }
      if (response && response.ok) return response.json();
      if (response && response.status === 401) {
        location.assign("/");
        return new Promise(() => {});
      }
      if (response && response.status < 500) {
        const said = await response.json().catch(() => ({}));
        throw new Error(said.error || said.detail || `the server says ${response.status}`);
      }
      const said = response ? await response.json().catch(() => ({})) : {};
      cover("The server does not answer",
        said.error || "Your last answer is kept in this browser and is sent as soon as the server is back. Trying again …");
      await pause(Math.min(300 + 300 * attempt, 2000));
    }
  }

  const keep = (message) => { try { localStorage.setItem(about.pending, JSON.stringify(message)); } catch { /* private mode */ } };
  const forget = () => { try { localStorage.removeItem(about.pending); } catch { /* private mode */ } };
  const kept = () => { try { return JSON.parse(localStorage.getItem(about.pending)); } catch { return null; } };

  // --- geometry: everything in device pixels ----------------------------------------------------

  const size = () => ({
    width: Math.floor(innerWidth * devicePixelRatio + 0.01),
    height: Math.floor(innerHeight * devicePixelRatio + 0.01),
  });

  function shownPart() {
    return trial.window || [0, 0, trial.width, trial.height];
  }

  function layout() {
    const { width, height } = size();
    const [, , w, h] = shownPart();
    const dpr = devicePixelRatio;
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      context.imageSmoothingEnabled = false;
    }
    const bar = Math.ceil($("bar").offsetHeight * dpr);
    const over = h + bar > height;
    const left = Math.max(0, Math.floor((width - w) / 2));
    const top = Math.max(0, Math.floor((height - (over ? 0 : bar) - h) / 2));
    // By transform: a place and a size in CSS pixels would be rounded to whole ones.
    canvas.style.transform = `translate(${left / dpr}px, ${top / dpr}px) scale(${1 / dpr})`;
    body.toggleAttribute("data-over", over);
    const small = Boolean(trial.window);
    $("small").hidden = !small;
    if (small) {
      $("small").textContent = `Your screen is too small for this image: you see a window of ${w} × ${h} of its ` +
        `${trial.width} × ${trial.height} pixels.` + (document.fullscreenElement ? "" : " Full screen shows more.");
    }
  }

  async function refit() {
    if (!trial) return;
    const { width, height } = size();
    const told = trial;
    if (trial.window || width < trial.width || height < trial.height) {
      const said = await call(`/api/window/${trial.token}?width=${width}&height=${height}`);
      if (told !== trial) return;
      trial.window = said.window;
    }
    layout();
    if (body.hasAttribute("data-shown") && frames.length === 1) draw(0);
  }

  // --- showing ----------------------------------------------------------------------------------

  async function load(which) {
    const numbers = [...Array(which.frames).keys()];
    return Promise.all(numbers.map(async (number) => {
      const response = await fetch(`/image/${which.token}/${number}`);
      if (!response.ok) {
        const said = await response.json().catch(() => ({}));
        throw new Error(said.error || `the image cannot be shown (${response.status})`);
      }
      return createImageBitmap(await response.blob());
    }));
  }

  function fetched(which) {
    if (!images.has(which.token)) {
      const coming = load(which);
      coming.catch(() => images.delete(which.token)); // looked at where it is awaited
      images.set(which.token, coming);
    }
    return images.get(which.token);
  }

  function draw(number) {
    const [x, y, w, h] = shownPart();
    context.drawImage(frames[number], x, y, w, h, 0, 0, w, h);
  }

  const nextFrame = () => new Promise((done) => requestAnimationFrame(done));

  async function show() {
    const mine = (playing += 1);
    hiddenAfter = null;
    layout();
    draw(0);
    body.dataset.state = "open";
    body.setAttribute("data-shown", "");
    showings += 1;
    await nextFrame();
    const start = await nextFrame(); // the frame before this one had the image on the screen
    if (mine !== playing) return;
    if (!painted) painted = start;
    body.dataset.painted = trial.token;
    const moving = frames.length > 1;
    if (!moving && !about.display_ms) return;
    for (let shown = 0, loops = 0; ;) {
      const time = await nextFrame();
      if (mine !== playing) return;
      const elapsed = time - start;
      if (about.display_ms && elapsed >= about.display_ms - 4) { // the next frame would be later
        hide(elapsed);
        return;
      }
      if (moving) {
        const at = Math.floor(elapsed * trial.fps / 1000);
        if (Math.floor(at / frames.length) > loops) {
          loops = Math.floor(at / frames.length);
          replays += 1;
        }
        if (at % frames.length !== shown) {
          shown = at % frames.length;
          draw(shown);
        }
      }
    }
  }

  function hide(elapsed) {
    playing += 1;
    body.removeAttribute("data-shown");
    hiddenAfter = elapsed;
  }

  function cover(title, text, go, links) {
    body.dataset.state = "cover";
    $("cover-title").textContent = title;
    $("cover-text").textContent = text;
    $("go").hidden = !go;
    $("cover-links").hidden = !links;
    onGo = go || null;
    if (go) $("go").focus();
  }

  async function present(said) {
    state = said;
    trial = said.trial;
    chosen = null;
    showings = replays = painted = 0;
    interrupted = document.hidden;
    $("count").textContent = `${said.done.toLocaleString("en")} of ${said.total.toLocaleString("en")}`;
    $("progress").value = said.total ? said.done / said.total : 0;
    $("undo").disabled = !said.undo;
    $("sure").hidden = true;
    $("answers").hidden = false;
    if ($("text")) $("text").value = "";
    for (const button of document.querySelectorAll(".chosen")) button.classList.remove("chosen");
    if (!trial) {
      body.removeAttribute("data-shown");
      const undo = said.undo ? () => act(takeBack) : null;
      cover("That was the last image", "Thank you. All your answers are kept.", undo, true);
      $("go").firstChild.textContent = "Take back the last answer ";
      $("go").blur();
      return;
    }
    $("go").firstChild.textContent = "Go on ";
    body.dataset.trial = trial.token;
    if (trial.item) body.dataset.item = JSON.stringify(trial.item);
    $("again").hidden = trial.frames === 1;
    frames = await fetched(trial);
    if (frames[0].width !== trial.width || frames[0].height !== trial.height) {
      trial.width = frames[0].width; // a moving item may have a size of its own
      trial.height = frames[0].height;
    }
    for (const token of images.keys()) {
      if (token !== trial.token && token !== (said.next && said.next.token)) {
        images.get(token).then((old) => old.forEach((bitmap) => bitmap.close()), () => {});
        images.delete(token);
      }
    }
    show();
    if ($("text")) { // over the image, the field comes when someone types
      if (body.hasAttribute("data-over")) $("text").blur();
      else $("text").focus();
    }
    if (said.next) fetched(said.next).catch(() => {}); // while this one is looked at
  }

  // --- answering --------------------------------------------------------------------------------

  // One thing at a time: a second click, or a key that comes early, does nothing.
  async function act(work) {
    if (busy) return;
    busy = true;
    try {
      await work();
    } catch (error) {
      cover("That did not work", error.message, () => location.reload(), true);
    } finally {
      busy = false;
    }
  }

  const early = () => !painted || performance.now() - painted < about.min_response_ms;

  function choose(value, text) {
    if (body.dataset.state !== "open" || busy || early()) return;
    if (about.confidence && value !== "unsure") {
      chosen = { value, text, at: performance.now() };
      $("answers").hidden = true;
      $("sure").hidden = false;
      return;
    }
    send(value, text, null, performance.now());
  }

  function send(value, text, confidence, at) {
    const message = {
      token: trial.token,
      value,
      text: text || null,
      confidence,
      response_ms: at - painted,
      displayed_ms: hiddenAfter === null ? at - painted : hiddenAfter,
      showings,
      replays,
      interrupted,
      view: {
        ...size(),
        dpr: devicePixelRatio,
        scale: window.visualViewport ? visualViewport.scale : 1,
        full_screen: Boolean(document.fullscreenElement),
        window: trial.window,
      },
    };
    act(async () => {
      keep(message);
      const said = await call("/api/answer", message);
      forget();
      answeredHere += said.outcome === "kept" ? 1 : 0;
      if (said.trial && about.break_every && answeredHere && said.outcome === "kept" && answeredHere % about.break_every === 0) {
        body.removeAttribute("data-shown");
        rest(`You answered ${answeredHere.toLocaleString("en")} images in this sitting. Look into the distance for a moment.`,
          () => present(said));
      } else {
        await present(said);
      }
    });
  }

  async function takeBack() {
    if (!state || !state.undo) return;
    const said = await call("/api/undo", { token: state.undo, view: size() });
    answeredHere = Math.max(0, answeredHere - 1);
    await present(said);
  }

  function rest(text, then) {
    call("/api/pause", { began: true }).catch(() => {});
    const left = state ? state.total - state.done : 0;
    cover("Break", `${text} ${left.toLocaleString("en")} to go. Nothing is lost if you close the page.`, () => act(async () => {
      await call("/api/pause", { began: false });
      await then();
    }), true);
  }

  function breakNow() {
    if (body.dataset.state !== "open" || busy) return;
    interrupted = true;
    const gone = hiddenAfter;
    if (gone === null) playing += 1;
    rest("Take your time.", async () => {
      if (gone === null) {
        await show();
      } else {
        body.dataset.state = "open"; // its time was over before the break
      }
    });
  }

  function again() {
    if (frames.length < 2 || about.display_ms || body.dataset.state !== "open") return;
    replays += 1;
    showings -= 1;
    show();
  }

  async function fullScreen() {
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await document.documentElement.requestFullscreen({ navigationUI: "hide" });
    } catch { /* not allowed here: the page works without */ }
  }

  // --- keys and clicks --------------------------------------------------------------------------

  const keys = { v: "visible", n: "not_visible", u: "unsure" };

  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey) return;
    const key = event.key.toLowerCase();
    const code = event.code.replace("Key", "").toLowerCase(); // Alt changes the character on some systems
    const typing = Boolean($("text"));
    const take = () => event.preventDefault();
    if (body.dataset.state === "cover") {
      if (key === "enter" && onGo && event.target.tagName !== "A") { take(); const go = onGo; onGo = null; go(); }
      return;
    }
    if (body.dataset.state !== "open") return;
    if (chosen) {
      if ("12345".includes(key) && key) { take(); send(chosen.value, chosen.text, Number(key), chosen.at); }
      if (key === "escape") { take(); unchoose(); }
      return;
    }
    if (typing !== event.altKey) { // without a text field plain keys, with one Alt and a key
      if (typing && !event.altKey) wake();
      if (typing && key === "backspace" && !$("text").value && !event.altKey) { take(); act(takeBack); }
      if (typing && key.length === 1 && !event.altKey && document.activeElement !== $("text")) $("text").focus();
      return;
    }
    const name = typing ? code : key;
    const value = keys[name] || ("12345".includes(name) ? name : null);
    if (value && about.values.includes(value)) { take(); choose(value); }
    else if (name === "backspace") { take(); act(takeBack); }
    else if (name === "b") { take(); breakNow(); }
    else if (name === "f") { take(); fullScreen(); }
    else if (name === "r") { take(); again(); }
  });

  function unchoose() {
    chosen = null;
    $("sure").hidden = true;
    $("answers").hidden = false;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button || event.detail > 1) return; // the second half of a double click
    if (event.detail) button.blur(); // so that Enter does not press it again
    if (button.dataset.value) choose(button.dataset.value);
    else if (button.dataset.confidence && chosen) send(chosen.value, chosen.text, Number(button.dataset.confidence), chosen.at);
    else if (button.id === "back") unchoose();
    else if (button.id === "undo") act(takeBack);
    else if (button.id === "pause") breakNow();
    else if (button.id === "full") fullScreen();
    else if (button.id === "again") again();
    else if (button.id === "go" && onGo) { const go = onGo; onGo = null; go(); }
  });

  $("answers").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("text") ? $("text").value.trim() : "";
    if (text) choose(about.text, text);
  });

  function wake() {
    body.setAttribute("data-awake", "");
    clearTimeout(sleep);
    sleep = setTimeout(() => body.removeAttribute("data-awake"), 2000);
  }
  document.addEventListener("mousemove", wake);

  document.addEventListener("visibilitychange", () => { if (document.hidden) interrupted = true; });
  addEventListener("resize", () => { refit().catch(() => {}); });

  // --- the beginning ----------------------------------------------------------------------------

  (async () => {
    try {
      const pending = kept();
      if (pending) { // answered, and closed or crashed before the server said that it has it
        try {
          await call("/api/answer", pending);
        } finally {
          forget();
        }
      }
    } catch { /* undone or answered in another tab since */ }
    let said;
    try {
      const { width, height } = size();
      said = await call(`/api/state?width=${width}&height=${height}`);
    } catch (error) {
      cover("That did not work", error.message, () => location.reload(), true);
      return;
    }
    if (!said.trial) {
      present(said);
      return;
    }
    fetched(said.trial).catch(() => {});
    cover("Ready?", "The images come one after the other, each of its pixels on one pixel of your screen.", () => act(async () => {
      await fullScreen();
      await pause(100); // until the page knows its new size
      const { width, height } = size(); // full screen holds more
      const { trial: first } = said;
      if (first.window || width < first.width || height < first.height) {
        first.window = (await call(`/api/window/${first.token}?width=${width}&height=${height}`)).window;
      }
      if (!first.window) {
        await present(said);
        return;
      }
      cover("Your screen is too small", `It holds ${width} × ${height} pixels, and an image has ` +
        `${first.width} × ${first.height}. You will see a window of each image, at a random place.`,
      () => act(() => present(said)), true);
    }), true);
  })();
}
