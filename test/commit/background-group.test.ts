/** Groups of writes that no client waits for collect over several turns; a client's write does not wait for that. */
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import type {CommitGroups} from '../../engine/commit/group.ts';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {BACKGROUND_WORK_MS_MAX, BACKGROUND_WRITES_MAX, GROUP_WORK_MS_MAX} from '../../engine/limits.ts';
import type {ServiceError} from '../../shared/errors.ts';
import {WrittenFile} from './written-file.ts';

const PER_TURN = 32;

let file: WrittenFile;
let groups: CommitGroups;
let commits: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  file = new WrittenFile('background-group');
  groups = file.groups();
  commits = vi.spyOn(file.writer.statements.commit, 'run');
});

afterEach(() => {
  vi.restoreAllMocks();
  file.close();
});

/** @returns an object that has the outcome once there is one */
function submit(run = insertEffect('t', {})): {outcome?: string | ServiceError} {
  const written: {outcome?: string | ServiceError} = {};
  const settle = (outcome: string | ServiceError) => {
    written.outcome = outcome;
  };
  groups.submit<string>({run, collects: true, settle});
  return written;
}

const turn = () => new Promise(resolve => setImmediate(resolve));
const documents = () => file.db.prepare('SELECT count(*) FROM documents').pluck().get();

test('writes of several turns are one commit, after a turn without any', async () => {
  const first = submit();
  await turn();
  const second = submit();
  await turn();
  expect([first, second, commits.mock.calls.length]).toEqual([{}, {}, 0]);
  await turn();
  const made = {outcome: expect.any(String)};
  expect([first, second, commits.mock.calls.length]).toEqual([made, made, 1]);
  expect(documents()).toBe(2);
});

test("a client's write that joins is committed in its turn, with those before it", async () => {
  const first = submit();
  await turn();
  const client = vi.fn();
  void groups.perform(insertEffect('t', {})).then(client);
  await turn();
  expect(client).toHaveBeenCalledTimes(1);
  expect(first).toEqual({outcome: expect.any(String)});
  expect(commits).toHaveBeenCalledTimes(1);
});

test('a group is committed when it is large, although more follow', async () => {
  const written: ReturnType<typeof submit>[] = [];
  // The time is not to end the group: each turn takes none.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  while (commits.mock.calls.length === 0) {
    for (let n = 0; n < PER_TURN; n++) written.push(submit());
    await turn();
  }
  expect(written.length).toBe(BACKGROUND_WRITES_MAX);
});

test('a group is committed when its writes have taken long, although more follow', async () => {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  let turns = 0;
  for (; commits.mock.calls.length === 0; turns++) {
    submit(writer => {
      nowMs += GROUP_WORK_MS_MAX;
      return insertEffect('t', {})(writer);
    });
    await turn();
  }
  expect(turns).toBe(BACKGROUND_WORK_MS_MAX / GROUP_WORK_MS_MAX);
});

test('a close does not wait for more', async () => {
  const first = submit();
  await turn();
  await groups.close();
  expect(first).toEqual({outcome: expect.any(String)});
});

test('who waits until all writes are settled does not wait for more of them', async () => {
  submit();
  await turn();
  const settled = vi.fn();
  void groups.settled().then(settled);
  submit();
  await turn();
  expect(settled).toHaveBeenCalledTimes(1);
  expect(commits).toHaveBeenCalledTimes(1);
});
