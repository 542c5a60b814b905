/** `svc start` runs the server until it is stopped, and prints its address and how to use it. */
import {setTimeout as delay} from 'node:timers/promises';
import {type Command, Option} from 'commander';
import {createLogger, type Logger} from '../shared/log.ts';
import {isLoopback} from '../shared/loopback.ts';
import {VERSION} from '../shared/version.ts';
import {isDemanded, layerFields, type SandboxLayer} from '../supervisor/confinement/layers.ts';
import {StartError} from '../supervisor/files/start-error.ts';
import type {Credentials} from '../supervisor/keys/credentials.ts';
import {DASHBOARD_CODE_MS} from '../supervisor/limits.ts';
import {BUNDLED_ENTRIES, Supervisor} from '../supervisor/main.ts';
import type {Listening} from '../supervisor/processes/router-process.ts';
import {clusterSettings} from './cluster-settings.ts';
import {addStartOptions, backupSettings, dataDirectory, type StartOptions} from './config.ts';
import {forgetServer, noteServer} from './server-note.ts';
import {shellQuoted} from './shell-quoted.ts';

/** After a second Ctrl-C, as shells count it: 128 + SIGINT. */
const EXIT_INTERRUPTED = 130;
/** npm forwards a signal that the terminal has already sent; a person is slower than this. */
const SAME_SIGNAL_MS = 300;
/**
 * The drain has its own time limit; this one covers a drain with a bug. SIGTERM to exit stays within 5 s, after the
 * time that tenants have to be handed to other hosts.
 */
const DRAIN_GIVE_UP_MS = 4_900;

export function register(program: Command): void {
  addStartOptions(program.command('start').description('run the server'))
    // For commands that start their own server, over a channel. A signal that kills them reaches no other process.
    .addOption(new Option('--ends-with-parent').default(false).hideHelp())
    .action((options: StartOptions & {endsWithParent: boolean}) => start(options));
}

async function start(options: StartOptions & {endsWithParent: boolean}): Promise<void> {
  const log = createLogger({process: 'supervisor'}, {level: options.logLevel, format: options.logFormat});
  endOnBugs(log);
  // Files that this server and its children write are for this user alone.
  process.umask(0o077);
  const {cluster} = clusterSettings(options);
  const stop = stopOnSignals(log, DRAIN_GIVE_UP_MS + (cluster?.drainTimeoutMs ?? 0));
  if (options.endsWithParent) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  const data = dataDirectory(options);
  try {
    const supervisor = await Supervisor.open(
      {
        ...options,
        data,
        metricsPort: options.metricsPort ?? null,
        allowedHosts: options.allowedHost,
        allowedOrigins: options.allowedOrigin,
        trustedProxies: options.trustedProxy,
        dashboard: options.dashboard
          ? {origin: options.dashboardOrigin ?? null, port: options.dashboardPort ?? null}
          : null,
        rateLimits: {tenant: options.rateLimitTenant ?? null, key: options.rateLimitKey ?? null},
        idleStopMs: options.idleStop,
        ...backupSettings(options),
        cluster,
        entries: BUNDLED_ENTRIES,
      },
      process.env,
      log,
    );
    const listening = await supervisor.start();
    note(listening.port, data, log);
    stop.drain = () => supervisor.drain().finally(() => forgetServer(listening.port));
    const dashboard = dashboardNote(dashboardAddress(options, listening), () => supervisor.dashboardCode());
    process.stdout.write(welcome(listening, dashboard, supervisor.credentials, supervisor.sandboxLayers));
    const {stand} = layerFields(supervisor.sandboxLayers);
    for (const {name: layer, missing: reason} of supervisor.sandboxLayers) {
      if (reason !== null) log[isDemanded(layer) ? 'warn' : 'info']('a sandbox layer is missing', {layer, reason});
    }
    log.info('listening', {
      host: listening.host,
      port: listening.port,
      data,
      version: VERSION,
      pid: process.pid,
      layers: stand,
    });
  } catch (caught) {
    if (!(caught instanceof StartError)) throw caught;
    process.stderr.write(`svc: ${caught.message}\n`);
    process.exit(1);
  }
}

