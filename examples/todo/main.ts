/** `npm run todo`: the page, served with the service behind it; with `--out`, written into a folder for any web server. */
import {Command} from 'commander';
import {accessToken} from '../../cli/client.ts';
import {reportFailure} from '../../cli/failure.ts';
import {DEFAULT_URL, runWithServer} from '../run/server.ts';
import {makeKey, writePage} from './page.ts';
import {serveTodo} from './serve.ts';

type Options = {url: string; tenant: string; port: string; out?: string; publicUrl?: string};

const command = new Command('todo')
  .option('--port <port>', 'of the page; 0: any free one', '4302')
  .option('--url <url>', 'where the server is, or is started', DEFAULT_URL)
  .option('--out <folder>', 'write the page there instead')
  .option('--public-url <url>', 'with --out: where pages find the server, if that is another')
  .option('--tenant <id>', 'with --out: whose list it is', 'todo')
  .action((options: Options) => reportFailure('todo', () => run(options)));
await command.parseAsync();

async function run({url, port, out, ...options}: Options): Promise<void> {
  if (out === undefined) await runWithServer('todo', url, port, server => serveTodo(server, Number(port)));
  else await write(out, url, options);
}

async function write(
  out: string,
  url: string,
  {tenant, publicUrl = url}: Omit<Options, 'url' | 'port' | 'out'>,
): Promise<void> {
  const server = {url, accessToken: await accessToken(url, process.env.SVC_DATA)};
  await writePage(out, {url: publicUrl, tenant, key: await makeKey(server, tenant)});
  console.log(`the page is in ${out}; its key reads and writes "todos" of ${tenant} for a day`);
}
