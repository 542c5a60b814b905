/** The frames of a connection between a worker and the cluster process, at either end. */
import type {Socket} from 'node:net';
import {type FrameHandler, FrameReader, FrameWriter, MalformedFrame} from '../../shared/ipc/frame.ts';

/** @param malformed the other end broke a rule: nothing more of it can be read. @returns what sends frames */
export function frameSocket(socket: Socket, handler: FrameHandler, malformed: (why: string) => void): FrameWriter {
  const reader = new FrameReader(handler);
  socket.on('data', chunk => {
    try {
      reader.push(chunk as Buffer);
    } catch (error) {
      if (!(error instanceof MalformedFrame)) throw error;
      malformed(error.message);
    }
  });
  socket.on('error', () => undefined); // `close` follows
  return new FrameWriter(bytes => socket.write(bytes), process.nextTick);
}
