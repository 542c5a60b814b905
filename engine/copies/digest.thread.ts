/** The second thread of the digest of a large file. It posts the digest of the parts that it took. */
import {parentPort, workerData} from 'node:worker_threads';
import {type DigestOrder, digestOfParts} from './large-digest.ts';

parentPort?.postMessage(digestOfParts(workerData as DigestOrder).value);
