/** `svc figures` shows figures over time of the server, of a tenant, or of its functions. */
import type {Command} from 'commander';
import {FIGURE_STEP_SECONDS_MIN} from '../shared/limits.ts';
import type {FigurePoint, FunctionFigures} from '../shared/protocol/figures.ts';
import {addServerOptions, type ServerOptions} from './client.ts';
import {showList} from './control.ts';
import {CommandFailure} from './failure.ts';
import {atServer} from './server-verb.ts';

type Options = ServerOptions & {functions?: true; hours: string; step: string; json?: true};

export function register(program: Command): void {
  addServerOptions(
    program
      .command('figures [tenant]')
      .description('show requests, errors and latencies over time, of the server or of a tenant')
      .option('--functions', "sums of the tenant's functions instead")
      .option('--hours <n>', 'how far back: 1 to 24', '1')
      .option('--step <minutes>', 'minutes per line', '1')
      .option('--json', 'one line per point or function, as JSON'),
  ).action((tenant: string | undefined, options: Options) =>
    atServer('figures', options, async client => {
      const to = Date.now();
      const from = to - numberOf('--hours', options.hours) * 3_600_000;
      const query = {from, to, step: numberOf('--step', options.step) * FIGURE_STEP_SECONDS_MIN};
      const isJson = options.json === true;
      if (options.functions === true) {
        if (tenant === undefined) throw new CommandFailure('--functions needs a tenant', 2);
        const {functions} = await client.ask('figures.functions', [tenant], {query});
        showList(functions, isJson, functionLine);
        return;
      }
      const {points} =
        tenant === undefined
          ? await client.ask('figures.server', [], {query})
          : await client.ask('figures.tenant', [tenant], {query});
      showList(points, isJson, pointLine);
    }),
  );
}

function numberOf(option: string, text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new CommandFailure(`${option} must be a whole number above 0`, 2);
  return Number(text);
}

function pointLine({at, requests, errors, p50_ms, p99_ms, sockets}: FigurePoint): string {
  const time = new Date(at).toISOString();
  return [time, `${requests} requests`, `${errors} errors`, latencies(p50_ms, p99_ms), `${sockets} sockets`].join('  ');
}

function functionLine({name, calls, errors, p50_ms, p99_ms}: FunctionFigures['functions'][number]): string {
  return [name, `${calls} calls`, `${errors} errors`, latencies(p50_ms, p99_ms)].join('  ');
}

function latencies(p50: number | null, p99: number | null): string {
  return p50 === null ? 'p50 -' : `p50 ${p50} ms  p99 ${p99} ms`;
}
