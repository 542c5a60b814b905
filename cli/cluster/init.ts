/** `svc cluster init`, `add-host` and `renew` make what each host of a cluster needs, in a directory of the operator. */
import {resolve} from 'node:path';
import type {Command} from 'commander';
import {isClusterName} from '../../cluster/log/subjects.ts';
import {CommandFailure, reportFailure} from '../failure.ts';
import {size} from '../option-values.ts';
import {namedAddress, portsFrom} from './cluster-file.ts';
import type {NewCluster} from './make-hosts.ts';

type InitOptions = {
  name: string;
  host: string[];
  ports: string;
  filesAt: string;
  storeAt: string;
  logStorage: number;
};

const GIB = 1024 ** 3;

export function registerInit(cluster: Command): void {
  cluster
    .command('init <directory>')
    .description('make certificates, NATS configuration and settings for each host of a new cluster')
    .requiredOption('--name <name>', 'name of the cluster, as prod; it never changes')
    .requiredOption(
      '--host <name=address>',
      'a host, as a=10.0.0.1; give it three times, or more often',
      (text, before: string[]) => [...before, text],
      [],
    )
    .option('--files-at <path>', 'where the files will be on each host; {host} stands for its name', '/etc/svc/cluster')
    .option('--store-at <path>', 'where its NATS server stores the log', '/var/lib/svc-nats')
    .option('--log-storage <size>', 'disk space of the log on each NATS server, as 10g', size, 10 * GIB)
    .option('--ports <list>', 'other ports, as nats=4222,routes=6222,monitor=8222,peers=4201', '')
    .action((directory: string, options: InitOptions) =>
      reportFailure('svc cluster init', () => init(resolve(directory), options)),
    );
}

export function registerAddHost(cluster: Command): void {
  cluster
    .command('add-host <directory> <name=address>')
    .description('make the files of a further host, as d=10.0.0.4, and let the NATS servers know its user')
    .action((directory: string, host: string) =>
      reportFailure('svc cluster add-host', async () => {
        const {addHost} = await import('./make-hosts.ts');
        const {cluster: made, host: added} = addHost(resolve(directory), namedAddress(host));
        const servers = made.hosts.filter(({hasNats}) => hasNats).map(({name}) => name);
        say(`${resolve(directory)}/${added.name} has the files of the host ${added.name}`);
        say(
          `copy nats/nats-server.conf again to ${servers.join(', ')}, and reload NATS there before ${added.name} starts`,
        );
      }),
    );
}

export function registerRenew(cluster: Command): void {
  cluster
    .command('renew <directory> [hosts...]')
    .description('make new certificates and keys, of all hosts or of some')
    .action((directory: string, hosts: string[]) =>
      reportFailure('svc cluster renew', async () => {
        const {renewHosts} = await import('./make-hosts.ts');
        for (const {name, endsMs} of renewHosts(resolve(directory), hosts)) {
          say(`${name}: valid until ${new Date(endsMs).toISOString().slice(0, 10)}`);
        }
        say('copy the files to each host, reload NATS there and restart svc, one host after the other');
      }),
    );
}

async function init(directory: string, options: InitOptions): Promise<void> {
  const {initCluster} = await import('./make-hosts.ts');
  const {hosts} = initCluster(directory, newCluster(options));
  say(`${directory} has one directory for each host: ${hosts.map(({name}) => name).join(', ')}`);
  say(`copy each to ${options.filesAt} on its host; ca.key and cluster.json stay here, and belong into a safe`);
}

/** @throws CommandFailure */
function newCluster({name, host, ports, filesAt, storeAt, logStorage}: InitOptions): NewCluster {
  if (!isClusterName(name)) {
    throw new CommandFailure(
      `--name ${JSON.stringify(name)} must be 1 to 32 lower-case letters, digits and hyphens, as prod`,
      2,
    );
  }
  if (logStorage === 0) throw new CommandFailure('--log-storage must be a size, as 10g: a full disk ends NATS', 2);
  for (const [flag, path] of [
    ['--files-at', filesAt],
    ['--store-at', storeAt],
  ] as const) {
    if (!/^\/[^"\\\s$]*$/.test(path)) {
      throw new CommandFailure(`${flag} must be an absolute path without spaces, quotes and dollar signs`, 2);
    }
  }
  const hosts = host.map(namedAddress);
  return {name, hosts, ports: portsFrom(ports), filesAt, storeAt, logStorageBytes: logStorage};
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
