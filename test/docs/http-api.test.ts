/** The examples of docs/http-api.md, run as they stand against a fresh server. */
import {expect, test} from 'vitest';
import {pageText} from '../harness/docs-project.ts';
import {sharedService} from '../harness/shared-service.ts';
import {runExamples} from './shell-examples.ts';

const service = await sharedService();

test('every shell example of docs/http-api.md succeeds, in their order', async () => {
  const stdout = await runExamples('http-api.md', service);
  for (const shown of [
    '{"id":"docs"}',
    '"capital":true',
    '"state":"enabled"',
    '"type":"document.inserted"',
    '"next_cursor":null',
    'event: open\nid: 0\n',
    '"last_outcome":null',
  ]) {
    expect(stdout).toContain(shown);
  }
});

test('every JSON example of docs/http-api.md is JSON', () => {
  const blocks = Array.from(pageText('http-api.md').matchAll(/^```json\n(.*?)^```$/gms), match => match[1]!);
  expect(blocks.length).toBeGreaterThan(5);
  for (const block of blocks) {
    // Two bodies may stand in one block, a line each.
    const texts = block.trim().startsWith('{"run_after_ms"') ? block.trim().split('\n') : [block];
    for (const json of texts) expect(() => JSON.parse(json), json).not.toThrow();
  }
});
