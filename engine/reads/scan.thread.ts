/**
 * A thread for queries that read much, with its own read-only connection and one snapshot per query. A bug or a broken
 * file throws out of the thread, and ends the process as it would on the main thread.
 */
import {Buffer} from 'node:buffer';
import {parentPort, workerData} from 'node:worker_threads';
import {assert, unreachable} from '../../shared/assert.ts';
import {errorEnvelope, ServiceError} from '../../shared/errors.ts';
import {isEngineDamage, storageDamaged} from '../storage/damage.ts';
import {indexReads} from '../storage/index-reads.ts';
import {ThreadReader} from '../storage/thread-reader.ts';
import {liveBatches, liveRows} from './live-scan.ts';
import type {ReadBudget} from './read-budget.ts';
import {runScan} from './run.ts';
import type {
  FromScanThread,
  LiveBatch,
  LiveScan,
  RequestScan,
  ScanThreadSettings,
  ToScanThread,
} from './scan-message.ts';

/** Thrown when the result is not needed any more. */
const GIVEN_UP = Symbol('given up');

const {databasePath, indexReads: memory} = workerData as ScanThreadSettings;
indexReads.shareMemory(memory);
const storage = new ThreadReader(databasePath);
const port = parentPort;
assert(port !== null, 'this is a thread');

/** The remaining batches of the live result. */
let batches: {left: Iterator<LiveBatch, void, void>; next: LiveBatch; isComplete: boolean} | null = null;

port.on('message', (message: ToScanThread) => {
  switch (message.type) {
    case 'run':
      run(message.scan, message.flag);
      return;
    case 'more':
      sendBatch();
      return;
    case 'stop':
      batches = null;
      return;
    case 'end':
      storage.close();
      port.close();
      return;
    default:
      unreachable(message);
  }
});

function run(scan: RequestScan | LiveScan, flag: Int32Array): void {
  try {
    if (scan.kind === 'live') beginBatches(scan, flag);
    else sendAnswer(scan, flag);
  } catch (caught) {
    const error = isEngineDamage(caught) ? storageDamaged({check: 'engine'}) : caught;
    if (error === GIVEN_UP) post({type: 'failed', error: null});
    else if (error instanceof ServiceError) post({type: 'failed', error: errorEnvelope(error).error});
    else throw error;
  }
}

function sendAnswer(scan: RequestScan, flag: Int32Array): void {
  // A copy: small buffers share their memory with others, and a transferred buffer must not.
  const body = new Uint8Array(Buffer.from(storage.read(reader => runScan(reader, scan, readBudgetOf(flag)))));
  post({type: 'answer', body}, [body.buffer]);
}

function beginBatches(scan: LiveScan, flag: Int32Array): void {
  const found = storage.read(reader => liveRows(reader, scan, readBudgetOf(flag)));
  const left = liveBatches(found);
  batches = {left, next: left.next().value!, isComplete: found.isComplete};
  sendBatch();
}

function sendBatch(): void {
  assert(batches !== null, 'a live result is under way');
  const {left, next: batch, isComplete} = batches;
  const {value} = left.next();
  batches = value === undefined ? null : {left, next: value, isComplete};
  post({type: 'batch', batch, isLast: batches === null, isComplete});
}

function readBudgetOf(flag: Int32Array): ReadBudget {
  const look = () => {
    if (Atomics.load(flag, 0) !== 0) throw GIVEN_UP;
  };
  return {willReadAll: look, hasRead: look};
}

function post(message: FromScanThread, transfer: ArrayBuffer[] = []): void {
  port!.postMessage(message, transfer);
}
