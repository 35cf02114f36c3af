"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagram"];
  const CONFIG = { displayModeBar: false, responsive: true, showTips: false };
  const touch = matchMedia("(pointer: coarse)").matches; // there a drag scrolls the page
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const STEP = 900, GLIDE = 350; // milliseconds of a state while playing, and of the way to it

  const decode = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  };
  const axes = data.axes.map((axis) => ({ name: axis.name, values: decode(axis.values), targets: decode(axis.targets) }));
  const count = data.owner.length;
  const colour = (s) => data.palette[s % data.palette.length];
  const symbol = (s) => SYMBOLS[Math.floor(s / data.palette.length) % SYMBOLS.length];
  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { text: of("--text"), line: of("--line"), quiet: of("--quiet"), accent: of("--accent") };
  };
  const option = (select, value, text) => {
    const item = document.createElement("option");
    item.value = value;
    item.textContent = text;
    select.append(item);
  };

  // ---------------------------------------------------------------------------------------------------- axes
  const squeeze = (v) => (byId("log").checked ? Math.sign(v) * Math.log10(1 + Math.abs(v)) : v);
  const ticks = (low, high) => {
    if (!byId("log").checked) return {};
    const values = [], texts = [];
    const last = Math.max(1, Math.ceil(Math.max(Math.abs(low), Math.abs(high))));
    const step = Math.ceil(last / 6);
    for (let k = -last; k <= last; k += step) {
      values.push(k === 0 ? 0 : Math.sign(k) * Math.log10(1 + 10 ** Math.abs(k)));
      texts.push(k === 0 ? "0" : (k < 0 ? "-" : "") + (Math.abs(k) < 4 ? String(10 ** Math.abs(k)) : "1e" + Math.abs(k)));
    }
    return { tickvals: values, ticktext: texts };
  };
  const range = (values) => {
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    if (low > high) return [-1, 1];
    const margin = 0.07 * (high - low) || Math.max(1, 0.1 * Math.abs(high));
    return [low - margin, high + margin];
  };
  const baseLayout = (colours) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colours.text, size: 13 },
    margin: { l: 55, r: 10, t: 10, b: 45 }, showlegend: false, hovermode: "closest", dragmode: touch ? false : "zoom",
  });
  const axisLayout = (colours, title, extra) =>
    Object.assign({ title: { text: title, standoff: 10 }, automargin: true, gridcolor: colours.line, zerolinecolor: colours.quiet, linecolor: colours.line }, extra);

  // ---------------------------------------------------------------------------------------------------- tokens
  const chosen = () => (byId("sequence").value === "all" ? null : Number(byId("sequence").value));
  const seen = (owner) => owner.map((_, i) => i).filter((i) => chosen() === null || owner[i] === chosen());
  const at = (axis, frame, i) => squeeze(axes[axis].values[frame * count + i]);
  let shown = null; // what is drawn now: {x, y, ranges}
  let animation = 0;

  const goal = (frame) => {
    const [a, b] = [Number(byId("across").value), Number(byId("up").value)];
    const tokens = seen(data.owner);
    const targets = byId("show-targets").checked ? seen(data.targetOwner) : [];
    const place = (axis) => tokens.map((i) => at(axis, frame, i));
    const ring = (axis) => targets.map((i) => squeeze(axes[axis].targets[i]));
    const all = (axis) => {
      const values = [];
      for (let f = 0; f < data.frames.length; f++) for (const i of tokens) values.push(at(axis, f, i));
      return values;
    };
    const last = frame === data.frames.length - 1; // there tokens and targets should be seen together
    const fitted = (axis) => place(axis).concat(last ? ring(axis) : []);
    const span = (axis) => range(byId("fit").checked ? fitted(axis) : all(axis).concat(ring(axis)));
    return { a, b, frame, tokens, targets, x: place(a), y: place(b), tx: ring(a), ty: ring(b), rx: span(a), ry: span(b) };
  };

  // Tokens of several sequences at one place become rings in one another: how many sequences lie on top of each marker.
  const stack = (x, y, owners) => {
    const places = new Map();
    x.forEach((v, k) => {
      const key = `${v},${y[k]}`;
      if (!places.has(key)) places.set(key, []);
      const there = places.get(key);
      if (!there.includes(owners[k])) there.push(owners[k]);
    });
    return x.map((v, k) => {
      const there = places.get(`${v},${y[k]}`);
      return Math.min(3, there.length - 1 - there.indexOf(owners[k]));
    });
  };

  const drawTokens = (view, trails) => {
    const colours = theme();
    const leaders = byId("show-leaders").checked ? view.tokens.map((i) => data.leader[i]) : view.tokens.map(() => false);
    const size = view.tokens.length > 150 ? 7 : 10;
    const depth = stack(view.x, view.y, view.tokens.map((i) => data.owner[i]));
    const targetDepth = stack(view.tx, view.ty, view.targets.map((i) => data.targetOwner[i]));
    const way = { x: [], y: [] };
    if (trails && view.frame > 0) {
      view.tokens.forEach((i, k) => {
        way.x.push(at(view.a, view.frame - 1, i), view.x[k], null);
        way.y.push(at(view.b, view.frame - 1, i), view.y[k], null);
      });
    }
    const traces = [
      { x: way.x, y: way.y, mode: "lines", line: { color: colours.quiet, width: 1 }, opacity: 0.5, hoverinfo: "skip" },
      {
        x: view.tx, y: view.ty, mode: "markers", hovertemplate: "%{text}<extra></extra>",
        text: view.targets.map((i) => `target of pair ${data.pairs[data.targetOwner[i]]}`),
        marker: {
          size: targetDepth.map((k) => size + 7 + 7 * k), color: view.targets.map((i) => colour(data.targetOwner[i])),
          symbol: view.targets.map((i) => symbol(data.targetOwner[i]) + "-open"), line: { width: 2 },
        },
      },
      {
        x: view.x, y: view.y, mode: "markers", hovertemplate: "%{text}<extra></extra>",
        text: view.tokens.map((i) => {
          const value = (axis) => axes[axis].values[view.frame * count + i].toPrecision(6).replace(/\.?0+(e|$)/, "$1");
          return `pair ${data.pairs[data.owner[i]]}, token ${data.token[i]}: ${value(view.a)}, ${value(view.b)}`;
        }),
        marker: {
          size: depth.map((k) => size + 5 * k), color: view.tokens.map((i) => colour(data.owner[i])), symbol: view.tokens.map((i) => symbol(data.owner[i])),
          line: { width: leaders.map((l) => (l ? 2.5 : 0)), color: colours.text }, opacity: 1,
        },
      },
    ];
    const layout = Object.assign(baseLayout(colours), {
      xaxis: axisLayout(colours, data.axes[view.a].title, { range: view.rx, ...ticks(...view.rx) }),
      yaxis: axisLayout(colours, data.axes[view.b].title, { range: view.ry, ...ticks(...view.ry) }),
    });
    Plotly.react("tokens", traces, layout, CONFIG);
  };

  const describe = (frame) => {
    const f = data.frames[frame];
    byId("state").textContent = `${f.label}: ${data.followed} tokens stand at ${f.places} places, counted in each sequence; ` +
      `${f.reached} of ${data.wanted} targets reached, numbers of ${f.bits} ${f.bits === 1 ? "bit" : "bits"}.`;
    byId("slider").setAttribute("aria-valuetext", f.label);
    const here = byId("here");
    if (here) here.style.left = `${(100 * f.block * data.builtShare) / Math.max(1, data.numBlocks)}%`;
  };

  const showFrame = (glide) => {
    if (!data.frames.length) return;
    const frame = Number(byId("slider").value);
    const next = goal(frame);
    describe(frame);
    cancelAnimationFrame(animation);
    const from = shown;
    const steady = from && from.tokens.length === next.tokens.length && from.a === next.a && from.b === next.b;
    if (!glide || !steady || still.matches || next.tokens.length > 300) {
      shown = next;
      drawTokens(next, true);
      return;
    }
    const start = performance.now();
    const mix = (p, q, t) => p.map((v, k) => v + (q[k] - v) * t);
    const tick = (now) => {
      const t = Math.min(1, (now - start) / GLIDE);
      const ease = t * t * (3 - 2 * t);
      shown = t >= 1 ? next : Object.assign({}, next, {
        x: mix(from.x, next.x, ease), y: mix(from.y, next.y, ease), rx: mix(from.rx, next.rx, ease), ry: mix(from.ry, next.ry, ease),
      });
      drawTokens(shown, t >= 1);
      if (t < 1) animation = requestAnimationFrame(tick);
    };
    animation = requestAnimationFrame(tick);
  };

  const move = (frame, glide) => {
    byId("slider").value = frame;
    showFrame(glide);
  };

  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    byId("play").textContent = "Play";
    byId("play").setAttribute("aria-pressed", "false");
    byId("state").setAttribute("aria-live", "polite");
  };
  const play = () => {
    const last = data.frames.length - 1;
    if (Number(byId("slider").value) >= last) move(0, false);
    byId("play").textContent = "Pause";
    byId("play").setAttribute("aria-pressed", "true");
    byId("state").setAttribute("aria-live", "off"); // a screen reader would never catch up
    timer = setInterval(() => {
      const next = Number(byId("slider").value) + 1;
      move(Math.min(next, last), true);
      if (next >= last) stop();
    }, STEP);
  };

  // ---------------------------------------------------------------------------------------------------- attention
  const drawAttention = () => {
    const layer = data.attention[Number(byId("layer").value)];
    if (!layer) return;
    const s = Number(byId("attending").value);
    const weights = layer.sequences[s];
    const colours = theme();
    const n = weights.length;
    const height = (i, size) => (size === 1 ? 0 : 1 - (2 * i) / (size - 1));
    const traces = [];
    const pooled = weights.uniform && !layer.causal; // one point stands for all
    const keys = pooled ? ["mean"] : Array.from({ length: n }, (_, i) => String(i));
    const attends = (i) => {
      if (!weights.uniform) return weights.keys[i];
      return pooled ? [[0, 1]] : Array.from({ length: i + 1 }, (_, l) => [l, 1 / (i + 1)]);
    };
    const spots = (side, size) => Array.from({ length: size }, (_, i) => height(i, size));
    const widths = new Map(); // lines of one width are one trace
    const attended = new Set();
    for (let i = 0; i < n; i++) {
      for (const [key, weight] of attends(i)) {
        attended.add(key);
        const width = Math.max(1, Math.round(weight * 8) / 2);
        if (!widths.has(width)) widths.set(width, { x: [], y: [] });
        const line = widths.get(width);
        line.x.push(0, 1, null);
        line.y.push(height(i, n), height(key, keys.length), null);
      }
    }
    for (const [width, line] of widths) {
      traces.push({ ...line, mode: "lines", line: { width: n > 40 ? 1 : width, color: colour(s) }, opacity: n > 40 ? 0.35 : 0.7, hoverinfo: "skip" });
    }
    const side = (x, size, names, label, marked) => ({
      x: Array(size).fill(x), y: spots(x, size), mode: size > 60 ? "markers" : "markers+text", text: names,
      textposition: x === 0 ? "middle left" : "middle right", hovertemplate: `${label} %{customdata}<extra></extra>`, customdata: names,
      marker: {
        size: size > 60 ? 5 : 11, color: colour(s), symbol: symbol(s),
        opacity: names.map((_, i) => (marked(i) ? 1 : 0.25)), line: { width: names.map((_, i) => (x === 1 && marked(i) ? 2.5 : 0)), color: colours.text },
      },
    });
    const names = Array.from({ length: n }, (_, i) => String(i));
    traces.push(side(0, n, names, "token", () => true));
    traces.push(side(1, keys.length, keys, pooled ? "" : "token", (i) => attended.has(i)));
    const hidden = { visible: false, fixedrange: true };
    const layout = Object.assign(baseLayout(colours), {
      dragmode: false, margin: { l: 10, r: 10, t: 10, b: 10 },
      xaxis: { ...hidden, range: [-0.25, 1.35] }, yaxis: { ...hidden, range: [-1.12, 1.12] },
    });
    Plotly.react("attention", traces, layout, CONFIG);
    const which = layer.causal ? "the tokens up to itself" : `all ${n} tokens`;
    const name = layer.name[0].toUpperCase() + layer.name.slice(1);
    byId("attention-state").textContent = weights.uniform
      ? `${name}, pair ${data.pairs[s]}: every token attends to ${which} equally.`
      : `${name}, pair ${data.pairs[s]}: the ${n} tokens on the left attend to ${attended.size} on the right ` +
        `(token ${[...attended].sort((p, q) => p - q).slice(0, 12).join(", ")}${attended.size > 12 ? ", .." : ""}).`;
  };

  // ---------------------------------------------------------------------------------------------------- bits
  const drawBits = () => {
    const colours = theme();
    const traces = [
      { x: data.bits.blocks, y: data.bits.weights, type: "bar", marker: { color: data.palette[0] }, hovertemplate: "block %{x}: weights of %{y} bits<extra></extra>" },
      {
        x: data.frames.map((f) => f.block), y: data.frames.map((f) => f.bits), mode: "lines+markers", line: { color: data.palette[1], width: 1.5 },
        marker: { size: 5, symbol: "square" }, hovertemplate: "after block %{x}: tokens of %{y} bits<extra></extra>",
      },
    ];
    const layout = Object.assign(baseLayout(colours), {
      dragmode: false,
      xaxis: axisLayout(colours, "block", { fixedrange: true }), yaxis: axisLayout(colours, "bits", { fixedrange: true, rangemode: "tozero" }),
    });
    Plotly.react("bits", traces, layout, CONFIG);
  };

  // ---------------------------------------------------------------------------------------------------- start
  axes.forEach((axis, i) => {
    option(byId("across"), i, axis.name);
    option(byId("up"), i, axis.name);
  });
  option(byId("sequence"), "all", "all");
  data.pairs.forEach((pair, s) => {
    option(byId("sequence"), s, `pair ${pair}`);
    option(byId("attending"), s, `pair ${pair}`);
  });
  data.attention.forEach((layer, i) => option(byId("layer"), i, layer.name + (layer.uniform ? " (uniform)" : "")));
  byId("across").value = data.start.across;
  byId("up").value = data.start.up;
  byId("fit").checked = data.start.fit;
  byId("layer").value = data.start.layer;
  if (data.start.sequence !== null) {
    byId("sequence").value = data.start.sequence;
    byId("attending").value = data.start.sequence;
  }
  const slider = byId("slider");
  slider.max = Math.max(0, data.frames.length - 1);
  slider.value = data.start.frame;
  slider.addEventListener("input", () => { stop(); showFrame(false); });
  for (const id of ["across", "up", "sequence", "fit", "log", "show-targets", "show-leaders"]) {
    byId(id).addEventListener("change", () => showFrame(false));
  }
  byId("play").addEventListener("click", () => (timer ? stop() : play()));
  for (const id of ["layer", "attending"]) byId(id).addEventListener("change", drawAttention);
  for (const part of document.querySelectorAll(".strip button")) {
    part.addEventListener("click", () => {
      stop();
      const block = Number(part.dataset.block);
      let best = 0;
      data.frames.forEach((f, i) => { if (f.block <= block) best = i; });
      move(best, true);
    });
  }
  const drawAll = () => { showFrame(false); drawAttention(); drawBits(); };
  dark.addEventListener("change", drawAll);
  drawAll();
  document.documentElement.dataset.ready = "yes";
})();
