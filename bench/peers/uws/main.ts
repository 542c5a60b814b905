/** The ceiling of HTTP: uWebSockets.js alone, answering every GET with the same JSON of a given length. */

import type * as Uws from 'uWebSockets.js';
import {createRequire} from 'node:module';

const bytes = Number(process.argv[2]);
const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
const envelope = JSON.stringify({document: {text: ''}});
const body = JSON.stringify({document: {text: 'x'.repeat(Math.max(bytes - envelope.length, 0))}});

uws
  .App()
  .get('/*', res => {
    res.cork(() => {
      res.writeHeader('Content-Type', 'application/json').end(body);
    });
  })
  .listen('127.0.0.1', 0, socket => {
    if (socket === false) throw new Error('cannot listen');
    process.stdout.write(`listening on ${uws.us_socket_local_port(socket)}\n`);
  });
