// SPDX-License-Identifier: MIT
// The JavaScript and TypeScript kernel of a sandbox, started as
//   node -e <this text> -- NONCE javascript|typescript
// with the requests on descriptor 3 and /dev/null as 0; the protocol is that
// of service/kernel.h. Evaluation is that of node's own prompt (vm below), for
// its top-level await and its way to interrupt a loop.
"use strict";

(() => {
  const fs = require("fs");
  const net = require("net");
  const path = require("path");
  const repl = require("repl");
  const util = require("util");
  const { PassThrough } = require("stream");

  const PIECE_BYTES = 4096 - 21; // with its head not above PIPE_BUF
  const MESSAGE_BYTES_MAX = 10000000;
  const [nonce, language] = process.argv.slice(1);

  // A description of our own: node makes the shared one non-blocking.
  function own(fd) {
    try {
      return fs.openSync(`/proc/self/fd/${fd}`, "w");
    } catch {
      return fd;
    }
  }
  const out = own(1);
  const err = own(2);

  // What is written comes before the end of the run that wrote it.
  for (const stream of [process.stdout, process.stderr]) {
    stream._handle?.setBlocking?.(true);
  }

  function writeAll(fd, bytes) {
    for (;;) {
      try {
        fs.writeSync(fd, bytes); // at most PIPE_BUF: all of it or nothing
        return;
      } catch (failed) {
        if (failed.code !== "EAGAIN") throw failed;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  }

  function send(message, fd = out) {
    const line = Buffer.from(JSON.stringify(message) + "\n");
    if (line.length > MESSAGE_BYTES_MAX) {
      send({ type: "error", name: "ResultTooLarge", traceback: "",
        value: `the result has ${line.length} bytes, the limit is ` +
          `${MESSAGE_BYTES_MAX}; write it to a file instead` });
      return;
    }
    for (let at = 0; at < line.length; at += PIECE_BYTES) {
      const piece = line.subarray(at, at + PIECE_BYTES);
      const size = piece.length.toString(16).padStart(4, "0");
      writeAll(fd, Buffer.concat([Buffer.from(`\x1e${nonce}${size}`),
        piece]));
    }
  }

  // Lone surrogates have no UTF-8; JSON.stringify would pass them as escapes.
  const whole = (text) => String(text).toWellFormed?.() ??
    Buffer.from(String(text)).toString();

  const METHODS = { _toHtml: "text/html", _toMd: "text/markdown",
    _toSvg: "image/svg+xml", _toPng: "image/png", _toJpeg: "image/jpeg" };

  const SHOW = { maxStringLength: Infinity, maxArrayLength: 1000 };

  // The forms of a value: its text, and what methods it has for others.
  function forms(value) {
    const data = { "text/plain": whole(util.inspect(value, SHOW)) };
    for (const [method, mime] of Object.entries(METHODS)) {
      if (typeof value?.[method] === "function") {
        const form = value[method]();
        data[mime] = Buffer.isBuffer(form) ? form.toString("base64")
          : whole(form);
      }
    }
    if (typeof value?._toMime === "function") {
      for (const [mime, form] of Object.entries(value._toMime())) {
        data[mime] = whole(form);
      }
    }
    return data;
  }

  function sendError(failed) {
    const known = failed instanceof Error;
    const stack = known && typeof failed.stack === "string" ? failed.stack
      : util.inspect(failed);
    const lines = stack.replace(/^cell_\d+:\d+\n\s*\n/, "").split("\n");
    const trace = lines.filter((line) =>
      !/^\s+at .*(node:|\[eval\]|Promise \(<anon)/.test(line)).join("\n");
    const cut = MESSAGE_BYTES_MAX / 8;
    send({ type: "error", name: whole(known ? failed.name : "Uncaught"),
      value: whole(known ? failed.message : util.inspect(failed)).slice(0, cut),
      traceback: whole(trace).slice(0, cut) });
  }

  // ---- TypeScript ----

  function loadTypeScript() {
    const paths = [process.cwd(), "/usr/local/lib/node_modules",
      "/usr/lib/node_modules", "/usr/share/nodejs",
      path.join(process.execPath, "../../lib/node_modules")];
    try {
      const ts = require(require.resolve("typescript", { paths }));
      // From version 7 on the package is a native program without this.
      if (typeof ts.transpileModule === "function") return ts;
    } catch {
      // Not installed: said below.
    }
    send({ type: "unavailable", message: "typescript: no npm package " +
      `'typescript' (up to version 6) in ${paths.join(", ")}; install it ` +
      "with: npm install -g typescript@5" });
    return process.reallyExit(1);
  }

  function translate(ts, code) {
    const { outputText, diagnostics } = ts.transpileModule(code, {
      reportDiagnostics: true,
      compilerOptions: { target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.CommonJS, esModuleInterop: true } });
    const wrong = diagnostics?.find((d) =>
      d.category === ts.DiagnosticCategory.Error);
    if (wrong) {
      throw new SyntaxError(
        ts.flattenDiagnosticMessageText(wrong.messageText, "\n"));
    }
    return outputText;
  }

  // ---- runs ----

  let finish = null; // ends the run that is active: (error) or (null, value)
  let waiting = null; // rejects what the active run awaits

  function startPrompt() {
    const nowhere = new PassThrough().resume();
    const prompt = repl.start({ prompt: "", input: new PassThrough(),
      output: nowhere, terminal: false, useGlobal: true, preview: false,
      breakEvalOnSigint: true });
    // The prompt would print what goes wrong; here it ends the run.
    prompt._domain.removeAllListeners("error");
    prompt._domain.on("error", uncaught);
    return prompt;
  }

  function uncaught(failed) {
    if (finish) {
      finish(failed);
    } else {
      process.stderr.write(`Uncaught ${util.inspect(failed)}\n`);
    }
  }

  function interrupt() {
    if (waiting) waiting(new Error("the run was interrupted by SIGINT"));
    else if (finish) prompt.emit("SIGINT");
  }

  function evaluate(prompt, code, name) {
    return new Promise((resolve, reject) => {
      finish = (failed, value) => {
        finish = null;
        if (failed) reject(failed.err ?? failed);
        else resolve({ value });
      };
      const mine = finish;
      // node's own watch over SIGINT while code runs is undone by a listener.
      process.removeListener("SIGINT", interrupt);
      prompt.eval(code + "\n", prompt.context, name, (failed, value) => {
        if (finish === mine) mine(failed, value);
      });
      process.on("SIGINT", interrupt);
    });
  }

  // A promise as a cell's value is waited for, as if it were awaited.
  async function settle(value) {
    if (typeof value?.then !== "function") return value;
    return Promise.race([value, new Promise((_, reject) => {
      waiting = reject;
      finish = (failed) => reject(failed);
    })]);
  }

  function setEnv(values) {
    const before = {};
    for (const [name, value] of Object.entries(values ?? {})) {
      before[name] = process.env[name];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    return before;
  }

  const prompt = startPrompt();
  const ts = language === "typescript" ? loadTypeScript() : null;
  let count = 0;

  async function run(request) {
    const before = setEnv(request.env);
    count += 1;
    try {
      const code = ts ? translate(ts, request.code) : request.code;
      const done = await evaluate(prompt, code, `cell_${count}`);
      const value = await settle(done.value);
      if (value !== undefined) {
        send({ type: "result", data: forms(value), main: true });
      }
    } catch (failed) {
      sendError(failed);
    }
    finish = waiting = null;
    setEnv(before);
    send({ type: "end", id: request.id });
    send({ type: "end", id: request.id }, err);
  }

  process.on("SIGINT", interrupt);
  process.on("uncaughtException", uncaught);
  process.on("unhandledRejection", (failed) => {
    process.stderr.write(`Uncaught (in promise) ${util.inspect(failed)}\n`);
  });
  process.exit = (status) => {
    const failed = new Error(`process.exit(${status ?? ""}): a kernel does ` +
      "not exit; restart the context");
    failed.name = "SystemExit";
    throw failed;
  };
  globalThis.display = (...values) => {
    for (const value of values) {
      send({ type: "result", data: forms(value), main: false });
    }
  };

  let held = "";
  let last = Promise.resolve();
  const requests = new net.Socket({ fd: 3, readable: true, writable: false });
  requests.setEncoding("utf8");
  requests.on("data", (piece) => {
    const lines = (held + piece).split("\n");
    held = lines.pop();
    for (const line of lines) {
      const request = JSON.parse(line);
      if (request.code === undefined) setEnv(request.env);
      else last = last.then(() => run(request));
    }
  });
  requests.on("end", () => last.then(() => process.reallyExit(0)));
  send({ type: "ready" });
})();
