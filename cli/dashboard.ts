/** `svc dashboard` opens the dashboard with a one-time link; `sessions` and `revoke` manage who is signed in there. */
import {spawn} from 'node:child_process';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import type {Command} from 'commander';
import type {DashboardSession} from '../shared/protocol/dashboard.ts';
import {addServerOptions, type ServerOptions} from './client.ts';
import {showList} from './control.ts';
import {CommandFailure} from './failure.ts';
import {printable} from './printable.ts';
import {atServer} from './server-verb.ts';
import {stateDirectory} from './state-directory.ts';

export function register(program: Command): void {
  const dashboard = addServerOptions(
    program
      .command('dashboard')
      .description('print a link that signs you in to the dashboard once, and open it in a browser')
      .option('--no-open', 'print it only'),
  ).action((options: ServerOptions & {open: boolean}) =>
    atServer('dashboard', options, async client => {
      const {url} = await client.ask('dashboard.code', [], {repeat: 'once'});
      if (url === null) {
        throw new CommandFailure(
          `the dashboard has no address at ${client.url}: start the server with --dashboard-origin or --dashboard-port`,
        );
      }
      process.stdout.write(`${url}\n`);
      if (options.open && process.stdout.isTTY) openInBrowser(url);
    }),
  );
  addServerOptions(
    dashboard
      .command('sessions')
      .description('list who is signed in')
      .option('--json', 'one session per line, as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('dashboard sessions', options, async client => {
      const {sessions} = await client.ask('dashboard.sessions', []);
      showList(sessions, options.json === true, lineOf);
    }),
  );
  addServerOptions(
    dashboard
      .command('revoke [session]')
      .description('end a session, by its id')
      .option('--all', 'end all sessions of the credential that svc uses'),
  ).action((session: string | undefined, options: ServerOptions & {all?: true}) =>
    atServer('dashboard revoke', options, async client => {
      if ((session === undefined) !== (options.all === true)) {
        throw new CommandFailure('name a session, or give --all; svc dashboard sessions lists them', 2);
      }
      if (session === undefined) await client.ask('dashboard.end_all', []);
      else await client.ask('dashboard.end', [session]);
      process.stdout.write(session === undefined ? 'signed out everywhere\n' : `revoked ${printable(session)}\n`);
    }),
  );
}

/**
 * Opens a file that leads there, because every user of the machine can read command lines. Without a desktop nothing
 * happens: the link was printed.
 */
function openInBrowser(url: string): void {
  const hasDesktop = process.platform === 'darwin' || process.env.DISPLAY || process.env.WAYLAND_DISPLAY;
  if (!hasDesktop) return;
  const directory = stateDirectory('links');
  mkdirSync(directory, {recursive: true, mode: 0o700});
  const path = join(directory, 'dashboard.html');
  const target = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  writeFileSync(path, `<!doctype html><meta http-equiv="refresh" content="0; url=${target}">\n`, {mode: 0o600});
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(opener, [pathToFileURL(path).href], {stdio: 'ignore', detached: true});
  child.on('error', () => undefined); // there is none: the link was printed
  child.unref();
}

function lineOf({id, key_name, last_used_at, idle_ends_at, address, browser}: DashboardSession): string {
  const times = `used ${new Date(last_used_at).toISOString()}  ends ${new Date(idle_ends_at).toISOString()}`;
  return [id, key_name, times, address, browser].join('  ');
}
