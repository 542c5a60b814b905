/** `npm run cluster`: three hosts of svc and three NATS servers on this machine, and a page to watch and kill them. */
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {Command} from 'commander';
import {CommandFailure, reportFailure} from '../../cli/failure.ts';
import {LocalCluster} from './local-cluster.ts';
import {PageServer} from './page-server.ts';
import {Writers} from './writers.ts';

type Options = {ports: string; directory?: string; natsServer: string};

const command = new Command('cluster')
  .option('--ports <first>', 'the page is at this port, and all others are in the 50 from there on', '4400')
  .option('--directory <path>', 'where all files are, and stay; otherwise they are removed at the end')
  .option('--nats-server <program>', 'version 2.10.23 or later', process.env.SVC_TEST_NATS_SERVER ?? 'nats-server')
  .action((options: Options) => reportFailure('cluster', () => run(options)));
await command.parseAsync();

async function run({ports, directory, natsServer}: Options): Promise<void> {
  const first = Number(ports);
  if (!/^\d{4,5}$/.test(ports) || first > 65_000) throw new CommandFailure('--ports must be from 1024 to 65000', 2);
  const ended = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const place = directory === undefined ? mkdtempSync(join(tmpdir(), 'svc-cluster-')) : resolve(directory);
  const cluster = LocalCluster.make(place, first, natsServer);
  const writers = new Writers(cluster.hosts);
  const page = await PageServer.listen(first, cluster, writers).catch((cause: NodeJS.ErrnoException) => {
    throw new CommandFailure(`the page cannot be served: ${cause.message}; --ports chooses others`, 1, {cause});
  });
  try {
    console.log(`page   ${page.url}`);
    for (const {member, url} of cluster.hosts) console.log(`${member.name}  ${url}`);
    console.log(`SVC_ACCESS_TOKEN=${cluster.hosts[0]!.token}`);
    const started = cluster.start().then(
      () => {
        console.log('all processes are there; Ctrl-C ends them');
        writers.start();
      },
      (cause: Error) => Promise.reject(new CommandFailure(cause.message, 1, {cause})),
    );
    await Promise.race([ended, started.then(() => ended)]);
  } finally {
    page.close();
    await writers.stop();
    await cluster.stop();
    if (directory === undefined) rmSync(place, {recursive: true, force: true});
  }
}
