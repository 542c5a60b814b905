/** A clone as a package: packed, or fetched from git, it brings its code; installed elsewhere, its command runs. */
import {execFile} from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, test} from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Both build svc, one with npm's own steps around it. */
const BUILD_MS = 180_000;
const NOT_COPIED = ['.git', 'node_modules', 'dist', 'data', 'screenshots', 'bench/results', '.ci/run.log'];
type Locked = {dev?: boolean; link?: boolean; dependencies?: Record<string, string>; bin?: Record<string, string>};

let folder: string;
/** The sources without anything built, as git has them. */
let clone: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-package-'));
  clone = join(folder, 'clone');
  cpSync(root, clone, {recursive: true, filter: path => !NOT_COPIED.includes(relative(root, path))});
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
});
afterAll(() => rmSync(folder, {recursive: true, force: true}));

async function run(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  return (await promisify(execFile)(command, args, {cwd, env: {...process.env, ...env}})).stdout.trim();
}

test(
  'npm builds what it fetched from git, and leaves a clone alone',
  async () => {
    await run('node', ['build/prepare.cjs'], clone, {INIT_CWD: clone});
    expect(existsSync(join(clone, 'dist'))).toBe(false);
    await run('node', ['build/prepare.cjs'], clone, {INIT_CWD: folder});
    expect(existsSync(join(clone, 'dist/cli.js'))).toBe(true);
    rmSync(join(clone, 'dist'), {recursive: true});
  },
  BUILD_MS,
);

test(
  'a clone that is packed and installed elsewhere is the svc command',
  async () => {
    await run('npm', ['pack', '--silent', '--pack-destination', folder], clone);
    const [tarball] = readdirSync(folder).filter(name => name.endsWith('.tgz'));
    const app = join(folder, 'app');
    mkdirSync(app);
    const svc = `file:../${tarball}`;
    writeFileSync(join(app, 'package.json'), JSON.stringify({name: 'app', private: true, dependencies: {svc}}));
    writeFileSync(join(app, 'package-lock.json'), JSON.stringify(lockFile(svc)));
    // Everything else is in npm's cache since our own `npm ci`.
    await run('npm', ['ci', '--prefer-offline', '--ignore-scripts', '--silent'], app);
    expect(await run(join(app, 'node_modules/.bin/svc'), ['--version'], app)).toMatch(/^svc \d+\.\d+\.\d+ \(/);
    expect(await run(join(app, 'node_modules/.bin/svc'), ['init', 'made'], app)).toContain('wrote a starter project');
    for (const entry of ['values', 'server', 'browser', 'react', 'client']) {
      expect(existsSync(join(app, `node_modules/svc/dist/sdk/${entry}.d.ts`))).toBe(true);
    }
  },
  BUILD_MS,
);

/** With the versions that we have ourselves, so that nothing has to be looked up. */
function lockFile(svc: string): object {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {packages: Record<string, Locked>};
  const {'': own, ...rest} = lock.packages;
  const packages = Object.fromEntries(Object.entries(rest).filter(([, {dev, link}]) => dev !== true && link !== true));
  const {version, bin, dependencies} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Locked & {
    version: string;
  };
  expect(own?.dependencies).toEqual(dependencies);
  return {
    name: 'app',
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': {name: 'app', dependencies: {svc}},
      ...packages,
      'node_modules/svc': {version, resolved: svc, bin, dependencies},
    },
  };
}
