/**
 * `npm run chat`, `npm run tickets`: an example, whole. A server that runs already is used (SVC_URL, or http://127.0.0.1:3210);
 * otherwise one is started, on the same data directory as `npm start`, and ends with this command.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {Argument, Command} from 'commander';
import {accessToken} from '../../cli/client.ts';
import {CommandFailure, reportFailure} from '../../cli/failure.ts';
import {type Example, openExample} from './example.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY = 'svc listening on ';

type Options = {url: string; port: string; development?: true};

const command = new Command('example')
  .addArgument(new Argument('<name>', 'a folder of examples/').choices(['chat', 'tickets']))
  .requiredOption('--port <port>', 'of the page; 0: any free one')
  .option('--url <url>', 'where the server is, or is started', process.env.SVC_URL ?? 'http://127.0.0.1:3210')
  .option('--development', "with React's own checks")
  .action((name: string, options: Options) => reportFailure(name, () => run(name, options)));
await command.parseAsync();

async function run(name: string, {url, port, development}: Options): Promise<void> {
  const started = (await isThere(url)) ? null : await startServer(url);
  const server = {url: started?.url ?? new URL(url).origin, accessToken: ''};
  let example: Example;
  try {
    server.accessToken = await accessToken(server.url, process.env.SVC_DATA);
    const directory = join(ROOT, 'examples', name);
    example = await openExample({directory, server, port: Number(port), isDevelopment: development === true});
  } catch (caught) {
    started?.child.kill();
    throw explained(caught, port);
  }
  console.log(`${name} at ${example.url}  (${started === null ? `its data at ${server.url}` : 'Ctrl-C ends it'})`);
  await Promise.race([
    once(process, 'SIGINT'),
    once(process, 'SIGTERM'),
    ...(started === null ? [] : [once(started.child, 'exit')]),
  ]);
  await example.close();
  if (started !== null && started.child.exitCode === null) {
    started.child.kill('SIGTERM');
    await once(started.child, 'exit');
  }
}

function explained(caught: unknown, port: string): unknown {
  if ((caught as NodeJS.ErrnoException).code !== 'EADDRINUSE') return caught;
  return new CommandFailure(`port ${port} is taken; -- --port 0 takes any that is free`);
}

async function isThere(url: string): Promise<boolean> {
  try {
    return (await fetch(new URL('/health', url))).ok;
  } catch {
    return false; // Nobody listens: it is about to be started.
  }
}

async function startServer(url: string): Promise<{child: ChildProcess; url: string}> {
  const {port} = new URL(url);
  const child = spawn(process.execPath, [join(ROOT, 'dist/cli.js'), 'start', '--port', port === '' ? '80' : port], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // Ctrl-C is for this command, which then ends the server: once.
  });
  const lines = createInterface(child.stdout!);
  for await (const line of lines) {
    console.log(line);
    if (!line.startsWith(READY)) continue;
    child.stdout!.resume();
    return {child, url: line.slice(READY.length).trim()};
  }
  throw new CommandFailure('the server did not start');
}
