import {appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {FIGURE_FUNCTIONS_MAX} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {FunctionCounts, functionCountsIn, OTHER_FUNCTIONS} from '../../shared/metrics/function-counts.ts';
import {LATENCY_BUCKETS, latencyBucket} from '../../shared/metrics/latency.ts';
import {type FigureRecord, RECORD_BYTES} from '../../supervisor/figures/figure-record.ts';
import {Figures} from '../../supervisor/figures/figures.ts';
import {FiguresFile} from '../../supervisor/figures/figures-file.ts';
import {MINUTE_MS} from '../../supervisor/figures/tenant-traffic.ts';
import {TrafficCounts} from '../../supervisor/figures/traffic-counts.ts';
import {until} from '../harness/until.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-figures-'));
  path = join(directory, 'figures.ring');
});
afterEach(() => rmSync(directory, {recursive: true}));

function counts(requests: number): TrafficCounts {
  const made = new TrafficCounts();
  const latencies = new Array<number>(LATENCY_BUCKETS).fill(0);
  latencies[latencyBucket(4)] = requests;
  made.add({requests, errors: 1, bytesIn: 10, bytesOut: 20, latencies});
  return made;
}

function record(minute: number, generation: number, name: string, requests: number): FigureRecord {
  return {minute, generation, name, counts: counts(requests), sockets: 2};
}

async function requestsOf(file: FiguresFile, generation: number, name: string): Promise<number[]> {
  const found: number[] = [];
  for await (const each of file.records(generation, name, 0, 1_000_000)) found.push(each.counts.requests);
  return found;
}

describe('the figures file', () => {
  test('has the newest records of each key, however it is closed and opened in between', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.constant('reopen' as const),
        fc.array(fc.tuple(fc.integer({min: 1, max: 3}), fc.constantFrom('', 'a:b')), {minLength: 1, maxLength: 9}),
      ),
      {maxLength: 12},
    );
    const capacity = 7;
    await fc.assert(
      fc.asyncProperty(steps, async given => {
        rmSync(path, {force: true});
        let file = await FiguresFile.open(path, capacity);
        let model: {generation: number; name: string; requests: number}[] = [];
        let requests = 0;
        for (const [minute, step] of given.entries()) {
          if (step === 'reopen') {
            await file.close();
            file = await FiguresFile.open(path, capacity);
          } else {
            const added = step.map(([generation, name]) => ({generation, name, requests: ++requests}));
            await file.append(added.map(each => record(minute, each.generation, each.name, each.requests)));
            model = [...model, ...added].slice(-capacity);
          }
        }
        for (const generation of [1, 2, 3]) {
          for (const name of ['', 'a:b']) {
            const own = model.filter(each => each.generation === generation && each.name === name);
            expect(await requestsOf(file, generation, name)).toEqual(own.map(each => each.requests).reverse());
          }
        }
        file.prune();
        const names = new Set(model.filter(each => each.generation === 1).map(({name}) => name));
        expect(new Set(file.names(1))).toEqual(names);
        await file.close();
      }),
      {numRuns: 60},
    );
  });

  test('skips a damaged record and a torn end, and begins anew over anything else', async () => {
    const file = await FiguresFile.open(path, 100);
    await file.append([1, 2, 3, 4].map(n => record(n, 1, '', n)));
    await file.close();
    const bytes = readFileSync(path);
    bytes[64 + RECORD_BYTES + 30]! ^= 1;
    writeFileSync(path, bytes);
    truncateSync(path, bytes.length - 10);
    const damaged = await FiguresFile.open(path, 100);
    expect(await requestsOf(damaged, 1, '')).toEqual([3, 1]);
    await damaged.close();
    for (const content of ['', 'x', 'x'.repeat(10_000)]) {
      writeFileSync(path, content);
      const anew = await FiguresFile.open(path, 100);
      await anew.append([record(1, 1, '', 5)]);
      expect(await requestsOf(anew, 1, '')).toEqual([5]);
      await anew.close();
    }
    appendFileSync(path, 'x'.repeat(10_000_000));
    expect(await requestsOf(await FiguresFile.open(path, 100), 1, '')).toEqual([5]);
  });
});

