/**
 * The settings of `svc start`: each is a flag and an SVC_ variable, and the flag wins. Values are checked here, once;
 * the error for a wrong one is a sentence that names the flag. `--help` shows the table below, and
 * `docs/configuration.md` repeats it.
 */
import {resolve} from 'node:path';
import {type Command, InvalidArgumentError, Option} from 'commander';
import type {KeepPolicy} from '../shared/ipc/copier.ts';
import {LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel} from '../shared/log.ts';
import {isLoopback} from '../shared/loopback.ts';
import type {RateLimit} from '../shared/rate-limit.ts';
import type {UsersSetting} from '../supervisor/confinement/users.ts';
import type {SupervisorSettings} from '../supervisor/server/settings.ts';
import {backupKeep} from './backup-keep.ts';
import {type ClusterOptions, clusterFault, clusterOptions} from './cluster-settings.ts';
import {coresToUse} from './cores.ts';
import {allowedOrigins, dashboardOrigin, rateLimit, trustedProxies} from './edge-settings.ts';
import {
  BACKUP_EVERY_MS_MIN,
  COPIES_SPOOL_BYTES_DEFAULT,
  CORES_PER_ROUTER,
  DRILL_EVERY_MS_DEFAULT,
  JOURNAL_KEEP_RECORDS_DEFAULT,
  ROUTERS_MAX,
  SERVICES_MEMORY_MB_MAX,
  TENANT_STORAGE_BYTES_DEFAULT,
} from './limits.ts';
import {duration, integer, path, size, variableOf, yesOrNo} from './option-values.ts';

export type StartOptions = ClusterOptions & {
  port: number;
  host: string;
  routers: number;
  data: string;
  /** Milliseconds; 0: never. */
  idleStop: number;
  spareWorkers: number;
  workerUsers: UsersSetting;
  requireSandbox: boolean;
  maxAwake: number;
  metricsPort?: number;
  allowedHost: string[];
  allowedOrigin: string[];
  trustedProxy: string[];
  dashboard: boolean;
  dashboardOrigin?: string;
  dashboardPort?: number;
  rateLimitTenant?: RateLimit;
  rateLimitKey?: RateLimit;
  journalKeepRecords: number;
  /** Bytes; 0: no limit. */
  tenantStorageMax: number;
  tenantServicesMemoryMb: number;
  redactErrors: boolean;
  /** Absolute, if it is a path. */
  backupTo?: string;
  /** Milliseconds. */
  backupEvery: number;
  /** Absolute. */
  backupKey?: string;
  backupHeartbeat?: string;
  /** Milliseconds; 0: only on request. */
  backupDrill: number;
  /** Undefined: all points stay. */
  backupKeep?: KeepPolicy;
  /** Bytes. */
  copiesSpoolMax: number;
  logLevel: LogLevel;
  logFormat: LogFormat;
  listenBeyondLoopback: boolean;
};

const MINUTE_MS = 60_000;
/** Smaller ids belong to the system; the largest one belongs to no user, and means "unchanged" to the system. */
const USER_ID_MIN = 1_000;
const USER_ID_MAX = 4_294_967_293;

