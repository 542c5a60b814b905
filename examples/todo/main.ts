/** `npm run todo`: makes the tenant and a key for the page, and writes the page into a folder, for any web server. */
import {Command} from 'commander';
import {accessToken} from '../../cli/client.ts';
import {reportFailure} from '../../cli/failure.ts';
import {makeKey, writePage} from './page.ts';

type Options = {url: string; tenant: string; out: string; publicUrl?: string};

const command = new Command('todo')
  .requiredOption('--out <folder>', 'where the page is written to')
  .option('--url <url>', 'where the server is', process.env.SVC_URL ?? 'http://127.0.0.1:3210')
  .option('--public-url <url>', 'where pages find it, if that is another')
  .option('--tenant <id>', 'whose list it is', 'todo')
  .action((options: Options) => reportFailure('todo', () => run(options)));
await command.parseAsync();

async function run({url, tenant, out, publicUrl = url}: Options): Promise<void> {
  const server = {url, accessToken: await accessToken(url, process.env.SVC_DATA)};
  await writePage(out, {url: publicUrl, tenant, key: await makeKey(server, tenant)});
  console.log(`the page is in ${out}; its key reads and writes "todos" of ${tenant} for a day`);
}
