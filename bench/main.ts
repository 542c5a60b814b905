/**
 * `npm run bench`: svc beside what bounds it from above (raw uWebSockets.js, raw SQLite) and a peer that does the same work
 * (PocketBase), all on this machine in one run, alternating, over several rounds. Ratios of one run are what counts;
 * absolute figures belong to the machine. See docs/bench.md.
 */
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {measureBulk} from './bulk/measure.ts';
import {measureChurn} from './churn/measure.ts';
import {measureCluster} from './cluster/measure.ts';
import {measureCopies} from './copies/measure.ts';
import {measureDashboard} from './dashboard/measure.ts';
import {measureFunctions} from './functions/measure.ts';
import {measureLive} from './live/measure.ts';
import {machine} from './measure/machine.ts';
import {measureWakes} from './peers/svc/wake.ts';
import {printed, type Results, report} from './report.ts';
import {runRound, startPeers, stopPeers} from './round.ts';
import {measureSandboxes} from './sandboxes/measure.ts';
import {benchSettings} from './settings.ts';
import {measureWrites} from './writes/measure.ts';

const WAKES = 8;
const CHURN_TENANTS = 1_000;
/** With `--quick`: a few times as many as may be awake. */
const CHURN_TENANTS_QUICK = 100;

const settings = benchSettings(process.argv);
const root = mkdtempSync(join(settings.directory, 'svc-bench-'));
process.once('exit', () => rmSync(root, {recursive: true, force: true}));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

const peers = await startPeers(root, settings, say);
const rounds: Results['rounds'] = [];
for (let i = 1; i <= settings.rounds; i++) {
  say(`round ${i} of ${settings.rounds}`);
  const rows = await runRound(peers, root, settings, say);
  const wake = await measureWakes(join(root, 'wake'), WAKES);
  say(`wakes: cold ${wake.coldMs.toFixed(1)} ms, spare ${wake.spareMs.toFixed(1)} ms`);
  const writes = settings.writes ? await measureWrites(join(root, `writes-${i}`), settings, say) : null;
  const bulk = settings.bulk ? await measureBulk(peers.svc, join(root, `bulk-${i}`), `bulk-${i}`, say) : null;
  const live = settings.live ? await measureLive(peers.svc, root, i, settings.seconds, say) : null;
  const functions = settings.functions ? await measureFunctions(join(root, `functions-${i}`), settings, say) : null;
  const churned = settings.seconds > 1 ? CHURN_TENANTS : CHURN_TENANTS_QUICK;
  const churn = settings.churn ? await measureChurn(join(root, `churn-${i}`), churned, say) : null;
  const sandboxes = settings.sandboxes ? await measureSandboxes(join(root, `sandboxes-${i}`), say) : null;
  const dashboard = settings.dashboard ? await measureDashboard(peers.svc, `dashboard-${i}`, settings, say) : null;
  const copies = settings.copies ? await measureCopies(join(root, `copies-${i}`), settings, say) : null;
  const cluster = settings.cluster ? await measureCluster(join(root, `cluster-${i}`), settings, say) : null;
  rounds.push({rows, wake, writes, bulk, live, functions, churn, sandboxes, dashboard, copies, cluster});
}
await stopPeers(peers);

const result = report({
  machine: machine(root),
  settings,
  pocketBaseVersion: peers.pocketBase?.version ?? null,
  rounds,
});
mkdirSync(dirname(settings.output), {recursive: true});
writeFileSync(settings.output, `${JSON.stringify(result, null, 2)}\n`);
process.stdout.write(printed(result));
