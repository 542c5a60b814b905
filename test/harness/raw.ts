/** HTTP by hand, for what a client library would refuse to send or put right on its way. */
import {once} from 'node:events';
import {connect} from 'node:net';
import type {Reply, Service} from './service.ts';

/**
 * Sends these lines as they are (the first is the request line), then the body; `Host`, `Content-Length` and the credential
 * are up to the caller. Returns the one answer.
 */
export async function rawRequest(service: Service, lines: string[], body: string | Buffer = ''): Promise<Reply> {
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  const received = await service.raw(Buffer.concat([head, Buffer.from(body)]), isComplete);
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) throw new Error(`no answer to ${lines[0]}: ${JSON.stringify(received)}`);
  const [statusLine = '', ...headerLines] = received.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    headerLines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const text = Buffer.from(received.slice(end + 4), 'latin1').toString('utf8');
  const isJson = headers['content-type'] === 'application/json' && text !== '';
  return {status: Number(statusLine.split(' ')[1]), headers, text, body: (isJson ? JSON.parse(text) : null) as never};
}

/** The lines every request of a well-behaved client has, for `rawRequest`. */
export function usualLines(service: Service): string[] {
  return [`Host: 127.0.0.1:${service.port}`, `Authorization: Bearer ${service.accessToken}`];
}

/** Sends these bytes and breaks the connection off. */
export async function sendAndLeave(service: Service, bytes: string): Promise<void> {
  const socket = connect({host: '127.0.0.1', port: service.port});
  await once(socket, 'connect');
  await new Promise<void>(sent => socket.write(bytes, () => sent()));
  socket.resetAndDestroy();
  await once(socket, 'close');
}

function isComplete(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, end));
  return length !== null && received.length >= end + 4 + Number(length[1]);
}
