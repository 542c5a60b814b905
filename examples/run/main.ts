/** `npm run chat`, `npm run tickets`: an example, whole, with the server that runs or one of its own. */
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Argument, Command} from 'commander';
import {reportFailure} from '../../cli/failure.ts';
import {openExample} from './example.ts';
import {DEFAULT_URL, runWithServer} from './server.ts';

const EXAMPLES = fileURLToPath(new URL('..', import.meta.url));

type Options = {url: string; port: string; development?: true};

const command = new Command('example')
  .addArgument(new Argument('<name>', 'a folder of examples/').choices(['chat', 'tickets']))
  .requiredOption('--port <port>', 'of the page; 0: any free one')
  .option('--url <url>', 'where the server is, or is started', DEFAULT_URL)
  .option('--development', "with React's own checks")
  .action((name: string, options: Options) => reportFailure(name, () => run(name, options)));
await command.parseAsync();

async function run(name: string, {url, port, development}: Options): Promise<void> {
  const directory = join(EXAMPLES, name);
  await runWithServer(name, url, port, server =>
    openExample({directory, server, port: Number(port), isDevelopment: development === true}),
  );
}
