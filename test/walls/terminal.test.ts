/**
 * A server that an operator started in a terminal, as README says: code in a worker, and in a process that a worker started, types into that
 * terminal with TIOCSTI, as a fault of V8 would let it. Nothing arrives.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {NODE_VERSION} from '../control/service-client.ts';
import {inTerminal} from '../harness/terminal.ts';
import {until} from '../harness/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** TYPE TERMINAL TEXT: types the text into the terminal, by its path, as its own, and by each descriptor, and prints how each try ended. */
const TYPE = `
  my ($terminal, $text) = @ARGV;
  my %ended;
  for my $path ('/dev/tty', $terminal, map {"/proc/self/fd/$_"} 0 .. 20) {
    # Without O_NOCTTY: it would become the terminal of its session.
    for my $flags (0, 1, 2) {
      sysopen(my $file, $path, $flags) or do { $ended{0 + $!} = "$!"; next };
      for my $letter (split //, $text) { $ended{ioctl($file, 0x5412, $letter) ? 'typed' : 0 + $!} = "$!" }
    }
  }
  print join ',', sort keys %ended;
`;

/** Before a worker's code: at its first connection, when it is its tenant's user, it types. */
const IN_WORKER = (terminal: string, answer: string) => `
import {spawnSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {Server} from 'node:net';
let directory = null;
process.on('message', m => { if (m.type === 'open') directory = m.settings.directory; });
const {emit} = Server.prototype;
Server.prototype.emit = function (name, ...given) {
  if (name === 'connection' && directory !== null) {
    const {stdout} = spawnSync('perl', ['-e', ${JSON.stringify(TYPE)}, ${JSON.stringify(terminal)}, 'from-worker'], {encoding: 'utf8'});
    writeFileSync(directory + '/${answer}', stdout);
    directory = null;
  }
  return emit.call(this, name, ...given);
};
`;

/** Node of a sandbox: types first, and shows how that ended as its title. */
const IN_SANDBOX = (terminal: string) => `#!/bin/sh
case "$*" in
  *--version*) ;;
  *) set -- --title="$(perl -e '${TYPE.replaceAll("'", `'"'"'`)}' ${terminal} from-sandbox)" "$@" ;;
esac
exec "\${0%/bin/node}/lib/node" "$@"
`;

test('nothing that runs code of tenants types into it', async ({skip}) => {
  const base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(base, 0o755);
  const dist = join(base, 'dist');
  const data = join(base, 'data');
  cpSync(join(ROOT, 'dist'), dist, {recursive: true});
  cpSync(join(ROOT, 'package.json'), join(base, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(base, 'node_modules'));
  for (const name of ['bin', 'lib']) mkdirSync(join(base, name), {mode: 0o755});
  copyFileSync(process.execPath, join(base, 'lib/node'));
  const node = join(base, 'bin/node');
  writeFileSync(join(base, 'type.pl'), TYPE);
  // Its own session: there it works, where the kernel still has it.
  const start = `tty > ${base}/tty; perl ${base}/type.pl $(tty) control > ${base}/control; while [ ! -e ${base}/go ]; do :; done
    exec ${process.execPath} ${dist}/cli.js start --port 0 --data ${data}`;
  const shown = inTerminal(start, {[`SVC_NODE_${NODE_VERSION}`]: node}, () =>
    rmSync(base, {recursive: true, force: true}),
  );
  const written = (path: string) => (existsSync(path) && readFileSync(path, 'utf8').trim()) || null;
  const tty = await until('a terminal', () => written(join(base, 'tty')));
  const control = await until('the control', () => written(join(base, 'control')));
  const worker = join(dist, 'worker.js');
  writeFileSync(join(dist, 'type.js'), IN_WORKER(tty, 'typed'));
  writeFileSync(worker, `import './type.js';\n${readFileSync(worker, 'utf8')}`);
  writeFileSync(node, IN_SANDBOX(tty), {mode: 0o755});
  writeFileSync(join(base, 'go'), '');
  const url = await until('the server', () => /svc listening on (http:\S+)/.exec(shown())?.[1]);
  skip(!control.includes('typed'), 'this kernel lets no process type into a terminal (dev.tty.legacy_tiocsti)');
  expect(shown()).toContain('control');

  const {access_token} = JSON.parse(readFileSync(join(data, 'admin.json'), 'utf8')) as {access_token: string};
  const post = async (path: string, body: object) => {
    const headers = {authorization: `Bearer ${access_token}`, 'content-type': 'application/json'};
    const reply = await fetch(`${url}/api/tenants${path}`, {method: 'POST', headers, body: JSON.stringify(body)});
    expect(reply.status).toBeLessThan(300);
    return (await reply.json()) as {sandbox: {id: string}; value: string};
  };
  await post('', {id: 'a'});
  await post('/a/documents', {table: 't', fields: {}});
  const inWorker = await until('the worker', () => written(join(data, 'tenants/t_a_1/typed')));
  const {sandbox} = await post('/a/sandboxes', {runtime: 'node', node_version: NODE_VERSION});
  const {value} = await post(`/a/sandboxes/${sandbox.id}/execute`, {code: 'return process.title'});
  // Numbers of the system's errors.
  for (const ends of [inWorker, value]) expect(ends).toMatch(/^\d+(?:,\d+)*$/);
  expect(shown()).not.toMatch(/from-(?:worker|sandbox)/);
});