export function addStartOptions(command: Command): Command {
  const options = [
    new Option('--port <port>', 'port of the HTTP API; 0: any free one').argParser(integer(0, 65_535)).default(3210),
    new Option('--host <address>', 'address to listen on').default('127.0.0.1'),
    new Option('--routers <count>', 'router processes that share the port; auto: one for each four cores')
      .argParser(routers)
      .default(1),
    new Option('--data <directory>', 'data directory, made if it is missing').default('./data'),
    new Option(
      '--idle-stop <duration>',
      'stop the worker of a tenant that is idle this long, as 500ms, 300s or 5m; 0: never',
    )
      .argParser(duration)
      .default(5 * MINUTE_MS, '5m'),
    new Option('--spare-workers <count>', 'started workers that wait for a tenant')
      .argParser(integer(0, 64))
      .default(1),
    new Option(
      '--worker-users <range>',
      'numbers of users for tenants, as 300000-400000, not used otherwise; auto: free ones; none: all tenants use the user of the server',
    )
      .argParser(users)
      .default('auto'),
    new Option('--require-sandbox [yes]', 'refuse to start if a sandbox layer other than memory and files is missing')
      .preset('yes')
      .argParser(yesOrNo)
      .default(false),
    new Option('--max-awake <count>', 'tenants with a worker at the same time')
      .argParser(integer(1, 10_000))
      .default(128),
    new Option(
      '--metrics-port <port>',
      'serve GET /metrics without credential on this loopback port; 0: any free one',
    ).argParser(integer(0, 65_535)),
    new Option(
      '--allowed-host <name>',
      'a name accepted in Host headers, in addition to the loopback names (repeatable, or separated by commas)',
    )
      .argParser(hosts)
      .default([], 'none'),
    new Option(
      '--allowed-origin <origin>',
      'an origin whose pages can call the API, in addition to the loopback origins, such as https://app.example.com (repeatable, or separated by commas)',
    )
      .argParser(allowedOrigins)
      .default([], 'none'),
    new Option(
      '--trusted-proxy <address>',
      'an address or range of proxies whose X-Forwarded-For is believed, as 127.0.0.1 or 10.0.0.0/8 (repeat it, or commas)',
    )
      .argParser(trustedProxies)
      .default([], 'none'),
    new Option('--dashboard [yes]', 'serve the dashboard; --no-dashboard or 0: do not')
      .preset('yes')
      .argParser(yesOrNo)
      .default(true),
    new Option(
      '--dashboard-origin <origin>',
      'where a proxy serves the dashboard, a name of its own, as https://svc-admin.example.com; otherwise http://dashboard.localhost on the port of the API',
    ).argParser(dashboardOrigin),
    new Option(
      '--dashboard-port <port>',
      'serve the dashboard on this port, where it cannot have a name of its own; 0: any free one',
    ).argParser(integer(0, 65_535)),
    new Option(
      '--rate-limit-tenant <rate>',
      'requests a second that each tenant may get, as 50, or 50:200 for 200 at once; beyond: 429',
    ).argParser(rateLimit),
    new Option(
      '--rate-limit-key <rate>',
      'requests a second that may come with each key that has no limit of its own, written the same',
    ).argParser(rateLimit),
    new Option('--journal-keep-records <count>', 'journal records kept for each tenant')
      .argParser(integer(1, Number.MAX_SAFE_INTEGER))
      .default(JOURNAL_KEEP_RECORDS_DEFAULT),
    new Option('--tenant-storage-max <size>', 'storage limit of each tenant, as 512m, 10g or 1t; 0: no limit')
      .argParser(size)
      .default(TENANT_STORAGE_BYTES_DEFAULT, '10g'),
    new Option(
      '--tenant-services-memory-mb <count>',
      'memory_mb that the services of one tenant that are to run have together at most',
    )
      .argParser(integer(0, SERVICES_MEMORY_MB_MAX))
      .default(SERVICES_MEMORY_MB_MAX),
    new Option('--redact-errors [yes]', 'callers of functions learn that one failed, but not why: for production')
      .preset('yes')
      .argParser(yesOrNo)
      .default(false),
    new Option(
      '--backup-to <repository>',
      'copy all tenants to this repository, a directory or s3://bucket/prefix, which svc backup init made',
    ).argParser(repository),
    new Option('--backup-every <duration>', 'how often changes are copied, as 1s or 5m')
      .argParser(backupEvery)
      .default(1_000, '1s'),
    new Option('--backup-key <file>', "the file with the repository's key").argParser(path),
    new Option(
      '--backup-heartbeat <url>',
      'requested once a minute while the repository has everything, so that a monitor notices when it does not',
    ).argParser(heartbeatUrl),
    new Option(
      '--backup-drill <duration>',
      'how often some tenants are restored and checked, as 7d; 0: only on request',
    )
      .argParser(drillEvery)
      .default(DRILL_EVERY_MS_DEFAULT, '7d'),
    new Option(
      '--backup-keep <policy>',
      'which points of each tenant stay, as last=100,hourly=24,daily=30,weekly=8,monthly=12; without it all stay',
    ).argParser(backupKeep),
    new Option(
      '--copies-spool-max <size>',
      'changes of each tenant that wait on disk while the repository cannot be reached, as 256m; beyond: a whole copy follows later',
    )
      .argParser(spoolSize)
      .default(COPIES_SPOOL_BYTES_DEFAULT, '256m'),
    ...clusterOptions(),
    new Option('--log-level <level>', 'least level of log lines').choices([...LOG_LEVELS]).default('info'),
    new Option('--log-format <format>', 'form of log lines; auto: pretty on a terminal, else json')
      .choices([...LOG_FORMATS])
      .default('auto'),
    new Option('--listen-beyond-loopback [yes]', 'confirms a --host that other machines can reach')
      .preset('yes')
      .argParser(yesOrNo)
      .default(false),
  ];
  for (const option of options) command.addOption(option.env(variableOf(option.long!)));
  command.addOption(new Option('--no-dashboard').hideHelp());
  command.hook('preAction', () => checkTogether(command));
  return command;
}

