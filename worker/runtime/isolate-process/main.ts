/**
 * The helper process that runs a tenant's queries and actions. User code can crash a process in more ways than V8's
 * limits catch, so a crash ends this process and not the worker. It holds the pools, whose threads have the isolates
 * and read the tenant's file themselves. Everything else is requested from the worker over one socket.
 *
 * This thread runs no user code, so it always reads messages of its worker. When the worker ends, it ends.
 */
import type {Buffer} from 'node:buffer';
import {assert, unreachable} from '../../../shared/assert.ts';
import {asServiceError, errorEnvelope} from '../../../shared/errors.ts';
import type {ActionAnswer, ActionAnswers} from '../actions/action-link.ts';
import {ActionPool} from '../actions/action-pool.ts';
import type {Execution} from '../execution.ts';
import {ISOLATE_FRAME_BYTES_MAX} from '../limits.ts';
import {become} from '../process/user.ts';
import {WorkerPipe} from '../process/worker-pipe.ts';
import {ProcessMemory} from '../process-memory.ts';
import {unpacked} from '../queries/packed-executions.ts';
import {textOf, withoutValue} from '../queries/packed-run.ts';
import {QueryPool} from '../queries/query-pool.ts';
import type {FromIsolates, QuerySlot, ToIsolates} from './isolate-message.ts';
import {RunFrames} from './run-frames.ts';

type UnderWay = {cancel: AbortController; calls: Map<number, (answer: ActionAnswer) => void>; lastCall: number};

const pipe = new WorkerPipe<FromIsolates, ToIsolates>(ISOLATE_FRAME_BYTES_MAX, received);
const frames = new RunFrames((head, values) => pipe.sendText(head, values));
const actionsUnderWay = new Map<number, UnderWay>();
/** Queries of one snapshot that have not all arrived, by id. */
const batching = new Map<number, Execution[]>();
let env: Execution['env'] = {};
const memory = new ProcessMemory();
// A thread that hangs in a V8 call cannot be interrupted; its resources are freed when the process ends.
const queries = new QueryPool(null, memory, end);
const actions = new ActionPool({databasePath: null, memory});

say({type: 'ready'});

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Runs of this turn go first. */
function say(message: FromIsolates, tail: string | Uint8Array = ''): void {
  frames.flush();
  pipe.send(message, tail);
}

function received(message: ToIsolates, tail: Buffer): void {
  switch (message.type) {
    case 'become':
      become(message.user);
      return;
    case 'open':
      queries.open(message.databasePath);
      actions.open(message.databasePath);
      return;
    case 'warm':
      void queries.warm().then(() => say({type: 'warmed'}));
      return;
    case 'env':
      env = message.env;
      return;
    case 'queries':
      for (const [number, execution] of unpacked(message, tail.toString(), env).entries()) {
        query(message.slots[number]!, execution);
      }
      return;
    case 'action':
      void action(message, tail.toString());
      return;
    case 'cancel':
      actionsUnderWay.get(message.id)?.cancel.abort();
      return;
    case 'answer':
      answered(message, tail);
      return;
    case 'look':
      say({type: 'alive'});
      return;
    case 'close':
      void close();
      return;
    default:
      unreachable(message);
  }
}

function query([id, at, count]: QuerySlot, execution: Execution): void {
  if (count === 1) {
    answer(id, () => queries.run(execution).then(run => frames.add(id, 0, run)));
    return;
  }
  const all = batching.get(id) ?? [];
  all.push(execution);
  if (all.length < count) {
    batching.set(id, all);
    return;
  }
  assert(at === count - 1, 'queries of one snapshot come in their order');
  batching.delete(id);
  answer(id, async () => {
    for (const [number, run] of (await queries.runTogether(all)).entries()) frames.add(id, number, run);
  });
}

/** @param run answers the queries with this id, or throws, at once or later */
function answer(id: number, run: () => Promise<void>): void {
  const refuse = (caught: unknown) => failed(id, caught);
  try {
    run().catch(refuse);
  } catch (caught) {
    refuse(caught);
  }
}

async function action({id, request}: ToIsolates & {type: 'action'}, args: string): Promise<void> {
  const underWay: UnderWay = {cancel: new AbortController(), calls: new Map(), lastCall: 0};
  actionsUnderWay.set(id, underWay);
  try {
    const outcome = await actions.run({...request, args, env}, answersFor(id, underWay), underWay.cancel.signal);
    say({type: 'outcome', id, outcome: withoutValue(outcome)}, textOf(outcome));
  } catch (caught) {
    failed(id, caught);
  } finally {
    actionsUnderWay.delete(id);
  }
}

function answersFor(id: number, underWay: UnderWay): ActionAnswers {
  return {
    log: line => say({type: 'log', id, line}),
    answer: (operation, parameters, bytes) => {
      const call = ++underWay.lastCall;
      const {promise, resolve} = Promise.withResolvers<ActionAnswer>();
      underWay.calls.set(call, resolve);
      if (bytes === null) say({type: 'call', id, call, operation, parameters: null}, parameters);
      else say({type: 'call', id, call, operation, parameters}, bytes);
      return promise;
    },
  };
}

function answered({id, call, answer}: ToIsolates & {type: 'answer'}, tail: Buffer): void {
  const calls = actionsUnderWay.get(id)?.calls;
  const resolve = calls?.get(call);
  calls?.delete(call);
  resolve?.(answer === null ? {answer: tail.toString(), bytes: null} : {answer, bytes: new Uint8Array(tail)});
}

async function close(): Promise<void> {
  await Promise.all([queries.close(), actions.close()]);
  say({type: 'closed'});
}

function failed(id: number, caught: unknown): void {
  const error = asServiceError(caught);
  const reason = error.cause === undefined ? null : reasonOf(error.cause);
  say({type: 'refused', id, error: errorEnvelope(error).error, reason});
}

function reasonOf(caught: unknown): string {
  return caught instanceof Error ? (caught.stack ?? caught.message) : String(caught);
}
