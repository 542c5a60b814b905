/** Thread entry: checks the file named in workerData and posts what is wrong with it, if anything is. */
import {parentPort, workerData} from 'node:worker_threads';
import {openReader} from './database.ts';

const db = openReader((workerData as {path: string}).path);
const findings = db.pragma('quick_check(10)', {simple: false}) as {quick_check: string}[];
db.close();
const text = findings.map(row => row.quick_check).join('; ');
if (text !== 'ok') parentPort?.postMessage(text);
