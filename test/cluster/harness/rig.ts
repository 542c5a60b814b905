/** What the conformance suite needs of an implementation: connections with faults, time, and a place of its own. */

import type {LogEngine} from '../../../cluster/log/log-engine.ts';
import type {LogPosition} from '../../../cluster/log/record.ts';
import {ReplicatedLog} from '../../../cluster/log/replicated-log.ts';
import {Subjects, shardOf, type TenantName} from '../../../cluster/log/subjects.ts';
import type {LogEntry, LogRecord, OpenOptions, TenantLog} from '../../../cluster/log/tenant-log.ts';
import type {Timing} from '../../../cluster/log/timing.ts';
import {sourceOf} from '../../../engine/copies/bytes.ts';
import {commitBody} from './commit-body.ts';
import {type Fault, FaultyEngine, type Request} from './faulty-engine.ts';

export interface Rig {
  readonly timing: Timing;
  /** Another host's connection. */
  connect(): Promise<LogEngine>;
  /** Bytes that the stream of a log takes; infinite at the start. */
  setSpace(tenant: TenantName, bytesMax: number): Promise<void>;
  /** Runs a scenario, with its time. */
  run(work: () => Promise<void>): Promise<void>;
}

export const CLUSTER = 'test';
export const SUBJECTS = new Subjects(CLUSTER);
/** Of all tenants of tests, so that they need one stream. */
export const TENANT_SHARD = 7;
let tenants = 0;

/** One that no other scenario has. */
export function newTenant(): TenantName {
  for (;;) {
    const id = `t${process.pid}-${++tenants}`;
    if (shardOf(id) === TENANT_SHARD) return {id, generation: 1};
  }
}

export type Host = {
  readonly engine: FaultyEngine;
  readonly replicated: ReplicatedLog;
  log(tenant: TenantName): TenantLog;
  /** The faults of the next requests of a kind to the log's subject; afterwards none. */
  script(request: Request, faults: readonly Fault[]): void;
  /** Any request from now on. */
  choose(chooses: (request: Request) => Fault): void;
};

export async function hostOf(rig: Rig): Promise<Host> {
  const scripts: Record<Request, Fault[]> = {publish: [], read: [], remove: []};
  let chooses: (request: Request) => Fault = () => 'none';
  const engine = new FaultyEngine(
    await rig.connect(),
    rig.timing,
    request => scripts[request].shift() ?? chooses(request),
  );
  const replicated = new ReplicatedLog(engine, CLUSTER, rig.timing);
  return {
    engine,
    replicated,
    log: tenant => replicated.tenant(tenant),
    script: (request, faults) => {
      scripts[request] = [...faults];
    },
    choose: other => {
      chooses = other;
    },
  };
}

export function commit(epoch: number, text: string, bytes?: number): LogEntry {
  return {kind: 'commit', epoch, body: sourceOf(commitBody(text, bytes))};
}

export function note(kind: 'open' | 'close', epoch: number, text = ''): LogEntry {
  return {kind, epoch, body: sourceOf(Buffer.from(text))};
}

/** Of a host without a file, whose lease is not a test's concern. */
export function openOptions(epoch: number, from: LogPosition | null): OpenOptions {
  return {epoch, note: `host of epoch ${epoch}`, from, openedBy: null, apply: () => {}, ownerEnds: () => {}};
}

/** Opens it and returns its place. */
export async function opened(log: TenantLog, epoch: number, from: LogPosition | null = null): Promise<LogPosition> {
  const outcome = await log.open(openOptions(epoch, from));
  if (outcome.kind !== 'opened') throw new Error(`opening epoch ${epoch} was ${outcome.kind}`);
  return outcome.position;
}

export async function allOf(log: TenantLog, from: LogPosition | null = null): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const record of log.read(from)) records.push(record);
  return records;
}

/** `1.2 commit` is the second record, of epoch 1. */
export async function summary(log: TenantLog): Promise<string[]> {
  return (await allOf(log)).map(({head}) => `${head.epoch}.${head.n} ${head.kind}`);
}
