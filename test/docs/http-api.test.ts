/** The examples of docs/http-api.md, run as they stand against a fresh server. */
import {execFile} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';

const text = readFileSync(fileURLToPath(new URL('../../docs/http-api.md', import.meta.url)), 'utf8');
const [setUp = '', ...examples] = Array.from(text.matchAll(/^```sh\n(.*?)^```$/gms), match => match[1]!);

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('every shell example of docs/http-api.md succeeds, in their order', async () => {
  service.showLogOnFailure();
  expect(examples.length).toBeGreaterThan(5);
  const start = setUp
    .replace('http://127.0.0.1:3210', service.url)
    .replace('data/admin.json', `${service.data}/admin.json`);
  expect(start).toContain(service.url);
  expect(start).toContain(service.data);
  const script = ['set -eu', start, ...examples].join('\n');
  const {stdout} = await promisify(execFile)('bash', ['-o', 'pipefail', '-c', script]);
  for (const shown of [
    '{"id":"docs"}',
    '"capital":true',
    '"state":"enabled"',
    '"type":"document.inserted"',
    '"next_cursor":null',
    '"last_outcome":null',
  ]) {
    expect(stdout).toContain(shown);
  }
});

test('every JSON example of docs/http-api.md is JSON', () => {
  const blocks = Array.from(text.matchAll(/^```json\n(.*?)^```$/gms), match => match[1]!);
  expect(blocks.length).toBeGreaterThan(5);
  for (const block of blocks) {
    // Two bodies may stand in one block, a line each.
    const texts = block.trim().startsWith('{"run_after_ms"') ? block.trim().split('\n') : [block];
    for (const json of texts) expect(() => JSON.parse(json), json).not.toThrow();
  }
});
