/**
 * The capture thread of a tenant. It keeps its descriptors for as long as the process lives, because closing one of the
 * tenant's file releases the locks of SQLite's connections. What it throws ends the thread, and nothing else.
 */
import {parentPort, workerData} from 'node:worker_threads';
import {assert} from '../../shared/assert.ts';
import {lowerPriority} from '../../shared/lower-priority.ts';
import {CAPTURE_NICE} from '../limits.ts';
import {CaptureEnded, CaptureLink} from './capture-link.ts';
import {CaptureLoop, type CaptureSettings} from './capture-loop.ts';
import {LogReader} from './log-reader.ts';

/** `path` of the tenant's file, whose log exists. */
export type CaptureThreadData = {path: string; settings: CaptureSettings; memory: SharedArrayBuffer};
export type FromCaptureThread = {type: 'dropped'};

const {path, settings, memory} = workerData as CaptureThreadData;
const port = parentPort;
assert(port !== null, 'this is a thread');
const post = (message: FromCaptureThread): void => port.postMessage(message);

// On Linux a priority is of the thread: the one that writes goes first.
if (process.platform === 'linux') lowerPriority(0, CAPTURE_NICE);
const link = new CaptureLink(memory);
try {
  const log = new LogReader(path);
  new CaptureLoop(settings, {log, link, onDropped: () => post({type: 'dropped'})}).run();
} catch (caught) {
  // The serving thread does not wait for this one any more.
  link.end();
  if (!(caught instanceof CaptureEnded)) throw caught;
}
