/**
 * `svc cluster verify` and `svc cluster forget` work on the log itself, with the settings of a host: they need NATS and no
 * server of svc, so they work when every host is down.
 */
import type {Command} from 'commander';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import type {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {forgetHost} from '../../cluster/members/forget.ts';
import {type CheckedLog, checkLog} from '../../cluster/ownership/check-log.ts';
import {TENANT_PREFIX} from '../../cluster/ownership/tenant-record.ts';
import {bytesText} from '../bytes-text.ts';
import {hostName} from '../cluster-settings.ts';
import {counted} from '../counted.ts';
import {CommandFailure, reportFailure} from '../failure.ts';
import {printable, printableJson} from '../printable.ts';
import {addLogOptions, type LogOptions, logAccess} from './log-options.ts';
import type {ConnectedLog} from './nats-log.ts';

type Options = LogOptions & {json?: true};

export function registerVerify(cluster: Command): void {
  const command = cluster
    .command('verify [tenants...]')
    .description('read the bases and logs of all tenants, or of some, and compare every digest; run it on a host')
    .option('--json', 'one tenant per line, as JSON');
  addLogOptions(command).action((tenants: string[], options: Options) =>
    onLog('verify', options, log => verify(log, tenants, options)),
  );
}

export function registerForget(cluster: Command): void {
  const command = cluster
    .command('forget <host>')
    .description('remove a host that will not come back from the members; run it on another host')
    .option('--json', 'the outcome, as JSON');
  addLogOptions(command).action((host: string, options: Options) =>
    onLog('forget', options, log => forget(log, hostName(host), options)),
  );
}

async function verify(log: ReplicatedLog, given: string[], {json}: Options): Promise<void> {
  const tenants = given.length > 0 ? given : [...(await log.records.list(TENANT_PREFIX)).keys()];
  let faulty = 0;
  for (const tenant of tenants) {
    const found = await checkLog(log, tenant);
    if (found === null) throw new CommandFailure(`the cluster has no tenant ${tenant}`);
    if (found.findings.length > 0) faulty++;
    const text = json === true ? printableJson(JSON.stringify({tenant, ...found})) : printable(textOf(tenant, found));
    process.stdout.write(`${text}\n`);
  }
  if (json !== true) process.stdout.write(`${counted(tenants.length, 'tenant')}, ${faulty} with findings\n`);
  if (faulty > 0) process.exitCode = 1;
}

function textOf(tenant: string, {owner, epoch, bases, records, bytes, findings}: CheckedLog): string {
  const where = owner === null ? 'never opened' : `at ${owner.host}`;
  const read = `${bases} bases and ${records} records, ${bytesText(bytes)}`;
  return [`${tenant}  ${where}  epoch ${epoch}  ${read}`, ...findings.map(finding => `  ${finding}`)].join('\n');
}

async function forget(log: ReplicatedLog, host: string, {lease: leaseMs, json}: Options): Promise<void> {
  const outcome = await forgetHost(log.records, host, {leaseMs}, new AbortController().signal);
  if (outcome === 'alive') throw new CommandFailure(`the host ${host} is alive: stop it first`);
  if (outcome === 'full') throw new CommandFailure('the log has no space for it');
  if (outcome !== 'forgotten') throw new CommandFailure(`the cluster has no host ${host}`);
  process.stdout.write(
    json === true ? `${JSON.stringify({host, state: 'forgotten'})}\n` : `${host} is no member any more\n`,
  );
}

export function onLog(
  verb: string,
  options: LogOptions,
  act: (log: ReplicatedLog, hosts: ConnectedLog['hosts']) => Promise<void>,
): Promise<void> {
  return reportFailure(`svc cluster ${verb}`, async () => {
    const access = logAccess(options);
    const {connectToLog} = await import('./nats-log.ts');
    const {log, hosts, close} = await connectToLog(access);
    try {
      await act(log, hosts);
    } catch (caught) {
      if (!(caught instanceof EngineError || caught instanceof LogError)) throw caught;
      throw new CommandFailure(`the log cannot be read: ${caught.message}`, 1, {cause: caught});
    } finally {
      await close();
    }
  });
}
