/**
 * Connects to a worker's socket, which is in a directory of the worker's user. Code that has taken over the worker can
 * put a link there, and the router can open files that the worker cannot. So the router connects to exactly the file
 * that it checked, which is a socket of that user.
 */
import {closeSync, constants, fstatSync, openSync} from 'node:fs';
import {connect, type OnReadOpts, Socket} from 'node:net';
import type {WorkerAddress} from '../../shared/ipc/control.ts';

/** Linux's `O_PATH`, which Node does not define: finds the file without opening it. */
const O_PATH = 0o10000000;

/**
 * Opens the connection of a link, whose bytes arrive in `onread`. `fault`: why the worker cannot be there; the socket
 * was never connected then.
 */
export type Connect = (onread: OnReadOpts) => {socket: Socket; fault: string | null};

export function connectToWorker({socketPath, owner}: WorkerAddress, onread: OnReadOpts): ReturnType<Connect> {
  let found: number | null = null;
  try {
    found = openSync(socketPath, O_PATH | constants.O_NOFOLLOW);
    const {uid, mode} = fstatSync(found);
    const isSocket = (mode & constants.S_IFMT) === constants.S_IFSOCK;
    if (isSocket && uid === owner) return {socket: connect({path: `/proc/self/fd/${found}`, onread}), fault: null};
    const what = isSocket ? `a socket of user ${uid}, not of ${owner}` : 'no socket';
    return {socket: new Socket(), fault: `there is ${what} where the worker listens`};
  } catch (caught) {
    // The worker has just ended. Connecting by path anyway would follow a link that appears now.
    const socket = new Socket();
    setImmediate(() => socket.destroy(caught as Error));
    return {socket, fault: null};
  } finally {
    if (found !== null) closeSync(found);
  }
}
