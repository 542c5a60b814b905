/** The examples of docs/sandboxes.md, run as they stand against a fresh server. */
import {execFile} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';

const text = readFileSync(fileURLToPath(new URL('../../docs/sandboxes.md', import.meta.url)), 'utf8');
const [setUp = '', ...examples] = Array.from(text.matchAll(/^```sh\n(.*?)^```$/gms), match => match[1]!);

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('every shell example of docs/sandboxes.md succeeds, in their order', async () => {
  service.showLogOnFailure();
  expect(examples.length).toBeGreaterThan(4);
  const start = setUp
    .replace('http://127.0.0.1:3210', service.url)
    .replace('data/admin.json', `${service.data}/admin.json`);
  expect(start).toContain(service.url);
  expect(start).toContain(service.data);
  const script = ['set -eu', start, ...examples].join('\n');
  const {stdout} = await promisify(execFile)('bash', ['-o', 'pipefail', '-c', script]);
  for (const shown of [
    '"state":"running"',
    `{"value":2,"log_lines":["[LOG] 'hello'"]`,
    '{"value":42,"log_lines":[]',
    '"code":"sandbox.execution_failed","message":"no"',
    '"state":"stopped"',
    '{"value":["a"],"log_lines":[]',
    '"metadata":{"user":"ada"}',
    '"state":"closed"',
  ]) {
    expect(stdout).toContain(shown);
  }
});
