/** Thread entry: verifies the file named in workerData, and posts the first finding, or null. */
import {parentPort, workerData} from 'node:worker_threads';
import {verifyFile} from '../verify/verify-file.ts';

const {path, owner} = workerData as {path: string; owner: {tenant: string; generation: number}};
const {findings} = verifyFile(path, owner);
parentPort?.postMessage(findings[0] ?? null);
