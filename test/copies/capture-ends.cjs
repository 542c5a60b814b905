/** In place of the capture thread: reads the tenant's file as that does, and fails or does nothing. */
const {openSync} = require('node:fs');
const {workerData} = require('node:worker_threads');

openSync(workerData.path, 'r');
if (workerData.settings.everyMs === 1) throw new Error('as the test says');