test('minutes become points of a step, of a tenant, its functions and the server', async () => {
  const figures = new Figures(path, createLogger({}));
  const request = {fromMs: 0, toMs: 60 * MINUTE_MS, stepSeconds: 120, name: null};
  const written = async (minute: number) =>
    until('the minute to be written', async () => {
      const {points} = await figures.of(null, {...request, fromMs: minute * MINUTE_MS, stepSeconds: 60});
      return points.length > 0;
    });
  for (const minute of [10, 11, 12]) {
    figures.addFunctions(7, [{name: 'm:list', calls: 3, errors: 1, latencies: [...counts(3).latencies]}]);
    const traffic = ['acme', 'gone'].map(tenant => ({tenant, counts: counts(minute), sockets: minute}));
    figures.finish(minute, traffic, tenant => (tenant === 'acme' ? 7 : undefined));
    await written(minute);
  }
  const {points} = await figures.of(7, request);
  expect(points).toMatchObject([
    {at: 10 * MINUTE_MS, requests: 21, errors: 2, sockets: 11, bytes_in: 20},
    {at: 12 * MINUTE_MS, requests: 12, errors: 1, sockets: 12, bytes_in: 10},
  ]);
  expect((await figures.of(null, request)).points[0]).toMatchObject({requests: 42, sockets: 22});
  expect(await figures.of(8, request)).toMatchObject({points: []});
  expect(await figures.ofFunctions(7, request)).toMatchObject({
    functions: [{name: 'm:list', calls: 9, errors: 3}],
    points: null,
  });
  const one = await figures.ofFunctions(7, {...request, name: 'm:list'});
  expect(one.points?.map(({requests}) => requests)).toEqual([6, 3]);
  await figures.close();
});

test('a file that cannot be opened costs only the charts', async () => {
  const figures = new Figures(join(directory, 'none', 'figures.ring'), createLogger({}));
  figures.finish(1, [{tenant: 'acme', counts: counts(1), sockets: 0}], () => 7);
  expect((await figures.of(7, {fromMs: 0, toMs: 1, stepSeconds: 60, name: null})).points).toEqual([]);
  await figures.close();
});

describe('a report of functions', () => {
  test('has a bounded number of names, the rest together', () => {
    const functions = new FunctionCounts();
    for (let n = 0; n < FIGURE_FUNCTIONS_MAX + 50; n++) functions.add(`m:f${n}`, false, 1);
    functions.add('x'.repeat(500), true, 1);
    const taken = functions.take();
    expect(taken.length).toBe(FIGURE_FUNCTIONS_MAX + 1);
    expect(taken.at(-1)).toMatchObject({name: OTHER_FUNCTIONS, calls: 51, errors: 1});
    expect(functionCountsIn(JSON.stringify(taken))).toEqual(taken);
    expect(functions.take()).toEqual([]);
  });

  test('is outside input', () => {
    const good = {name: 'm:f', calls: 1, errors: 0, latencies: new Array<number>(LATENCY_BUCKETS).fill(0)};
    expect(functionCountsIn(JSON.stringify([good]))).toEqual([good]);
    const wrong = [
      ...[{name: ''}, {name: 'x'.repeat(96)}, {calls: -1}, {calls: 0.5}, {errors: null}],
      ...[{latencies: []}, {latencies: new Array(LATENCY_BUCKETS).fill('1')}],
    ];
    for (const part of wrong) expect(functionCountsIn(JSON.stringify([{...good, ...part}]))).toBeNull();
    for (const text of ['', '{}', '[1]', 'null', JSON.stringify(new Array(500).fill(good))]) {
      expect(functionCountsIn(text)).toBeNull();
    }
  });
});
