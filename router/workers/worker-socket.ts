/**
 * Connects to a worker's socket, which is in a directory of the worker's user. Code that has taken over the worker can
 * put a link there, and the router can open files that the worker cannot. So the router connects to exactly the file
 * that it checked, which is a socket of that user.
 */
import type {Buffer} from 'node:buffer';
import {closeSync, constants, fstatSync, openSync} from 'node:fs';
import {connect, Socket} from 'node:net';
import type {WorkerAddress} from '../../shared/ipc/control.ts';
import {onRead} from './read-buffer.ts';

/** Linux's `O_PATH`, which Node does not define: finds the file without opening it. */
const O_PATH = 0o10000000;

/**
 * Opens the connection of a link. Chunks are valid during the call of `received`. `secret`: what the link sends first;
 * null: the connection is open, and a router of the worker's host has sent it. `fault`: why the worker cannot be there;
 * the socket was never connected then.
 */
export type Connect = (received: (chunk: Buffer) => void) => {
  socket: Socket;
  secret: string | null;
  fault: string | null;
};

type WorkerSocket = {socket: Socket; secret: string; fault: string | null};

export function connectToWorker(address: WorkerAddress, received: (chunk: Buffer) => void): WorkerSocket {
  const {socketPath, owner, secret} = address;
  let found: number | null = null;
  try {
    found = openSync(socketPath, O_PATH | constants.O_NOFOLLOW);
    const {uid, mode} = fstatSync(found);
    const isSocket = (mode & constants.S_IFMT) === constants.S_IFSOCK;
    if (isSocket && uid === owner) {
      const socket = connect({path: `/proc/self/fd/${found}`, onread: onRead(received)});
      return {socket, secret, fault: null};
    }
    const what = isSocket ? `a socket of user ${uid}, not of ${owner}` : 'no socket';
    return {socket: new Socket(), secret, fault: `there is ${what} where the worker listens`};
  } catch (caught) {
    // The worker has just ended. Connecting by path anyway would follow a link that appears now.
    const socket = new Socket();
    setImmediate(() => socket.destroy(caught as Error));
    return {socket, secret, fault: null};
  } finally {
    if (found !== null) closeSync(found);
  }
}
