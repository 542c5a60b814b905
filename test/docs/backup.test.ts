/** docs/backup.md as a reader follows it: each block in its order, with the server that it says to start. */
import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, symlinkSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import {afterAll, expect, test} from 'vitest';
import {CLI} from '../harness/command.ts';
import {Service, STATE} from '../harness/service.ts';
import {shellBlocks} from './shell-examples.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-docs-backup-'));
let service: Service | null = null;
afterAll(async () => {
  await service?.stop();
  rmSync(directory, {recursive: true, force: true});
});

async function run(block: string): Promise<string> {
  const PATH = `${join(directory, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`;
  const at = service === null ? {} : {SVC_URL: service.url, SVC_DATA: service.data};
  const env = {...process.env, ...STATE, ...at, PATH};
  const {stdout} = await promisify(execFile)('bash', ['-eu', '-o', 'pipefail', '-c', block], {cwd: directory, env});
  return stdout;
}

test('every command of the page does what is said of it', async () => {
  mkdirSync(join(directory, 'bin'));
  symlinkSync(CLI, join(directory, 'bin/svc'));
  const blocks = shellBlocks('backup.md');
  const output: string[] = [];
  for (const block of blocks) {
    const [, options] = /^svc start (.*)\n$/.exec(block) ?? [];
    if (options === undefined) output.push(await run(block));
    else await start(options);
  }
  const [init, writes, drill, look, rescued, then, expire, forget] = output;
  expect(output.length).toBe(8);
  expect(init).toContain('is a repository for copies now');
  expect(writes).toMatch(/copied 1 tenant/);
  expect(writes).toMatch(/0 behind/);
  expect(drill).toContain('acme');
  expect(look).toContain('"title":"first"');
  expect(rescued).toContain('1 tenants checked: all is well');
  expect(then).toContain('acme-then');
  expect(expire).toContain('would be removed');
  expect(forget).toContain('no copy of acme can be read any more');
});

/** Starts the server, or starts it again on its data. */
async function start(options: string): Promise<void> {
  const args = options.split(' ').map(word => (/^--|=/.test(word) ? word : join(directory, word)));
  if (service === null) {
    service = await Service.start({args});
  } else {
    await service.end('SIGTERM');
    await service.run(args);
  }
}
