/** The ceiling of fan-out: uWebSockets.js alone. Every socket is subscribed; POST /publish sends them its body and answers. */

import type * as Uws from 'uWebSockets.js';
import {createRequire} from 'node:module';

const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
const app = uws.App();

app
  .ws('/ws', {open: ws => void ws.subscribe('all'), maxBackpressure: 64 * 1024 * 1024})
  .post('/publish', res => {
    res.onAborted(() => undefined);
    res.onData((chunk, isLast) => {
      if (!isLast) return;
      app.publish('all', chunk, false);
      res.cork(() => void res.end('{}'));
    });
  })
  .listen('127.0.0.1', 0, socket => {
    if (socket === false) throw new Error('cannot listen');
    process.stdout.write(`listening on ${uws.us_socket_local_port(socket)}\n`);
  });
