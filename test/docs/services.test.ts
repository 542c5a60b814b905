/** The examples of docs/services.md, run as they stand against a fresh server. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {runExamples} from './shell-examples.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('every shell example of docs/services.md succeeds, in their order', async () => {
  const stdout = await runExamples('services.md', service);
  for (const shown of [
    '"name":"clock"',
    '"state":"starting","desired_state":"running","restarts":0,"started_at":null,"last_exit":null',
    `"level":"info","line":"'hello' 'world'"`,
    '"line":"runs as process ',
    '"state":"stopped","desired_state":"stopped"',
    '"reason":"stopped","message":null',
    '"reason":"returned"',
    `"line":"'once'"`,
  ]) {
    expect(stdout).toContain(shown);
  }
});
