/**
 * `npm run demo:live [-- --url URL --data DIR --country CH]`: holds "the largest cities of a country" of tenant `atlas` as a
 * live query and draws it again whenever it changes. Run `npm run demo` first, and `npm run demo:write` beside it.
 */
import {Command} from 'commander';
import {WebSocket} from 'undici';
import {accessToken, addServerOptions, originOf, type ServerOptions} from '../../cli/client.ts';
import {CommandFailure, reportFailure} from '../../cli/failure.ts';

type City = {name: string; population: number};
type Frame = {type: string; data?: City[]; error?: {code: string; message: string}};

const command = addServerOptions(new Command('demo:live'))
  .option('--country <code>', 'whose cities', 'JP')
  .action((options: ServerOptions & {country: string}) => reportFailure('demo:live', () => live(options)));
await command.parseAsync();

async function live({url, data, country}: ServerOptions & {country: string}): Promise<void> {
  const address = `${originOf(url).replace(/^http/, 'ws')}/ws?tenant_id=atlas`;
  const headers = {authorization: `Bearer ${await accessToken(originOf(url), data)}`};
  const socket = new WebSocket(address, {protocols: ['svc.v2'], headers});
  const query = {
    table: 'cities',
    filters: [{field: 'country', op: 'eq', value: country}],
    order: {field: 'population', direction: 'desc'},
    limit: 10,
  };
  let results = 0;
  socket.addEventListener('open', () => {
    socket.send(JSON.stringify({type: 'client_hello', protocol: 'svc.v2'}));
    socket.send(JSON.stringify({type: 'subscribe', request_id: 'demo', query}));
  });
  socket.addEventListener('message', event => {
    const {type, data: cities, error} = JSON.parse(String(event.data)) as Frame;
    if (type === 'subscription_result') draw(country, cities!, ++results);
    else if (error !== undefined) process.stderr.write(`demo:live: ${error.code}: ${error.message}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('error', () =>
      reject(new CommandFailure(`no socket to ${address}: is the server running?`)),
    );
    socket.addEventListener('close', ({code, reason}) => {
      process.stdout.write(`closed: ${code} ${reason}\n`);
      resolve();
    });
  });
}

function draw(country: string, cities: City[], results: number): void {
  const lines = cities.map(({name, population}, i) => {
    const place = String(i + 1).padStart(3);
    return `${place}  ${name.padEnd(24)} ${population.toLocaleString('en').padStart(12)}`;
  });
  const clear = process.stdout.isTTY ? '\x1b[2J\x1b[H' : '';
  process.stdout.write(`${clear}The largest cities of ${country}, result ${results}\n${lines.join('\n')}\n`);
}
