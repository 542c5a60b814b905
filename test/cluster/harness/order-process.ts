/**
 * A process that does orders on files, and kills itself at one change of the disk: a write is half done by then. Arguments:
 * a file with the orders, and the number of the change.
 */
import {readFileSync} from 'node:fs';
import {deserialize} from 'node:v8';
import type {FileOrder} from '../../../cluster/standby/file-order.ts';
import {runOrder} from '../../../cluster/standby/file-work.ts';
import {writeAll} from '../../../engine/copies/bytes.ts';
import {DISK} from '../../../engine/copies/disk.ts';

const [ordersPath, endAt] = process.argv.slice(2);
let changes = 0;

function isEnd(): boolean {
  return changes++ === Number(endAt);
}

function end(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('the process is killed');
}

const {write, truncate, sync, rename, remove, syncDirectory} = DISK;
Object.assign(DISK, {
  write: (fd: number, bytes: Buffer, at: number | null) => {
    if (!isEnd()) return write(fd, bytes, at);
    writeAll(fd, bytes.subarray(0, bytes.length >> 1), at);
    end();
  },
  truncate: (fd: number, bytes: number) => (isEnd() ? end() : truncate(fd, bytes)),
  sync: (fd: number) => (isEnd() ? end() : sync(fd)),
  rename: (from: string, to: string) => (isEnd() ? end() : rename(from, to)),
  remove: (path: string) => (isEnd() ? end() : remove(path)),
  syncDirectory: (path: string) => (isEnd() ? end() : syncDirectory(path)),
} satisfies Partial<typeof DISK>);

const orders = deserialize(readFileSync(ordersPath!)) as Omit<FileOrder, 'end'>[];
for (const order of orders) {
  const answer = runOrder({...order, end: new Int32Array(new SharedArrayBuffer(4))} as FileOrder, 0);
  if (answer.kind !== 'done') throw new Error(JSON.stringify(answer));
}
process.stdout.write(String(changes));
