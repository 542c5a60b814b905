/** `svc server` shows the state of the server: warnings, memory, disk, processes, routers, sandbox layers and settings. */
import type {Command} from 'commander';
import type {ServerStatus, ServerWarning} from '../shared/protocol/server.ts';
import {bytesText} from './bytes-text.ts';
import {addServerOptions, type ServerOptions} from './client.ts';
import {printable, printableJson} from './printable.ts';
import {atServer} from './server-verb.ts';

export function register(program: Command): void {
  addServerOptions(
    program
      .command('server')
      .description('show warnings, memory, disk, processes, routers, sandbox layers and settings of the server')
      .option('--json', 'as JSON'),
  ).action((options: ServerOptions & {json?: true}) =>
    atServer('server', options, async client => {
      const status = await client.ask('server.status', []);
      const text = options.json === true ? printableJson(JSON.stringify(status)) : printable(textOf(status));
      process.stdout.write(`${text}\n`);
    }),
  );
}

function textOf(status: ServerStatus): string {
  return [
    ...status.warnings.flatMap(warningLines),
    ...hostLines(status),
    ...table(
      ['processes', 'count', 'private', 'resident', 'cores', 'CPU time'],
      status.processes.map(({kind, count, private_bytes, resident_bytes, cpu, cpu_seconds}) => [
        ...[kind, String(count), bytesText(private_bytes), bytesText(resident_bytes)],
        ...[cpu.toFixed(2), `${Math.round(cpu_seconds)} s`],
      ]),
    ),
    ...table(
      ['routers', 'in flight', 'waiting', 'sockets', 'functions', 'longest delay'],
      status.routers.map(each => [
        each.is_answering ? String(each.router) : `${each.router} (no answer)`,
        ...[each.requests_in_flight, each.waiting_requests, each.sockets, each.function_sockets].map(String),
        `${Math.round(each.event_loop_delay_ms)} ms`,
      ]),
    ),
    ...layerLines(status),
    '',
    'settings',
    ...Object.entries(status.settings).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`),
  ].join('\n');
}

function warningLines({level, text, to_do}: ServerWarning): string[] {
  return [`${level}: ${text}`, `  ${to_do}`, ''];
}

function hostLines({version, build, node, started_at, host, disk, tenants}: ServerStatus): string[] {
  const free = disk.free_bytes === null ? '' : `${bytesText(disk.free_bytes)} of ${bytesText(disk.bytes!)} free, `;
  const states = Object.entries(tenants.states).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []));
  return [
    `version    svc ${version} (${build}), Node ${node}, since ${new Date(started_at).toISOString()}`,
    `host       ${host.cores} cores, load ${host.load.toFixed(2)}`,
    `memory     ${bytesText(host.memory_available_bytes)} of ${bytesText(host.memory_bytes)} available`,
    `disk       ${free}${bytesText(disk.tenants_bytes)} of tenants`,
    `tenants    ${[tenants.total, ...states].join(', ')}`,
    ...table(
      ['largest', 'files'],
      disk.tenants.map(({id, bytes}) => [id, bytesText(bytes)]),
    ),
  ];
}

function layerLines({sandbox_layers}: ServerStatus): string[] {
  return [
    '',
    'sandbox layers',
    ...sandbox_layers.flatMap(({name, missing, to_do}) =>
      missing === null ? [`  ${name}: active`] : [`  ${name}: missing: ${missing}`, `    ${to_do}`],
    ),
  ];
}

/** Columns as wide as their longest cell; the first one is text, the others are figures. */
function table(head: string[], rows: string[][]): string[] {
  if (rows.length === 0) return [];
  const all = [head, ...rows.map(([first, ...others]) => [`  ${first}`, ...others])];
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]!.length)));
  const line = (row: string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ');
  return ['', ...all.map(line)];
}
