/** The examples of docs/sandboxes.md, run as they stand against a fresh server. */
import {expect, test} from 'vitest';
import {sharedService} from '../harness/shared-service.ts';
import {runExamples} from './shell-examples.ts';

const service = await sharedService();

test('every shell example of docs/sandboxes.md succeeds, in their order', async () => {
  const stdout = await runExamples('sandboxes.md', service);
  for (const shown of [
    '"state":"running"',
    `{"value":2,"log_lines":["[LOG] 'hello'"]`,
    '{"value":42,"log_lines":[]',
    '"code":"sandbox.execution_failed","message":"no"',
    '{"value":"2d711642","log_lines":[]',
    '"state":"stopped"',
    '{"value":["a"],"log_lines":[]',
    '"metadata":{"user":"ada"}',
    '"state":"closed"',
  ]) {
    expect(stdout).toContain(shown);
  }
});
