/** Cgroups of workers: which trees are taken, and what is written there, in a directory that stands for the tree; and how they end, by the kernel. */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {findGroups, WorkerGroups} from '../../supervisor/confinement/groups.ts';
import {isDemanded} from '../../supervisor/confinement/layers.ts';
import {WORKER_GROUP_BYTES_MAX, WORKER_THREADS_MAX} from '../../supervisor/limits.ts';
import {requireAll} from '../../supervisor/start/start-refusal.ts';
import {until} from '../harness/until.ts';

let base: string;
let lines: string[];
const log = createLogger({}, {level: 'warn', format: 'json', write: line => void lines.push(line)});
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  lines = [];
});
afterEach(() => rmSync(base, {recursive: true, force: true}));

/** A process in the group `/unit` of a tree that is mounted at `<base>/tree`. */
function processIn({type = 'cgroup2', controllers = 'cpu memory pids', others = ''} = {}): string {
  const own = join(base, 'tree/unit');
  mkdirSync(own, {recursive: true});
  writeFileSync(join(own, 'cgroup.controllers'), `${controllers}\n`);
  writeFileSync(join(own, 'cgroup.procs'), `${process.pid}\n${others}`);
  const proc = join(base, 'proc');
  mkdirSync(proc);
  writeFileSync(join(proc, 'cgroup'), '4:memory:/elsewhere\n0::/slice/unit\n');
  const mounts = `22 1 0:20 / / rw - ext4 /dev/sda rw\n30 22 0:27 /slice ${base}/tree rw,nosuid - ${type} none rw\n`;
  writeFileSync(join(proc, 'mountinfo'), mounts);
  return proc;
}

test.each([
  ['no such file system', {type: 'cgroup'}, 'there is no cgroup v2 file system'],
  ['no controllers', {controllers: 'hugetlb pids'}, /^the cgroup \/.*\/unit has no controller memory$/],
  ['a shell beside the server', {others: '1\n'}, /processes of other programs: it is not delegated to svc$/],
])('%s: the layer is missing, and nothing is written', (_, given, missing) => {
  const found = findGroups(log, processIn(given));
  expect(found).toEqual({groups: null, missing: expect.stringMatching(missing)});
  expect(readdirSync(join(base, 'tree/unit')).sort()).toEqual(['cgroup.controllers', 'cgroup.procs']);
});

test('a tree that cannot be written is missing with the reason of the system', () => {
  const proc = processIn();
  writeFileSync(join(base, 'tree/unit/workers'), '');
  expect(findGroups(log, proc)).toEqual({groups: null, missing: expect.stringMatching(/^EEXIST: .*unit\/workers/)});
});

test('the layer is reported, and no start demands it', () => {
  expect(isDemanded('memory')).toBe(false);
  expect(() => requireAll([{name: 'memory', missing: 'no tree'}])).not.toThrow();
  const sandboxLayers = [{name: 'memory', missing: 'no tree'} as const, {name: 'users', missing: 'no root'} as const];
  expect(() => requireAll(sandboxLayers)).toThrow(/:\n {2}users: no root\n/);
});

test('the server moves out of its group, and a worker gets one of its own with both limits', async () => {
  const proc = processIn();
  const {groups} = findGroups(log, proc);
  const own = join(base, 'tree/unit');
  const read = (...path: string[]) => readFileSync(join(own, ...path), 'utf8');
  expect(read('server', 'cgroup.procs')).toBe(String(process.pid));
  expect(read('cgroup.subtree_control')).toBe('+memory +pids');
  expect(read('workers', 'cgroup.subtree_control')).toBe('+memory +pids');
  const group = groups!.enter(4321)!;
  expect(readFileSync(join(group, 'cgroup.procs'), 'utf8')).toBe('4321');
  expect(readFileSync(join(group, 'pids.max'), 'utf8')).toBe(String(WORKER_THREADS_MAX));
  const bytes = Number(readFileSync(join(group, 'memory.max'), 'utf8'));
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(WORKER_GROUP_BYTES_MAX);
  const other = groups!.enter(4322)!;
  expect(other).not.toBe(group);

  writeFileSync(join(group, 'cgroup.kill'), '');
  const ended = groups!.end(group);
  expect(readFileSync(join(group, 'cgroup.kill'), 'utf8')).toBe('1');
  // The kernel's files go with their directory.
  for (const name of readdirSync(group)) rmSync(join(group, name));
  await ended;
  expect([existsSync(group), existsSync(other)]).toEqual([false, true]);
  expect(lines).toEqual([]);
});

test('the kernel ends a process and all that it started, and the group is gone', async ({skip}) => {
  const tree = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find(path => existsSync(join(path, 'cgroup.procs')));
  let root = '';
  try {
    root = tree === undefined ? '' : mkdtempSync(join(tree, 'svc-test-'));
  } catch (caught) {
    if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
  }
  skip(
    root === '' || !existsSync(join(root, 'cgroup.kill')),
    'no cgroup v2 tree here that can be written, with cgroup.kill',
  );
  const groups = new WorkerGroups(root, {}, log);
  const child = spawn('sh', ['-c', 'read line; (sleep 1000 & wait) & wait'], {stdio: ['pipe', 'ignore', 'ignore']});
  const exit = once(child, 'exit');
  const group = groups.enter(child.pid!)!;
  child.stdin.end('\n'); // It forks only now.
  const inside = () => readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean);
  await until('all three', () => inside().length === 3);
  await groups.end(group);
  expect(await exit).toEqual([null, 'SIGKILL']);
  expect(readdirSync(root).filter(name => name === '1')).toEqual([]);
  rmdirSync(root);
  expect(lines).toEqual([]);
});
