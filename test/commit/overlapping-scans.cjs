/** A scan thread whose scan holds its snapshot until another one has begun its own, or until everybody is told to let go. */
const {BroadcastChannel, parentPort, workerData} = require('node:worker_threads');
const Database = require('better-sqlite3');

const db = new Database(workerData.databasePath, {readonly: true});
const others = new BroadcastChannel('overlapping-scans');
let isHeld = false;

others.onmessage = () => {
  if (!isHeld) return;
  isHeld = false;
  db.exec('COMMIT');
  parentPort.postMessage({type: 'answer', body: new Uint8Array(1)});
};

parentPort.on('message', ({type}) => {
  if (type === 'end') {
    others.close();
    db.close();
    parentPort.close();
    return;
  }
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM meta').get();
  isHeld = true;
  others.postMessage('begun');
});
