/** A tiny server for the assistant to ask: `node dictionary-server.mjs`, then http://127.0.0.1:4321/define/idempotent */
import {createServer} from 'node:http';

const MEANINGS = {
  idempotent: 'doing it twice is the same as doing it once',
  durable: 'still there after the power went out',
  tenant: 'somebody who lives in the house but cannot look into the other flats',
};

createServer((request, response) => {
  const word = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
  const meaning = Object.hasOwn(MEANINGS, word) ? MEANINGS[word] : null;
  response.writeHead(meaning === null ? 404 : 200, {'content-type': 'application/json'});
  response.end(JSON.stringify({word, meaning}));
}).listen(Number(process.env.PORT ?? 4321), '127.0.0.1', function listening() {
  console.log(`dictionary on http://127.0.0.1:${this.address().port}`);
});
