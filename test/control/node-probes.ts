/**
 * What code in a Node sandbox tries that must not succeed: expressions, by what they would reach. `args` has the paths that the
 * test passes.
 */

export const ESCAPES: Record<string, string> = {
  'process.binding': 'process.binding("fs")',
  'process._linkedBinding': 'process._linkedBinding("fs")',
  'an internal module': 'require("internal/bootstrap/realm")',
  internalBinding: 'internalBinding("fs")',
  'native code': 'process.dlopen({exports: {}}, "/lib/x86_64-linux-gnu/libz.so.1")',
  'native code through require': 'require("/tmp/x.node")',
  'an engine of OpenSSL': 'require("node:crypto").setEngine("/lib/x86_64-linux-gnu/libz.so.1")',
  'another program in its place': 'process.execve("/bin/true", ["true"], {})',
  wasi: 'new (require("node:wasi").WASI)({version: "preview1", preopens: {"/": "/"}})',
  'a debugger': 'require("node:inspector").open(0)',
  'a debugger session': 'new (require("node:inspector").Session)().connect()',
  'a module loader of its own': 'require("node:module").register("data:text/javascript,export{}")',
  SQLite: 'new (process.getBuiltinModule("node:sqlite").DatabaseSync)("/tmp/x.db")',
  'more rights': 'process.permission.has("fs.write") || process.permission.has("child") || (() => { throw 1; })()',
  'the channel to its worker': 'process.channel.fd',
  'a message to its worker': 'process.send({})',
};

export const FILES: Record<string, string> = {
  read: 'require("node:fs").readFileSync("/etc/hostname", "utf8")',
  'read the data of the tenant': 'require("node:fs").readFileSync(args.database)',
  'read the credential of the server': 'require("node:fs").readFileSync(args.admin)',
  'read through promises': 'require("node:fs").promises.readFile("/proc/self/environ")',
  'read the process above': 'require("node:fs").readFileSync("/proc/" + process.ppid + "/environ")',
  'its own memory': 'require("node:fs").openSync("/proc/self/mem", "r+")',
  list: 'require("node:fs").readdirSync("/")',
  'list the tenants': 'require("node:fs").readdirSync(process.cwd() + "/../../..")',
  stat: 'require("node:fs").statSync(args.database).size',
  watch: 'require("node:fs").watch(args.directory).close()',
  'a module': 'require(args.directory + "/secret.js")',
  'a module, imported': 'import(args.directory + "/secret.js")',
  JSON: 'require(args.directory + "/secret.json")',
  variables: 'process.loadEnvFile(args.directory + "/.env")',
  blob: 'require("node:fs").openAsBlob(args.database)',
  'a directory': 'require("node:fs").opendirSync(args.directory)',
  copy: 'require("node:fs").cpSync(args.directory, "/tmp/svc-copied", {recursive: true})',
  write: 'require("node:fs").writeFileSync("/tmp/svc-written", "")',
  'write its scripts': 'require("node:fs").writeFileSync(process.cwd() + "/.svc/node-child.js", "")',
  'write beside them': 'require("node:fs").writeFileSync("x.txt", "")',
  'a temporary directory': 'require("node:fs").mkdtempSync("/tmp/x")',
  link: 'require("node:fs").symlinkSync("/etc", "x")',
  'hard link': 'require("node:fs").linkSync("/etc/hostname", "x")',
  'a heap snapshot': 'require("node:v8").writeHeapSnapshot("/tmp/x.heapsnapshot")',
  'a report': 'process.report.writeReport("/tmp/x.json")',
  'a compile cache': 'require("node:module").enableCompileCache("/tmp/x").status === 1 || (() => { throw 1; })()',
};

/** A module of WebAssembly that exports its memory `m`, and `r`: eight bytes at any place of it. */
const READS_ANYWHERE = '0061736d0100000001060160017e017e03020100050301040107090201720000016d02000a0901070020002903000b';

function flagging(flags: string[]): Record<string, string> {
  return Object.fromEntries(
    flags.map(flag => [flag, `require("node:v8").setFlagsFromString(${JSON.stringify(flag)}) ?? 1`]),
  );
}

