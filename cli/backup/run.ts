/** `svc backup run` has the server copy everything now, and ends once all of it is in the repository. */
import type {Command} from 'commander';
import {addServerOptions, RefusedRequest, type ServerOptions} from '../client.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {printable, printableJson} from '../printable.ts';
import {atServer} from '../server-verb.ts';
import {TransientLine} from '../transient-line.ts';
import {EXIT_PARTIAL} from './exit-codes.ts';

export function registerRun(backup: Command): void {
  addServerOptions(
    backup
      .command('run')
      .description('copy everything now, and wait until it is in the repository; exit code 3: not all of it is')
      .option('--json', 'as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('backup run', options, async client => {
      const line = new TransientLine();
      line.show('copying');
      try {
        // Not repeated: the server has waited for as long as is useful.
        const done = await client.ask('backup.run', [], {repeat: 'once'});
        line.clear();
        const text = `copied ${counted(done.tenants, 'tenant')} in ${Math.round(done.took_ms)} ms`;
        process.stdout.write(`${options.json === true ? printableJson(JSON.stringify(done)) : text}\n`);
      } catch (caught) {
        line.clear();
        throw caught instanceof RefusedRequest ? incomplete(caught) : caught;
      }
    }),
  );
}

function incomplete(refused: RefusedRequest): CommandFailure {
  const {missing, missing_count: count} = refused.detail as {missing?: string[]; missing_count?: number | null};
  if (missing === undefined) return refused;
  const more = (count ?? 0) - missing.length;
  const names = missing.length === 0 ? '' : `\nmissing: ${missing.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return new CommandFailure(printable(`${refused.message}${names}`), EXIT_PARTIAL, {cause: refused});
}
