/** What the stages are handed after a commit, on a real file. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {Commit, CommittedEvent, passThrough, type Stage} from '../../engine/commit/commit.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {deleteEffect, insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {JournalReader} from '../../engine/journal/read-page.ts';
import {cancelJob, scheduleJob} from '../../engine/scheduler/jobs.ts';
import {Catalog, catalogIndex, indexKey} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {promptSync} from '../harness/prompt-sync.ts';

let directory: string;
let db: Connection;
let groups: CommitGroups;
let commits: Commit[];
let order: string[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-commit-'));
  db = openWriter(join(directory, 'tenant.sqlite'));
  commits = [];
  order = [];
  // However slow the machine is, a group ends with its queue.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const stages = [
    {committed: () => void order.push('first stage')},
    {committed: () => void order.push('second stage')},
    {committed: (commit: Commit) => void commits.push(commit)},
  ];
  const writer = new Writer(db, Catalog.read(db), Date.now);
  groups = new CommitGroups({writer, metrics: new WorkerMetrics(), log: createLogger({}), stages, sync: promptSync});
});
afterEach(async () => {
  await groups.close();
  db.close();
  rmSync(directory, {recursive: true});
  vi.restoreAllMocks();
});

const fieldsOf = (commit: Commit) =>
  commit.changes.map(({before, after}) => [before?.document.n ?? null, after?.document.n ?? null]);

describe('a commit', () => {
  test('has both sides of every change, parsed, in order', async () => {
    const insert = groups.perform(insertEffect('t', {n: 1, text: 'a'}));
    const id = await insert;
    await Promise.all([
      groups.perform(patchEffect('t', id, {patch: {n: 2}})),
      groups.perform(patchEffect('t', id, {patch: {n: 3}})),
      groups.perform(deleteEffect('t', id)),
    ]);
    expect(commits.map(fieldsOf)).toEqual([
      [[null, 1]],
      [
        [1, 2],
        [2, 3],
        [3, null],
      ],
    ]);
    const [change] = commits[0]!.changes;
    expect(change).toMatchObject({id, table: {number: 1, name: 't'}});
    expect(change!.after!.document).toEqual({
      _id: id,
      _creationTime: change!.after!.row.created,
      _updateTime: change!.after!.row.updated,
      n: 1,
      text: 'a',
    });
    expect(change!.after!.document).toBe(change!.after!.document);
  });

  test('has the key of each side in every index that has an entry of it', async () => {
    const id = await groups.perform(writer => {
      const table = writer.table('t');
      table.indexes = [
        catalogIndex(1, 'by_n', ['n'], 'enabled', 0),
        catalogIndex(2, 'old', ['text'], 'dropping', 0),
        catalogIndex(3, 'new', ['text'], 'building', 0),
      ];
      return insertEffect('t', {n: 1, text: 'a'})(writer);
    });
    await groups.perform(patchEffect('t', id, {patch: {n: 2}}));
    await groups.perform(deleteEffect('t', id));
    for (const {indexes, before, after} of commits.flatMap(({changes}) => changes)) {
      expect(indexes.map(({number}) => number)).toEqual([1, 3]);
      for (const side of [before, after]) {
        if (side !== null) expect(side.keys).toEqual(indexes.map(index => indexKey(index, side.document)));
      }
    }
  });

  test('has its records as the journal shows them, and their sequences', async () => {
    await Promise.all([groups.perform(insertEffect('t', {n: 1})), groups.perform(insertEffect('t', {n: 2}))]);
    await groups.perform(insertEffect('t', {n: 3}));
    const page = JSON.parse(new JournalReader(db).page({after: null, limit: 10, timeline: null}));
    expect(commits.flatMap(({records}) => records.map(record => JSON.parse(record)))).toEqual(page.records);
    expect(commits.map(({firstSequence, lastSequence}) => [firstSequence, lastSequence])).toEqual([
      [1, 2],
      [3, 3],
    ]);
    const newest = (page.records as {timestamp: number}[]).at(-1)!.timestamp;
    expect(commits[1]!.committedMs).toBeGreaterThanOrEqual(newest);
  });

  test('has what happened besides documents, and none of what was taken back', async () => {
    const work = JSON.stringify({type: 'insert', table: 't', fields: {}});
    const id = await groups.perform(writer => scheduleJob(writer, 0, 5_000_000_000_000, work));
    const refused = groups.perform(writer => {
      scheduleJob(writer, 0, 1, work);
      insertEffect('t', {n: 1})(writer);
      throw new Error('no');
    });
    const cancelled = groups.perform(writer => cancelJob(writer, id));
    await expect(refused).rejects.toMatchObject({code: 'op.failed'});
    await cancelled;
    expect(commits.map(({events}) => events.map(({event}) => event))).toEqual([
      [{type: 'job.scheduled', id, job: expect.objectContaining({id, mutation: JSON.parse(work)})}],
      [{type: 'job.cancelled', id}],
    ]);
    expect(commits[1]).toMatchObject({firstSequence: 2, lastSequence: 2, changes: []});
  });

  test('without a record is one that begins behind its end', async () => {
    await groups.perform(() => undefined);
    expect(commits[0]).toMatchObject({firstSequence: 1, lastSequence: 0, records: []});
  });

  test('passes the stages in their order before any caller is answered', async () => {
    await groups.perform(insertEffect('t', {n: 1})).then(() => order.push('reply'));
    expect(order).toEqual(['first stage', 'second stage', 'reply']);
  });

  test('passes over the stages that have nothing to do, and visits the others in their order', () => {
    const visited: string[] = [];
    const dependents = {size: 0};
    const stage = (name: string, rest: Partial<Stage>) => ({committed: () => void visited.push(name), ...rest});
    const stages: Stage[] = [
      stage('rows', {}),
      stage('events', {isOfEvents: true}),
      {takenBack: () => undefined},
      stage('subscribed', {dependents}),
      stage('last', {}),
    ];
    const pass = (events: CommittedEvent[]) => {
      visited.length = 0;
      passThrough(stages, new Commit(1, 1, [], events, []));
      return [...visited];
    };
    expect(pass([])).toEqual(['rows', 'last']);
    expect(pass([new CommittedEvent('job.scheduled', '{}')])).toEqual(['rows', 'events', 'last']);
    dependents.size = 1;
    expect(pass([])).toEqual(['rows', 'subscribed', 'last']);
    // An earlier stage gives a later one something to do.
    dependents.size = 0;
    stages[0] = {
      committed: () => {
        dependents.size = 1;
      },
    };
    expect(pass([])).toEqual(['subscribed', 'last']);
  });
});