/** Absolute, so that messages about it are true in any directory. */
export function dataDirectory(options: StartOptions): string {
  return resolve(options.data);
}

/** Null: no backups are made. */
export function backupSettings(options: StartOptions): Pick<SupervisorSettings, 'backup' | 'copies'> {
  const {
    backupTo: to,
    backupKey: keyFile,
    backupEvery: everyMs,
    backupHeartbeat,
    backupDrill,
    backupKeep: keep,
    copiesSpoolMax: spoolBytesMax,
    tenantStorageMax: tenantBytesMax,
  } = options;
  if (to === undefined || keyFile === undefined) return {backup: null, copies: null};
  return {
    backup: {
      to,
      everyMs,
      keyFile,
      heartbeatUrl: backupHeartbeat ?? null,
      drillEveryMs: backupDrill,
      keep: keep ?? null,
      spoolBytesMax,
      tenantBytesMax,
    },
    // In a cluster, copies are made from the log.
    copies: options.cluster === undefined ? {everyMs, spoolBytesMax} : null,
  };
}

function checkTogether(command: Command): void {
  const {host, listenBeyondLoopback, backupTo, backupKey, backupHeartbeat} = command.opts<StartOptions>();
  if (backupTo !== undefined && backupKey === undefined) {
    command.error('error: --backup-to needs --backup-key, the file that svc backup init has made');
  }
  if (backupTo === undefined && (backupKey ?? backupHeartbeat) !== undefined) {
    command.error('error: --backup-key and --backup-heartbeat need --backup-to, the repository');
  }
  const fault = clusterFault(command.opts<StartOptions>(), name => isGiven(command, name));
  if (fault !== null) command.error(`error: ${fault}`);
  if (listenBeyondLoopback || isLoopback(host)) return;
  command.error(
    `error: --host ${host} can be reached from other machines: add --listen-beyond-loopback if that is meant`,
  );
}

function isGiven(command: Command, name: string): boolean {
  return ['cli', 'env'].includes(command.getOptionValueSource(name) ?? '');
}

/** Where routers cannot share a port, `auto` means one. */
function routers(text: string): number {
  if (text === 'auto') {
    const wanted = process.platform === 'linux' ? Math.floor(coresToUse() / CORES_PER_ROUTER) : 1;
    return Math.min(ROUTERS_MAX, Math.max(1, wanted));
  }
  if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= ROUTERS_MAX) return Number(text);
  throw new InvalidArgumentError(`It must be an integer from 1 to ${ROUTERS_MAX}, or auto.`);
}

/** The first id is the group of all of them. */
function users(text: string): UsersSetting {
  if (text === 'auto' || text === 'none') return text;
  const [first = 0, last = 0] = (/^(\d+)-(\d+)$/.exec(text)?.slice(1) ?? []).map(Number);
  if (first >= USER_ID_MIN && last > first && last <= USER_ID_MAX) return {first, last};
  throw new InvalidArgumentError(
    `It must be two numbers from ${USER_ID_MIN} to ${USER_ID_MAX} with a dash between, the smaller first, or auto, or none.`,
  );
}

function repository(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must be a directory or s3://bucket/prefix.');
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? text : resolve(text);
}

function backupEvery(text: string): number {
  const valueMs = duration(text);
  if (valueMs >= BACKUP_EVERY_MS_MIN) return valueMs;
  throw new InvalidArgumentError(`It must be ${BACKUP_EVERY_MS_MIN}ms or more.`);
}

function drillEvery(text: string): number {
  const days = /^(\d{1,3})d$/.exec(text);
  return days === null ? duration(text) : Number(days[1]) * 24 * 60 * 60_000;
}

function spoolSize(text: string): number {
  const bytes = size(text);
  if (bytes > 0) return bytes;
  throw new InvalidArgumentError('It must be an integer with its unit, as 256m or 1g.');
}

function heartbeatUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It must be a URL, as https://monitor.example.com/ping/svc.');
}

function hosts(text: string, previous: string[]): string[] {
  const names = text.split(',').map(name => name.trim().toLowerCase());
  for (const name of names) {
    if (!/^[a-z0-9._[\]:-]{1,255}$/.test(name)) {
      throw new InvalidArgumentError('It must be a name or name:port, several with commas between.');
    }
  }
  return [...previous, ...names];
}
