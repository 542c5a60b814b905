/**
 * Loaded before everything else in each process of a copied build: it counts which functions are called, and writes the counts
 * since the last time when the file `turn` changes. `npm run walks` puts the directory in.
 */
import {readFileSync, renameSync, writeFileSync} from 'node:fs';
import {Session} from 'node:inspector';
import {threadId} from 'node:worker_threads';

const directory = '__DIRECTORY__';
const POLL_MS = 10;

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', {callCount: true, detailed: false});

let last = '';
setInterval(() => {
  const turn = readFileSync(`${directory}/turn`, 'utf8');
  if (turn === last) return;
  last = turn;
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error !== null) throw new Error(error.message);
    const called = taken.result.flatMap(({url, functions}) => {
      const offsets = functions.filter(({ranges}) => ranges[0].count > 0).map(({ranges}) => ranges[0].startOffset);
      return url.startsWith('file:') && offsets.length > 0 ? [{url, offsets}] : [];
    });
    const file = `${directory}/${turn}-${process.pid}-${threadId}`;
    writeFileSync(`${file}.part`, JSON.stringify(called));
    renameSync(`${file}.part`, `${file}.json`);
  });
}, POLL_MS).unref();
