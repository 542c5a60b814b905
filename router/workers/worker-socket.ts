/**
 * The connection to the socket of a worker, which is in a directory of the worker's user. Code that has taken the worker over can put a
 * link there, and the router may open more than it: so what is connected to is the file that was looked at, a socket of that user.
 */
import {closeSync, constants, fstatSync, openSync} from 'node:fs';
import {connect, type OnReadOpts, Socket} from 'node:net';
import type {WorkerAddress} from '../../shared/ipc/control.ts';

/** `O_PATH` of Linux, which Node does not name: the file is found and not opened. */
const O_PATH = 0o10000000;

/** @returns `fault`: the worker does not listen there, and the socket is none that was connected */
export function connectToWorker(
  {socketPath, owner}: WorkerAddress,
  onread: OnReadOpts,
): {socket: Socket; fault: string | null} {
  let found: number | null = null;
  try {
    found = openSync(socketPath, O_PATH | constants.O_NOFOLLOW);
    const {uid, mode} = fstatSync(found);
    const isSocket = (mode & constants.S_IFMT) === constants.S_IFSOCK;
    if (isSocket && uid === owner) return {socket: connect({path: `/proc/self/fd/${found}`, onread}), fault: null};
    const what = isSocket ? `a socket of user ${uid}, not of ${owner}` : 'no socket';
    return {socket: new Socket(), fault: `there is ${what} where the worker listens`};
  } catch (caught) {
    // It has just ended. Trying the path nevertheless would follow a link that appears now.
    const socket = new Socket();
    setImmediate(() => socket.destroy(caught as Error));
    return {socket, fault: null};
  } finally {
    if (found !== null) closeSync(found);
  }
}