/** @param directory that it would write to */
export const flags = (directory: string): Record<string, string> => ({
  ...flagging(['--trace-turbo', `--trace-turbo-path=${directory}`, `--trace-turbo-cfg-file=${directory}/trace`]),
  'a flag by the built-in module': 'process.getBuiltinModule("node:v8").setFlagsFromString("--trace-turbo")',
  'a flag by an import': 'import("node:v8").then(v8 => v8.setFlagsFromString("--trace-turbo"))',
  'a function that V8 optimizes': `(() => {
  const sum = new Function("a", "let s = 0; for (let i = 0; i < 1e6; i++) s += a ^ i; return s");
  for (let i = 0; i < 12; i++) sum(i);
  throw 1;
})()`,
  ...flagging(['--experimental-wasm-memory64', '--no-wasm-bounds-checks']),
  // Two memories of 64 KiB; 16 GiB behind the second is the first, unless V8 checks.
  'memory of others, in WebAssembly': `(() => {
  const module = new WebAssembly.Module(Buffer.from("${READS_ANYWHERE}", "hex"));
  const [first, second] = [new WebAssembly.Instance(module), new WebAssembly.Instance(module)];
  new Uint32Array(first.exports.m.buffer)[0] = 0xfeed0000;
  return second.exports.r(0x400000000n);
})()`,
  'a trace': 'require("node:trace_events").createTracing({categories: ["v8"]}).enable() ?? 1',
  'a snapshot near the limit of the heap': 'require("node:v8").setHeapSnapshotNearHeapLimit(3) ?? 1',
});

/** @param worker its pid */
export const processes = (worker: number): Record<string, string> => ({
  spawn: '(({error}) => { if (error) throw error; })(require("node:child_process").spawnSync("true"))',
  exec: 'require("node:child_process").execSync("true")',
  fork: 'require("node:child_process").fork(process.cwd() + "/.svc/node-child.js").pid',
  cluster: 'require("node:cluster").fork().id',
  'a thread': 'new (require("node:worker_threads").Worker)("1", {eval: true}).threadId',
  'a signal to its worker': `process.kill(${worker}, 0)`,
  'a signal below process.kill': `process._kill(${worker}, 0)`,
  'a signal to its group': 'process.kill(0, 0)',
  'a signal to everybody': 'process.kill(-1, 0)',
  'a debugger in another': `process._debugProcess(${worker})`,
  'the priority of another': `require("node:os").setPriority(${worker}, 19)`,
  'another user': 'process.setuid(65534)',
});

export const connected = (socket: string) =>
  `new Promise((resolve, reject) => ${socket}.on("connect", () => resolve("connected")).on("response", resolve).on("error", reject))`;

/** @param at a port of this machine @param path of a Unix socket */
export const connections = (at: number, path: string): Record<string, string> => ({
  fetch: `fetch("http://127.0.0.1:${at}/").then(r => r.text())`,
  'fetch by name': `fetch("http://localhost:${at}/").then(r => r.text())`,
  http: connected(`require("node:http").get("http://127.0.0.1:${at}/")`),
  'http over a Unix socket': connected(`require("node:http").get({socketPath: ${JSON.stringify(path)}})`),
  net: connected(`require("node:net").connect(${at}, "127.0.0.1")`),
  'net, IPv6': connected(`require("node:net").connect(${at}, "::ffff:127.0.0.1")`),
  'a look-up of its own': connected(
    `require("node:net").connect({port: ${at}, host: "example.com", lookup: (h, o, f) => o.all ? f(null, [{address: "127.0.0.1", family: 4}]) : f(null, "127.0.0.1", 4)})`,
  ),
  tls: connected(`require("node:tls").connect(${at}, "127.0.0.1")`),
  http2: `new Promise((resolve, reject) => {
  const session = require("node:http2").connect("http://127.0.0.1:${at}").on("error", reject);
  session.request().on("response", resolve).on("error", reject);
})`,
  'the sockets of workers': connected(`require("node:net").connect(${JSON.stringify(path)})`),
  'an abstract socket': connected('require("node:net").connect({path: "\\0svc"})'),
  listen: 'new Promise((resolve, reject) => require("node:net").createServer().on("error", reject).listen(0, resolve))',
  'listen on a Unix socket':
    'new Promise((resolve, reject) => require("node:net").createServer().on("error", reject).listen("/tmp/svc-x.sock", resolve))',
  'a datagram':
    'new Promise((resolve, reject) => { const s = require("node:dgram").createSocket("udp4").on("error", reject); s.send("x", 53, "127.0.0.1", e => e ? reject(e) : resolve()); })',
  'a question to a name server': 'require("node:dns").promises.resolveTxt("secret.example.com")',
  'a question by a resolver of its own': 'new (require("node:dns").promises.Resolver)().resolve4("secret.example.com")',
  'a handle of its own': `(() => {
  const socket = require("node:net").connect({host: "93.184.216.34", port: 9}).on("error", () => {});
  const {constructor: Handle} = socket._handle;
  socket.destroy();
  const status = new Handle(0).connect({}, "127.0.0.1", ${at});
  if (status !== 0) throw new Error(status);
})()`,
});
