/** Thread entry: does the orders that it receives, one after the other, while the cluster process renews its lease. */
import {parentPort} from 'node:worker_threads';
import {assert} from '../../shared/assert.ts';
import {lowerPriority} from '../../shared/lower-priority.ts';
import {STANDBY_NICE} from '../limits.ts';
import type {FileOrder} from './file-order.ts';
import {runOrder} from './file-work.ts';

const port = parentPort;
assert(port !== null, 'this is a thread');
// On Linux a priority is of the thread: owners and heartbeats go first.
if (process.platform === 'linux') lowerPriority(0, STANDBY_NICE);
port.on('message', (order: FileOrder) => port.postMessage(runOrder(order, Date.now())));
