import {execFileSync, spawn} from 'node:child_process';
import {cpSync} from 'node:fs';
import {bundleProject} from '../../cli/project/bundle.ts';
import {generateCode} from '../../cli/project/codegen.ts';
import {readProject} from '../../cli/project/project-file.ts';
import {benchDocument} from '../documents.ts';
import {requestText} from '../load/job.ts';
import {runLoad} from '../load/run.ts';
import {startSvc, workerPids} from '../peers/svc/start.ts';

const what = process.argv[2];
const svc = await startSvc('/tmp/fbdata' + process.pid);
await svc.client.createTenant('functions');
const dir = '/tmp/fbapp' + process.pid;
cpSync('/work/main/bench/functions/app', dir, {recursive: true});
await generateCode(dir);
const upload = await bundleProject(dir);
await svc.client.json('POST', '/api/tenants/functions/deployments', upload);
const run = async (path, args) =>
  (await svc.client.json('POST', '/api/tenants/functions/functions/run', {path, args})).value;
const ids = [];
for (let i = 0; i < 500; i++) ids.push(await run('bench:insert', benchDocument(i)));
const call = (kind, path, args) => requestText('POST', `/svc/functions/${kind}`, {}, JSON.stringify({path, args}));
let reqs;
if (what === 'query') reqs = ids.map(id => call('query', 'bench:get', {id}));
else if (what === 'mutation') reqs = ids.map((_, i) => call('mutation', 'bench:insert', benchDocument(i)));
else {
  const acc = [];
  for (let i = 0; i < 20; i++)
    acc.push(...(await run('bench:open', {from: i * 5000, to: i * 5000 + 5000, balance: 1000})));
  let s = 1;
  const r = () => (s = (s * 48271) % 2147483647) % acc.length;
  reqs = Array.from({length: 20000}, () =>
    call('mutation', 'bench:transfer', {from: acc[r()], to: acc[r()], amount: 1}),
  );
}
const load = runLoad('wrk', {port: svc.port, connections: 64, requests: reqs, seconds: 9}, svc.process.pid);
await new Promise(r => setTimeout(r, 2500));
const pid =
  workerPids(svc).find(p =>
    execFileSync('ls', ['-l', `/proc/${p}/fd`])
      .toString()
      .includes('sqlite'),
  ) ?? workerPids(svc)[0];
if (!process.env.NOPROF) console.log(execFileSync('node', ['/tmp/prof.mjs', String(pid), '3']).toString());
console.log(await load);
process.exit(0);