/** An unwritable home directory is no reason to fail: `--data` serves the same purpose. */
function note(port: number, data: string, log: Logger): void {
  try {
    noteServer(port, data);
  } catch (error) {
    log.debug('the address of this server could not be stored for the commands of its user', {error});
  }
}

/** Unexpected exceptions are not caught: children end with this process, and the next start recovers from disk. */
function endOnBugs(log: Logger): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.error('the supervisor has a bug and ends', {error});
      process.exit(1);
    });
  }
  // The reader of these few lines can be gone; the server continues.
  process.stdout.on('error', error => log.debug('stdout is closed', {error}));
}

/** SIGINT and SIGTERM stop the server cleanly; before it has started there is nothing to clean up. */
function stopOnSignals(log: Logger, giveUpMs: number): {drain: (() => Promise<void>) | null} {
  const stop: {drain: (() => Promise<void>) | null} = {drain: null};
  let stoppingSinceMs: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stoppingSinceMs !== null) {
      if (signal === 'SIGINT' && performance.now() - stoppingSinceMs > SAME_SIGNAL_MS) process.exit(EXIT_INTERRUPTED);
      return;
    }
    stoppingSinceMs = performance.now();
    if (stop.drain === null) process.exit(0);
    void Promise.race([stop.drain(), delay(giveUpMs)]).then(() => {
      log.info('stopped');
      process.exit(0);
    });
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return stop;
}

/** Null: there is none, or none that a browser on this machine reaches. */
function dashboardAddress(options: StartOptions, {host, port, dashboardPort}: Listening): string | null {
  if (!options.dashboard) return null;
  if (options.dashboardOrigin !== undefined) return options.dashboardOrigin;
  const isWildcard = host === '0.0.0.0' || host === '::';
  if (dashboardPort === null) return isWildcard || isLoopback(host) ? `http://dashboard.localhost:${port}` : null;
  const name = isWildcard ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${dashboardPort}`;
}

/** A person at a terminal gets a link that signs in. Pipes and logs keep what they get, so they get no secret. */
function dashboardNote(address: string | null, code: () => string): string | null {
  if (address === null || !process.stdout.isTTY) return address && `${address} (svc dashboard signs you in)`;
  return `${address}/_dashboard/#code=${code()} (signs you in once, within ${DASHBOARD_CODE_MS / 1_000} s; later: svc dashboard)`;
}

/** Scripts wait for the first line: keep it. */
function welcome(
  listening: {host: string; port: number; metricsPort: number | null},
  dashboard: string | null,
  credentials: Credentials,
  sandboxLayers: readonly SandboxLayer[],
): string {
  const host = listening.host.includes(':') ? `[${listening.host}]` : listening.host;
  const url = `http://${host}:${listening.port}`;
  // A wildcard address is not one to connect to.
  const reachable = /^http:\/\/(0\.0\.0\.0|\[::\]):/.test(url) ? `http://127.0.0.1:${listening.port}` : url;
  const {accessTokenFile, adminTokenFile} = credentials;
  const places = [
    `access token: ${accessTokenFile ?? '$SVC_ACCESS_TOKEN'}`,
    `admin token: ${adminTokenFile ?? '$SVC_ADMIN_TOKEN'}`,
  ];
  const token =
    accessTokenFile === null
      ? '$SVC_ACCESS_TOKEN'
      : `$(sed -n 's/.*"access_token": *"\\([^"]*\\)".*/\\1/p' ${shellQuoted(accessTokenFile)})`;
  const {stand, missing} = layerFields(sandboxLayers);
  const lines = [
    `svc listening on ${url}`,
    accessTokenFile !== null && accessTokenFile === adminTokenFile
      ? `credentials: ${accessTokenFile}`
      : places.join(', '),
    ...(listening.metricsPort === null ? [] : [`metrics: http://127.0.0.1:${listening.metricsPort}/metrics`]),
    `sandbox layers: ${stand}`,
    ...Object.entries(missing).map(([layer, reason]) => `missing sandbox layer ${layer}: ${reason}`),
    ...(dashboard === null ? [] : [`dashboard: ${dashboard}`]),
    `API documentation: ${reachable}/api/docs`,
    'try it:',
    `  curl -sS -w '\\n' -H "Authorization: Bearer ${token}" ${reachable}/api/tenants`,
  ];
  return `${lines.join('\n')}\n`;
}
