/** `svc status` shows whether the server answers, and what this command can see of it. */
import type {Command} from 'commander';
import {addServerOptions, type ServerOptions} from './client.ts';
import {printable} from './printable.ts';
import {atServer} from './server-verb.ts';
import {textOf} from './whoami.ts';

export function register(program: Command): void {
  addServerOptions(
    program.command('status').description('show whether the server answers, and the credential in use'),
  ).action((options: ServerOptions) =>
    atServer('status', options, async client => {
      await client.ask('health', []);
      const identity = await client.ask('whoami', []);
      const {tenants} = await client.ask('tenants.list', []);
      const lines = [
        `server      ${client.url} is healthy`,
        `credential  ${printable(textOf(identity))}`,
        `tenants     ${tenants.length}`,
        `API         ${client.url}/api/docs`,
      ];
      process.stdout.write(`${lines.join('\n')}\n`);
    }),
  );
}
